// How tests compare what two machines computed.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "base/format.h"
#include "ir/literal.h"

namespace espalier {

// Equal types and bits, where all NaN are one and a subnormal is the zero of its sign (a processor's max and
// min may return either). "" or the first difference.
inline std::string difference(const Literal& a, const Literal& b) {
  if (a.type() != b.type()) return cat(a.type(), " and ", b.type());
  constexpr double kLeast = std::numeric_limits<float>::min();
  const Literal x = a.expanded(), y = b.expanded();
  const size_t size = size_of(a.type().dtype);
  for (int64_t i = 0; i < a.type().elements(); ++i) {
    const auto* p = static_cast<const std::byte*>(x.raw()) + static_cast<size_t>(i) * size;
    const auto* q = static_cast<const std::byte*>(y.raw()) + static_cast<size_t>(i) * size;
    if (std::memcmp(p, q, size) == 0) continue;
    const double u = load_scalar(a.type().dtype, p), v = load_scalar(a.type().dtype, q);
    if (is_float(a.type().dtype) && std::isnan(u) && std::isnan(v)) continue;
    if (a.type().dtype == DType::kF32 && std::fabs(u) < kLeast && std::fabs(v) < kLeast &&
        std::signbit(u) == std::signbit(v)) {
      continue;
    }
    return cat("element ", i, " of ", a.type(), ": ", u, " and ", v);
  }
  return "";
}

}  // namespace espalier
