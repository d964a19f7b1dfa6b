#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "data/column_steps.h"
#include "format/decimal.h"

namespace espalier {
namespace {

constexpr double kMostScaled = 10;

// `text` as plain digits: marks between groups of three are taken out, and what stands for the point becomes
// one. Empty when a mark stands elsewhere.
std::string plain_digits(std::string_view text, char mark, char point) {
  constexpr size_t kLongest = 64;
  if (text.size() > kLongest) return {};
  std::string out;
  const size_t sign = text.starts_with('-') || text.starts_with('+');
  const size_t whole_end = std::min(text.find_first_of(std::string{point, 'e', 'E'}), text.size());
  const size_t first_mark = std::min(text.find(mark), whole_end);
  const bool grouped = first_mark < whole_end;
  if (grouped && (first_mark == sign || first_mark > sign + 3)) return {};
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == mark) {
      const size_t next = std::min(text.find(mark, i + 1), whole_end);
      if (i > whole_end || next != i + 4) return {};
    } else {
      out += text[i] == point ? '.' : text[i];
    }
  }
  return out;
}

std::optional<double> in_range(std::optional<double> value) {
  if (!value || std::fabs(*value) > std::numeric_limits<float>::max()) return std::nullopt;
  return *value;
}

}  // namespace

std::optional<double> read_number(std::string_view text, NumberStyle style) {
  switch (style) {
    case NumberStyle::kPlain:
      return in_range(parse_decimal(text));
    case NumberStyle::kThousands:
      return in_range(parse_decimal(plain_digits(text, ',', '.')));
    case NumberStyle::kDecimalComma:
      return in_range(parse_decimal(plain_digits(text, '.', ',')));
  }
  return std::nullopt;
}

std::optional<double> read_number(const Cell& cell, NumberStyle style) {
  if (style == NumberStyle::kPlain) return in_range(cell.table.number(cell.row, cell.column));
  return read_number(cell.text, style);
}

std::string NumericStep::prepare() {
  if (!(scale > 0)) return "scale must be positive";
  return log && median < 0 ? "the logarithm of a negative median" : "";
}

std::vector<std::string> NumericStep::names(const std::string& column) const {
  if (!indicator) return {column};
  return {column, cat(column, " missing")};
}

float NumericStep::scaled(double value) const {
  const double x = log ? std::log1p(std::max(value, 0.0)) : value;
  return static_cast<float>(std::clamp((x - mean) / scale, -kMostScaled, kMostScaled));
}

CellOutcome NumericStep::read(const Cell& cell, float* out) const {
  const std::optional<double> value = read_number(cell, style);
  if (!value) {
    read_missing(out);
    return CellOutcome::kUnreadable;
  }
  *out = scaled(*value);
  return CellOutcome::kRead;
}

void NumericStep::read_missing(float* out) const {
  out[0] = scaled(median);
  if (indicator) out[1] = 1;
}

}  // namespace espalier
