#include "cli/read_buckets.h"

#include <charconv>

#include "base/format.h"
#include "base/shortest.h"
#include "cli/common.h"
#include "espalier/error.h"
#include "format/decimal.h"

namespace espalier::cli {

Buckets read_buckets(const std::string& text, const std::string& of) {
  if (text == "monk") return {.tones = MonkGroups::kTen};
  if (text == "monk3") return {.tones = MonkGroups::kThree};
  Buckets out;
  for (const std::string& word : comma_separated({text})) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
      throw ValueError("evaluate.bucket", cat(of, ": \"", word, "\" is no number"));
    // Many write ten thousand so.
    if (const auto thousands = without_thousands(word); thousands && word.ends_with("000")) {
      throw ValueError("evaluate.bucket",
                       cat(of, ": \"", word, "\" may be ", *thousands, " or ", shortest(value)),
                       "the decimal sign is a point; nothing parts thousands");
    }
    out.edges.push_back(value);
  }
  return out;
}

}  // namespace espalier::cli
