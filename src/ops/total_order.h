// IEEE 754's totalOrder of floats.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace espalier {

// An integer that orders floats as IEEE 754's totalOrder: -NaN < -inf < ... < -0 < +0 < ... < +inf < NaN.
template <class T>
auto total_order(T x) {
  using S = std::conditional_t<sizeof(T) == 2, int16_t, std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>;
  const S bits = std::bit_cast<S>(x);
  return bits < 0 ? static_cast<S>(bits ^ std::numeric_limits<S>::max()) : bits;
}

}  // namespace espalier
