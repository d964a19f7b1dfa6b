#include "validate/anomaly_reason.h"

#include <cmath>
#include <cstdio>
#include <limits>

namespace espalier {

std::string six_digits(double value) {
  if (std::isnan(value)) return "nan";
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

int64_t whole_part(double value) {
  constexpr double kBeyond = 0x1p63;
  if (std::isnan(value)) return 0;
  if (value >= kBeyond) return std::numeric_limits<int64_t>::max();
  if (value < -kBeyond) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

}  // namespace espalier
