#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "base/shortest.h"
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
  if (grouped && (first_mark == sign || first_mark > sign + 3 || text[sign] == '0')) return {};
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

constexpr std::string_view kUnits[] = {"$", "€", "£", "¥", "₹", "%"};

// `text` without a unit in front of the digits, with or without a sign ahead of it, or behind them. Empty
// when the unit is all there is.
std::string without_unit(std::string_view text, std::string_view unit) {
  const auto trim = [](std::string_view part) {
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    return part;
  };
  const size_t sign = text.starts_with('-') || text.starts_with('+');
  const std::string_view digits = trim(text.substr(sign));
  std::string_view bare = digits;
  if (bare.starts_with(unit)) {
    bare.remove_prefix(unit.size());
  } else if (bare.ends_with(unit)) {
    bare.remove_suffix(unit.size());
  } else {
    return std::string(text);
  }
  bare = trim(bare);
  const bool second_sign = sign && (bare.starts_with('-') || bare.starts_with('+'));
  return second_sign ? std::string() : cat(text.substr(0, sign), bare);
}

}  // namespace

std::string_view unit_of(std::string_view text) {
  for (const std::string_view unit : kUnits) {
    if (without_unit(text, unit) != text) return unit;
  }
  return {};
}

std::optional<double> read_number(std::string_view text, const NumberForm& form) {
  if (!form.unit.empty()) return read_number(without_unit(text, form.unit), form.style);
  switch (form.style) {
    case NumberStyle::kPlain:
      return in_range(parse_decimal(text));
    case NumberStyle::kThousands:
      return in_range(parse_decimal(plain_digits(text, ',', '.')));
    case NumberStyle::kDecimalComma:
      return in_range(parse_decimal(plain_digits(text, '.', ',')));
  }
  return std::nullopt;
}

bool is_whole(std::string_view text, const NumberForm& form) {
  const std::optional<double> value = read_number(text, form);
  return value && *value == std::floor(*value);
}

std::optional<double> read_number(const Cell& cell, const NumberForm& form) {
  if (form.style == NumberStyle::kPlain && form.unit.empty())
    return in_range(cell.table.number(cell.row, cell.column));
  return read_number(cell.text, form);
}

std::string NumericStep::prepare() {
  if (!(scale > 0)) return "scale must be positive";
  return log && median < 0 ? "the logarithm of a negative median" : "";
}

std::vector<std::string> NumericStep::names(const std::string& column) const {
  if (!indicator) return {column};
  return {column, cat(column, " missing")};
}

std::vector<std::string> NumericStep::formulas() const {
  std::vector<std::string> out = {cat("(", log ? "log(1 + max(x, 0))" : "x", " - ", shortest(mean), ") / ",
                                      shortest(scale), ", at least -10, at most 10; x is ", shortest(median),
                                      " where missing")};
  if (indicator) out.emplace_back("1 where missing, else 0");
  return out;
}

float NumericStep::scaled(double value) const {
  const double x = log ? std::log1p(std::max(value, 0.0)) : value;
  return static_cast<float>(std::clamp((x - mean) / scale, -kMostScaled, kMostScaled));
}

CellOutcome NumericStep::read(const Cell& cell, float* out) const {
  const std::optional<double> value = read_number(cell, form);
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
