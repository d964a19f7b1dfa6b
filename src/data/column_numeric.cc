#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "base/shortest.h"
#include "data/column_profile.h"

namespace espalier {
namespace {

constexpr double kMostScaled = 10;

// Whether all training rows were 0 and 1. Of numbers between these the variance is mean (1 - mean) where each
// is one of them, and less where one is not; log(1 + x) of them is 0 and log 2.
bool trained_on_bits(const NumericStep& step) {
  constexpr double kRounding = 1e-9;
  if (step.form.style == NumberStyle::kClock || !step.form.unit.empty()) return false;
  if (step.range.least < 0 || step.range.most > 1) return false;
  if (step.range.least == step.range.most) return step.range.least == 0 || step.range.least == 1;
  if (step.range.least != 0 || step.range.most != 1) return false;
  const double one = step.log ? std::log(2.0) : 1.0, mean = step.mean / one, deviation = step.scale / one;
  const double variance = mean * (1 - mean);
  return std::fabs(deviation * deviation - variance) <= kRounding * variance;
}

}  // namespace

std::string NumericStep::prepare() {
  bits = trained_on_bits(*this);
  if (!(scale > 0)) return "scale must be positive";
  if (range.least > range.most) return "least is above most";
  return log && median < 0 ? "the logarithm of a negative median" : "";
}

std::vector<std::string> NumericStep::names(const std::string& column) const {
  if (!indicator) return {column};
  return {column, cat(column, " missing")};
}

std::vector<std::string> NumericStep::formulas() const {
  std::vector<std::string> out = {
      cat("(", log ? "log(1 + max(x, 0))" : "x", " - ", shortest(mean), ") / ", shortest(scale),
          ", at least -10, at most 10; x is ", form.style == NumberStyle::kClock ? "in seconds, and " : "",
          form.multiples ? "K, M, B and T being 1e3, 1e6, 1e9 and 1e12, " : "",
          bits ? "1 where true and 0 where false, " : "", shortest(median), " where missing")};
  if (indicator) out.emplace_back("1 where missing, else 0");
  return out;
}

float NumericStep::scaled(double value) const {
  const double x = log ? std::log1p(std::max(value, 0.0)) : value;
  return static_cast<float>(std::clamp((x - mean) / scale, -kMostScaled, kMostScaled));
}

std::optional<double> NumericStep::value_of(std::string_view text) const {
  if (const std::optional<double> number = read_number(text, form)) return number;
  if (!bits) return std::nullopt;
  const std::optional<bool> truth = read_truth(text);
  return truth ? std::optional<double>(*truth) : std::nullopt;
}

CellOutcome NumericStep::read(const Cell& cell, float* out) const {
  const std::optional<double> value = value_of(cell.text);
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
  return cat(kExamples[static_cast<size_t>(form.style)], form.multiples ? "K" : "",
             form.unit.empty() ? "" : " ", form.unit);
}

std::string NumericStep::seen() const {
  const bool known = std::isfinite(range.least) && std::isfinite(range.most);
  return known ? cat(short_number(range.least), " to ", short_number(range.most)) : "";
}

}  // namespace espalier
