#include "format/csv_numbers.h"

#include <cmath>
#include <limits>

#include "base/env.h"
#include "base/format.h"
#include "base/shortened.h"
#include "format/gzip.h"

namespace espalier {

Literal csv_numbers(const CsvTable& table) {
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
      *out++ = static_cast<float>(value);
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
