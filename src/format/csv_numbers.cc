#include "format/csv_numbers.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "base/env.h"
#include "base/format.h"
#include "base/shortened.h"
#include "format/canonical_decimal.h"
#include "format/gzip.h"

namespace espalier {
namespace {

// Whether a cell is a whole number, without an exponent, and another one than `held`, which its f32 is.
// Numbers are held against each other digit by digit: the f64 of a long one is rounded, too.
bool is_another(const CsvTable& table, int64_t row, int64_t column, float held) {
  const std::string_view cell = table.cell(row, column);
  const std::string text = table.numbers().plain_number(cell, column).value_or(std::string(cell));
  if (text.find_first_of("eE") != text.npos) return false;
  const size_t point = text.find('.');
  if (point != text.npos && text.find_first_not_of('0', point + 1) != text.npos) return false;
  char digits[64];
  const auto end =
      std::to_chars(digits, std::end(digits), static_cast<double>(held), std::chars_format::fixed, 0).ptr;
  return canonical_decimal(text) != canonical_decimal(std::string_view(digits, end));
}

}  // namespace

Literal csv_numbers(const CsvTable& table) {
  constexpr double kAllWhole = 1 << std::numeric_limits<float>::digits;  // up to it f32 holds each
  const TensorType type{DType::kF32, {table.rows(), table.columns()}};
  Buffer buffer = allocate_buffer(type.bytes());
  auto* out = reinterpret_cast<float*>(buffer.get());
  std::vector<double> numbers(static_cast<size_t>(table.columns()));
  for (int64_t row = 0; row < table.rows(); ++row) {
    table.row_numbers(row, 0, numbers);
    for (int64_t column = 0; column < table.columns(); ++column) {
      const double value = numbers[static_cast<size_t>(column)];
      if (!(std::fabs(value) <= std::numeric_limits<float>::max())) {
        throw FormatError("csv.number", cat("line ", table.line(row), ", cell ", column + 1, ": \"",
                                            shortened(table.cell(row, column)), "\" is not a number"));
      }
      *out = static_cast<float>(value);
      if (std::fabs(value) > kAllWhole && is_another(table, row, column, *out)) {
        throw FormatError("csv.exact",
                          cat("line ", table.line(row), ", cell ", column + 1, ": f32 does not hold ",
                              shortened(table.cell(row, column)), " exactly, only whole numbers up to ",
                              static_cast<int64_t>(kAllWhole), " each"));
      }
      ++out;
    }
  }
  return Literal(type, std::move(buffer));
}

Literal parse_csv_numbers(std::string text) {
  return csv_numbers(parse_csv(std::move(text), {.delimiter = ',', .header = CsvHeader::kNo}));
}

Literal read_csv_numbers(const std::string& path) {
  try {
    return parse_csv_numbers(gunzip(posix_env().read_file(path)));
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(path, ": ", error.message()), error.fix());
  }
}

}  // namespace espalier
