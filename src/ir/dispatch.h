// From a run-time DType to a C++ type.
#pragma once

#include "base/format.h"
#include "espalier/dtype.h"
#include "espalier/error.h"

namespace espalier {

template <class T>
struct TypeTag {
  using type = T;
};

// Calls f(TypeTag<T>{}) with the scalar type of `dtype`.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool:
      return f(TypeTag<bool>{});
    case DType::kI8:
      return f(TypeTag<int8_t>{});
    case DType::kI16:
      return f(TypeTag<int16_t>{});
    case DType::kI32:
      return f(TypeTag<int32_t>{});
    case DType::kI64:
      return f(TypeTag<int64_t>{});
    case DType::kU8:
      return f(TypeTag<uint8_t>{});
    case DType::kU16:
      return f(TypeTag<uint16_t>{});
    case DType::kU32:
      return f(TypeTag<uint32_t>{});
    case DType::kU64:
      return f(TypeTag<uint64_t>{});
    case DType::kF16:
      return f(TypeTag<Float16>{});
    case DType::kBF16:
      return f(TypeTag<BFloat16>{});
    case DType::kF32:
      return f(TypeTag<float>{});
    case DType::kF64:
      break;
  }
  return f(TypeTag<double>{});
}

// As visit_dtype over floating-point types alone. REQUIRES: is_float(dtype).
template <class F>
decltype(auto) visit_float(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF16:
      return f(TypeTag<Float16>{});
    case DType::kBF16:
      return f(TypeTag<BFloat16>{});
    case DType::kF32:
      return f(TypeTag<float>{});
    case DType::kF64:
      return f(TypeTag<double>{});
    default:
      throw InternalError(cat("visit_float over ", dtype));
  }
}

// As visit_dtype over integers and bool. REQUIRES: not a floating-point type.
template <class F>
decltype(auto) visit_integral(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool:
      return f(TypeTag<bool>{});
    case DType::kI8:
      return f(TypeTag<int8_t>{});
    case DType::kI16:
      return f(TypeTag<int16_t>{});
    case DType::kI32:
      return f(TypeTag<int32_t>{});
    case DType::kI64:
      return f(TypeTag<int64_t>{});
    case DType::kU8:
      return f(TypeTag<uint8_t>{});
    case DType::kU16:
      return f(TypeTag<uint16_t>{});
    case DType::kU32:
      return f(TypeTag<uint32_t>{});
    case DType::kU64:
      return f(TypeTag<uint64_t>{});
    default:
      throw InternalError(cat("visit_integral over ", dtype));
  }
}

template <class T>
inline constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool is_floating = is_half<T> || std::is_floating_point_v<T>;

// The type in which one operation on T is computed before it is rounded to T once.
template <class T>
using Compute = std::conditional_t<is_half<T>, float, T>;

}  // namespace espalier
