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
  Part high = {}, nul = {}, quote = {};
  size_t at = 0;
  while (size - at >= sizeof(Part)) {
    Part counts = {};
    const size_t left = (size - at) / sizeof(Part) * sizeof(Part), end = at + (left < kMost ? left : kMost);
    for (; at < end; at += sizeof(Part)) {
      Part part;
      std::memcpy(&part, text + at, sizeof part);
      counts -= reinterpret_cast<Part>(part == '\n');
      high |= part;
      nul |= reinterpret_cast<Part>(part == 0);
      quote |= reinterpret_cast<Part>(part == '"');
    }
    for (size_t i = 0; i < sizeof(Part); ++i) out.lines += counts[i];
  }
  uint8_t highs = 0, nuls = 0, quotes = 0;
  for (size_t i = 0; i < sizeof(Part); ++i) {
    highs |= high[i];
    nuls |= nul[i];
    quotes |= quote[i];
  }
  for (; at < size; ++at) {
    out.lines += text[at] == '\n';
    highs |= static_cast<uint8_t>(text[at]);
    nuls |= text[at] == 0;
    quotes |= text[at] == '"';
  }
  out.ascii = highs < 0x80;
  out.nul = nuls != 0;
  out.quote = quotes != 0;
  return out;
}

}  // namespace
}  // namespace espalier
