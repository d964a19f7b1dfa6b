#include "report/swatches.h"

#include <algorithm>
#include <cctype>

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr size_t kSide = 12;

void check_colour(const std::string& colour) {
  const bool hex =
      colour.size() == 7 && colour[0] == '#' &&
      std::all_of(colour.begin() + 1, colour.end(), [](unsigned char c) { return std::isxdigit(c); });
  if (!hex) throw ValueError("report.colour", cat("a colour is as #825c43, got \"", shortened(colour), "\""));
}

}  // namespace

Html swatches(const std::vector<std::string>& colours) {
  Html squares;
  std::string names;
  for (size_t i = 0; i < colours.size(); ++i) {
    check_colour(colours[i]);
    names += cat(i ? " " : "", colours[i]);
    squares += element(
        "rect", {{"x", cat(i * kSide)}, {"width", cat(kSide)}, {"height", cat(kSide)}, {"fill", colours[i]}});
  }
  if (colours.empty()) return {};
  return element("svg",
                 {{"class", "swatches"},
                  {"width", cat(colours.size() * kSide)},
                  {"height", cat(kSide)},
                  {"role", "img"},
                  {"aria-label", cat(colours.size() == 1 ? "colour " : "colours ", names)}},
                 squares);
}

}  // namespace espalier
