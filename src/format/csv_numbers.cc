#include "format/csv_numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/env.h"
#include "base/format.h"
#include "espalier/error.h"
#include "format/gzip.h"

namespace espalier {
namespace {

// The first characters, '?' for what is not printable ASCII.
std::string printable(std::string_view text) {
  constexpr size_t kMost = 40;
  std::string out(text.substr(0, kMost));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

}  // namespace

Literal parse_csv_numbers(std::string_view text) {
  std::vector<float> values;
  int64_t rows = 0, columns = 0;
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    const char *line = at, *line_end = std::find(at, end, '\n');
    at = line_end == end ? end : line_end + 1;
    if (line_end != line && line_end[-1] == '\r') --line_end;
    if (line == line_end && std::string_view(at, static_cast<size_t>(end - at)).find_first_not_of("\r\n") ==
                                std::string_view::npos)
      break;
    ++rows;
    int64_t found = 0;
    for (const char* cell = line;;) {
      float value = 0;
      const auto [stop, error] = std::from_chars(cell, line_end, value);
      if (error != std::errc() || (stop != line_end && *stop != ',') || !std::isfinite(value)) {
        const std::string_view shown(cell, static_cast<size_t>(std::find(cell, line_end, ',') - cell));
        throw FormatError("csv.number", cat("line ", rows, ", column ", cell - line + 1, ": \"",
                                            printable(shown), "\" is not a number"));
      }
      values.push_back(value);
      ++found;
      if (stop == line_end) break;
      cell = stop + 1;
    }
    if (rows == 1) columns = found;
    if (found != columns)
      throw FormatError("csv.columns", cat("line ", rows, " has ", found, " columns, line 1 has ", columns));
  }
  if (rows == 0) throw FormatError("csv.empty", "line 1: no rows");
  return Literal::copy({DType::kF32, {rows, columns}}, values.data());
}

Literal read_csv_numbers(const std::string& path) {
  try {
    return parse_csv_numbers(gunzip(posix_env().read_file(path)));
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(path, ": ", error.message()));
  }
}

}  // namespace espalier
