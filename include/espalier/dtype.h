// Element types of tensors and the two 16-bit floating-point scalars.
#pragma once

#if __cplusplus < 202002L
#error "Espalier needs C++20: compile with -std=c++20"
#endif

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace espalier {

// Element types. `name()` gives "bool", "i8", ..., "bf16", "f32", "f64".
enum class DType : uint8_t { kBool, kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64, kF16, kBF16, kF32, kF64 };

inline constexpr int kDTypeCount = 13;

// IEEE 754 binary16. Conversions from wider types round to nearest even, once.
class Float16 {
 public:
  constexpr Float16() = default;
  explicit Float16(float value) : Float16(static_cast<double>(value)) {}
  explicit Float16(double value);
  static constexpr Float16 from_bits(uint16_t bits) {
    Float16 half;
    half.bits_ = bits;
    return half;
  }
  constexpr uint16_t bits() const { return bits_; }
  operator float() const;

 private:
  uint16_t bits_ = 0;
};

// The upper half of an IEEE 754 binary32. Conversions from wider types round to nearest even, once.
class BFloat16 {
 public:
  constexpr BFloat16() = default;
  explicit BFloat16(float value) : bits_(round_bits(value)) {}
  explicit BFloat16(double value);
  static constexpr BFloat16 from_bits(uint16_t bits) {
    BFloat16 half;
    half.bits_ = bits;
    return half;
  }
  constexpr uint16_t bits() const { return bits_; }
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits_) << 16); }

 private:
  static uint16_t round_bits(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
    return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  }
  uint16_t bits_ = 0;
};

// "f32", "bool", ...: the name used in messages and reports.
std::string_view name(DType dtype);
// The same, as to_string gives it of other types.
inline std::string to_string(DType dtype) { return std::string(name(dtype)); }
// "f32", "i1", "ui8", ...: the name used in StableHLO text.
std::string_view stablehlo_name(DType dtype);
// The dtype of either kind of name, or nothing.
std::optional<DType> parse_dtype(std::string_view text);

// Bytes of one element; bool takes one byte holding 0 or 1.
constexpr size_t size_of(DType dtype) {
  constexpr size_t kSizes[kDTypeCount] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  return kSizes[static_cast<int>(dtype)];
}
constexpr bool is_float(DType dtype) { return dtype >= DType::kF16; }
constexpr bool is_signed_integer(DType dtype) { return dtype >= DType::kI8 && dtype <= DType::kI64; }
constexpr bool is_unsigned_integer(DType dtype) { return dtype >= DType::kU8 && dtype <= DType::kU64; }
constexpr bool is_integer(DType dtype) { return dtype >= DType::kI8 && dtype <= DType::kU64; }

// The DType of a C++ scalar type: `dtype_of<float>() == DType::kF32`.
template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<bool>() {
  return DType::kBool;
}
template <>
constexpr DType dtype_of<int8_t>() {
  return DType::kI8;
}
template <>
constexpr DType dtype_of<int16_t>() {
  return DType::kI16;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::kI32;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::kI64;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::kU8;
}
template <>
constexpr DType dtype_of<uint16_t>() {
  return DType::kU16;
}
template <>
constexpr DType dtype_of<uint32_t>() {
  return DType::kU32;
}
template <>
constexpr DType dtype_of<uint64_t>() {
  return DType::kU64;
}
template <>
constexpr DType dtype_of<Float16>() {
  return DType::kF16;
}
template <>
constexpr DType dtype_of<BFloat16>() {
  return DType::kBF16;
}
template <>
constexpr DType dtype_of<float>() {
  return DType::kF32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::kF64;
}

}  // namespace espalier
