#include <numbers>

#include "ops/call.h"

namespace espalier {
namespace {

// Bits of the significand: as many random bits make every multiple of 2^-bits equally likely.
int significand(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 53;
    case DType::kF32:
      return 24;
    case DType::kF16:
      return 11;
    case DType::kBF16:
      return 8;
    default:
      throw DTypeError("random.dtype", cat("gives floating-point numbers, not ", dtype));
  }
}

}  // namespace

Tensor random_uniform(const Shape& shape, Operand key, Operand step, double low, double high, DType dtype,
                      const Shard& shard) {
  CallScope scope(key.at());
  const int bits = significand(dtype), width = bits > 32 ? 64 : 32;
  const Tensor raw = random_bits(shape, key, step, width == 64 ? DType::kU64 : DType::kU32, shard);
  const Tensor unit = convert(shift_right_logical(raw, width - bits), dtype) * std::ldexp(1.0, -bits);
  return low == 0 && high == 1 ? unit : unit * (high - low) + low;
}

Tensor random_normal(const Shape& shape, Operand key, Operand step, double mean, double deviation,
                     DType dtype, const Shard& shard) {
  CallScope scope(key.at());
  const DType wide = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const int bits = std::min(32, significand(wide));
  const Tensor raw = random_bits(shape, key, step, DType::kU64, shard);
  // Box and Muller: the upper word gives the radius, the lower one the angle.
  const Tensor radius_bits = convert(shift_right_logical(raw, 64 - bits), wide);
  const Tensor angle_bits = convert(shift_right_logical(raw & 0xFFFFFFFFu, 32 - bits), wide);
  const double unit = std::ldexp(1.0, -bits);
  const Tensor radius = sqrt(log((radius_bits + 1) * unit) * -2);
  const Tensor z = radius * cosine(angle_bits * (unit * 2 * std::numbers::pi));
  return convert(mean == 0 && deviation == 1 ? z : z * deviation + mean, dtype);
}

Tensor truncated_normal(const Shape& shape, Operand key, Operand step, double mean, double deviation,
                        DType dtype, const Shard& shard) {
  CallScope scope(key.at());
  const DType wide = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const int bits = significand(wide) - 1;
  const Tensor raw = random_bits(shape, key, step, DType::kU64, shard);
  // The middle of one of 2^bits equal parts of (-1, 1), through the inverse of the distribution function.
  const Tensor part = convert(shift_right_logical(raw, 64 - bits), wide);
  const Tensor centered = (part + 0.5) * std::ldexp(1.0, 1 - bits) - 1;
  const Tensor z = erf_inv(centered * std::erf(std::numbers::sqrt2)) * std::numbers::sqrt2;
  return convert(clamp(-2, z, 2) * deviation + mean, dtype);
}

}  // namespace espalier
