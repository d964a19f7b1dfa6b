// What is in a text at all, by vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/isa.h"

namespace espalier {

struct TextSurvey {
  int64_t lines = 0;  // line ends
  bool ascii = true, nul = false, quote = false;
  bool bare = true;  // all bytes but line ends are above blanks and quotes
};
using SurveyText = TextSurvey(const char* text, size_t size);
SurveyText survey_text_portable;
SurveyText survey_text_avx2;
SurveyText survey_text_avx512;

inline TextSurvey survey_text(std::string_view text) {
  return ESPALIER_BY_ISA(survey_text, current_isa())(text.data(), text.size());
}

}  // namespace espalier
