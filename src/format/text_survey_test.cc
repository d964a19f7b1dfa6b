#include "format/text_survey.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace espalier {
namespace {

std::vector<SurveyText*> ways_of_surveys() {
  std::vector<SurveyText*> out = {survey_text_portable};
#if defined(__x86_64__)
  if (current_isa() >= Isa::kAvx2) out.push_back(survey_text_avx2);
  if (current_isa() >= Isa::kAvx512) out.push_back(survey_text_avx512);
#endif
  return out;
}

void expect_true_survey(const std::string& text) {
  for (SurveyText* const way : ways_of_surveys()) {
    const TextSurvey found = way(text.data(), text.size());
    ASSERT_EQ(found.lines, std::count(text.begin(), text.end(), '\n'));
    ASSERT_EQ(found.ascii, std::none_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; }));
    ASSERT_EQ(found.nul, text.find('\0') != text.npos);
    ASSERT_EQ(found.quote, text.find('"') != text.npos);
    ASSERT_EQ(found.bare, std::none_of(text.begin(), text.end(), [](char c) {
                return static_cast<unsigned char>(c) <= '"' && c != '\n';
              }));
  }
}

TEST(TextSurvey, IsWhatEachByteSays) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string text(random() % 2 ? random() % 200 : random() % 100000, 'a');
    for (char& c : text) c = random() % 20 ? c : '\n';
    expect_true_survey(text);
    for (const char rare : {'\x80', '\0', '\xff', '"', ' ', '\r', '#', '!'}) {
      if (text.empty()) continue;
      std::string other = text;
      other[random() % other.size()] = rare;
      expect_true_survey(other);
    }
  }
  expect_true_survey(std::string(300000, '\n'));
}

}  // namespace
}  // namespace espalier
