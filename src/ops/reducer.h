// The named reducers of reduce, reduce_window, scatter and cumulative ops.
#pragma once

#include <cmath>
#include <limits>

#include "ops/elementwise.h"

namespace espalier {

// kUpdate: the later value replaces the earlier; scatter alone takes it. kRegion: the op's region says how
// two accumulators combine; such a call has no gradient.
enum class Reducer : uint8_t { kSum, kProd, kMax, kMin, kAnd, kOr, kXor, kUpdate, kRegion };
inline constexpr const char* kReducerWords[] = {"sum", "prod", "max",    "min",   "and",
                                                "or",  "xor",  "update", "region"};

// a (reducer) b. Sums and products of floats are in T; integers wrap; NaN wins in max and min, -0 is below
// +0, subnormal numbers are zeros.
template <Reducer R, class T>
T combine(T a, T b) {
  if constexpr (R == Reducer::kSum || R == Reducer::kProd) {
    if constexpr (std::is_same_v<T, bool>) {
      return R == Reducer::kSum ? (a || b) : (a && b);
    } else if constexpr (std::is_integral_v<T>) {
      const auto x = static_cast<Wrapping<T>>(a), y = static_cast<Wrapping<T>>(b);
      return static_cast<T>(R == Reducer::kSum ? x + y : x * y);
    } else {
      return R == Reducer::kSum ? a + b : a * b;
    }
  } else if constexpr (R == Reducer::kMax || R == Reducer::kMin) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a)) return a;
      if (std::isnan(b)) return b;
      const T tie = std::signbit(a) == (R == Reducer::kMin) ? a : b;
      return flush_subnormal(a == b ? tie : (a < b) == (R == Reducer::kMin) ? a : b);
    }
    return (a < b) == (R == Reducer::kMin) ? a : b;
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (R == Reducer::kAnd) return static_cast<T>(a & b);
    if constexpr (R == Reducer::kOr) return static_cast<T>(a | b);
    if constexpr (R == Reducer::kXor) return static_cast<T>(a ^ b);
  }
  return a;
}

// Calls f(std::integral_constant<Reducer, R>{}). REQUIRES: neither kUpdate nor kRegion.
template <class F>
void visit_reducer(Reducer reducer, F f) {
  using enum Reducer;
  switch (reducer) {
    case kSum:
      return f(std::integral_constant<Reducer, kSum>{});
    case kProd:
      return f(std::integral_constant<Reducer, kProd>{});
    case kMax:
      return f(std::integral_constant<Reducer, kMax>{});
    case kMin:
      return f(std::integral_constant<Reducer, kMin>{});
    case kAnd:
      return f(std::integral_constant<Reducer, kAnd>{});
    case kOr:
      return f(std::integral_constant<Reducer, kOr>{});
    case kXor:
      return f(std::integral_constant<Reducer, kXor>{});
    case kUpdate:
    case kRegion:
      break;
  }
  throw InternalError("visit_reducer over update or a region");
}

// The dtypes a reducer takes.
constexpr unsigned reducer_set(Reducer reducer) {
  return reducer >= Reducer::kAnd && reducer <= Reducer::kXor ? (kIntegers | kBools) : kAnyDType;
}

// The type in which a reduction accumulates: sums of floats in double (float for the 16-bit types).
template <Reducer R, class T>
using Accumulator =
    std::conditional_t<(R == Reducer::kSum || R == Reducer::kProd) && std::is_same_v<T, float>, double,
                       Compute<T>>;

// x (reducer) identity == x.
Literal reducer_identity(Reducer reducer, DType dtype);

}  // namespace espalier
