// The loop of survey_text(), for a file that says how many bytes a vector has.
#include <cstring>

#include "format/text_survey.h"

namespace espalier {
namespace {

using Part = uint8_t __attribute__((vector_size(ESPALIER_PART)));

TextSurvey survey(const char* text, size_t size) {
  // A byte counts up to 255.
  constexpr size_t kMost = 255 * sizeof(Part);
  TextSurvey out;
  Part high = {}, low = {};
  size_t at = 0;
  while (size - at >= sizeof(Part)) {
    Part counts = {};
    const size_t left = (size - at) / sizeof(Part) * sizeof(Part), end = at + (left < kMost ? left : kMost);
    for (; at < end; at += sizeof(Part)) {
      Part part;
      std::memcpy(&part, text + at, sizeof part);
      const auto line = reinterpret_cast<Part>(part == '\n');
      counts -= line;
      high |= part;
      low |= reinterpret_cast<Part>(part <= '"') ^ line;
    }
    for (size_t i = 0; i < sizeof(Part); ++i) out.lines += counts[i];
  }
  uint8_t highs = 0, lows = 0;
  for (size_t i = 0; i < sizeof(Part); ++i) {
    highs |= high[i];
    lows |= low[i];
  }
  for (; at < size; ++at) {
    out.lines += text[at] == '\n';
    highs |= static_cast<uint8_t>(text[at]);
    lows |= static_cast<uint8_t>(text[at]) <= '"' && text[at] != '\n';
  }
  out.ascii = highs < 0x80;
  out.bare = lows == 0;
  out.nul = !out.bare && std::memchr(text, 0, size);
  out.quote = !out.bare && std::memchr(text, '"', size);
  return out;
}

}  // namespace
}  // namespace espalier
