#include "format/decimal.h"

#include <charconv>
#include <cmath>

namespace espalier::decimal {

bool parse_slowly(const char* begin, const char* end, double& value) {
  // from_chars also knows words, and a sign of its own.
  if (begin == end || ((*begin < '0' || *begin > '9') && *begin != '.')) return false;
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() && stop == end && std::isfinite(value);
}

}  // namespace espalier::decimal
