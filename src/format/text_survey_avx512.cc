#define ESPALIER_PART 64
#include "format/text_survey_body.h"

namespace espalier {

TextSurvey survey_text_avx512(const char* text, size_t size) { return survey(text, size); }

}  // namespace espalier
