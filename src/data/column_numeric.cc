#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "base/shortest.h"
#include "data/column_profile.h"

namespace espalier {
namespace {

constexpr double kMostScaled = 10;

}  // namespace

std::string NumericStep::prepare() {
  if (!(scale > 0)) return "scale must be positive";
  if (range.least > range.most) return "least is above most";
  return log && median < 0 ? "the logarithm of a negative median" : "";
}

std::vector<std::string> NumericStep::names(const std::string& column) const {
  if (!indicator) return {column};
  return {column, cat(column, " missing")};
}

std::vector<std::string> NumericStep::formulas() const {
  std::vector<std::string> out = {cat("(", log ? "log(1 + max(x, 0))" : "x", " - ", shortest(mean), ") / ",
                                      shortest(scale), ", at least -10, at most 10; x is ",
                                      form.style == NumberStyle::kClock ? "in seconds, and " : "",
                                      shortest(median), " where missing")};
  if (indicator) out.emplace_back("1 where missing, else 0");
  return out;
}

float NumericStep::scaled(double value) const {
  const double x = log ? std::log1p(std::max(value, 0.0)) : value;
  return static_cast<float>(std::clamp((x - mean) / scale, -kMostScaled, kMostScaled));
}

CellOutcome NumericStep::read(const Cell& cell, float* out) const {
  const std::optional<double> value = read_number(cell.text, form);
  if (!value) {
    read_missing(out);
    return CellOutcome::kUnreadable;
  }
  *out = scaled(*value);
  return static_cast<CellOutcome>(!range.contains(*value));
}

CellOutcome NumericStep::read_plain(const CsvTable& table, int64_t row, int64_t column, float* out) const {
  if (form.style != NumberStyle::kPlain || !form.unit.empty() || !table.numbers().plain())
    return CellOutcome::kUnreadable;
  const double value = table.number_or_nan(row, column);
  if (!(std::fabs(value) <= std::numeric_limits<float>::max())) return CellOutcome::kUnreadable;
  *out = scaled(value);
  return static_cast<CellOutcome>(!range.contains(value));
}

void NumericStep::read_missing(float* out) const {
  out[0] = scaled(median);
  if (indicator) out[1] = 1;
}

std::string NumericStep::written() const {
  constexpr const char* kExamples[] = {"1234.5",  "1,234.5", "1234,5",  "1'234.5",
                                       "1 234.5", "1 234,5", "1'234,5", "14:30:00"};
  return cat(kExamples[static_cast<size_t>(form.style)], form.unit.empty() ? "" : " ", form.unit);
}

std::string NumericStep::seen() const {
  const bool known = std::isfinite(range.least) && std::isfinite(range.most);
  return known ? cat(short_number(range.least), " to ", short_number(range.most)) : "";
}

}  // namespace espalier
