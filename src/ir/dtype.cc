#include "espalier/dtype.h"

namespace espalier {
namespace {

constexpr std::string_view kNames[kDTypeCount] = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                                                  "u32",  "u64", "f16", "bf16", "f32", "f64"};
constexpr std::string_view kStablehloNames[kDTypeCount] = {
    "i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "f16", "bf16", "f32", "f64"};

// Rounds a double to a binary format of `mantissa` stored bits and `exponent_bits`, nearest even, in one
// step.
uint16_t round_to_half(double value, int mantissa, int exponent_bits) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 63) << 15);
  const uint64_t magnitude = bits & 0x7fffffffffffffffull;
  const uint16_t infinity = static_cast<uint16_t>(((1u << exponent_bits) - 1) << mantissa);
  if (magnitude > 0x7ff0000000000000ull) return sign | infinity | static_cast<uint16_t>(1u << (mantissa - 1));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = static_cast<int>(magnitude >> 52) - 1023;
  if (magnitude == 0 || exponent < -bias - mantissa - 1) return sign;
  if (exponent > bias) return sign | infinity;
  const uint64_t significand = (magnitude & 0xfffffffffffffull) | (1ull << 52);
  int shift = 52 - mantissa;
  if (exponent < 1 - bias) shift += 1 - bias - exponent;
  uint64_t rounded = significand >> shift;
  const uint64_t rest = significand & ((1ull << shift) - 1), half = 1ull << (shift - 1);
  if (rest > half || (rest == half && (rounded & 1))) ++rounded;
  const int stored = exponent < 1 - bias ? 0 : exponent + bias - 1;
  return sign | static_cast<uint16_t>((static_cast<uint64_t>(stored) << mantissa) + rounded);
}

}  // namespace

Float16::Float16(double value) : bits_(round_to_half(value, 10, 5)) {}
BFloat16::BFloat16(double value) : bits_(round_to_half(value, 7, 8)) {}

Float16::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits_ & 0x8000u) << 16;
  const uint32_t exponent = (bits_ >> 10) & 31u, mantissa = bits_ & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float tiny = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -tiny : tiny;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::string_view name(DType dtype) { return kNames[static_cast<int>(dtype)]; }
std::string_view stablehlo_name(DType dtype) { return kStablehloNames[static_cast<int>(dtype)]; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (text == kNames[i] || text == kStablehloNames[i]) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace espalier
