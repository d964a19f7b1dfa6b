#include <cmath>
#include <limits>
#include <numbers>

#include "ops/call.h"
#include "ops/rows_place.h"

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

void check_range(double low, double high, DType dtype) {
  const double widest =
      dtype == DType::kF64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  if (!(low <= high && high - low <= widest && std::fabs(low) <= widest && std::fabs(high) <= widest))
    throw ValueError("random.range", cat("[", low, ", ", high, ") is no range of ", dtype));
}
void check_deviation(double mean, double deviation) {
  if (!std::isfinite(mean) || !(deviation >= 0) || !std::isfinite(deviation))
    throw ValueError("random.deviation", cat("mean ", mean, " and deviation ", deviation,
                                             " must be finite, the deviation not negative"));
}

}  // namespace

Tensor random_uniform(const Shape& shape, Operand key, Operand step, double low, double high, DType dtype,
                      const Shard& shard) {
  CallScope scope(key.at());
  check_range(low, high, dtype);
  const int bits = significand(dtype), width = bits > 32 ? 64 : 32;
  const Tensor raw = random_bits(shape, key, step, width == 64 ? DType::kU64 : DType::kU32, shard);
  const Tensor unit = convert(shift_right_logical(raw, width - bits), dtype) * std::ldexp(1.0, -bits);
  return low == 0 && high == 1 ? unit : unit * (high - low) + low;
}

Tensor random_normal(const Shape& shape, Operand key, Operand step, double mean, double deviation,
                     DType dtype, const Shard& shard) {
  CallScope scope(key.at());
  check_deviation(mean, deviation);
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
  check_deviation(mean, deviation);
  const DType wide = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const int bits = significand(wide) - 1;
  const Tensor raw = random_bits(shape, key, step, DType::kU64, shard);
  // The middle of one of 2^bits equal parts of (-1, 1), through the inverse of the distribution function.
  const Tensor part = convert(shift_right_logical(raw, 64 - bits), wide);
  const Tensor centered = (part + 0.5) * std::ldexp(1.0, 1 - bits) - 1;
  const Tensor z = erf_inv(centered * std::erf(std::numbers::sqrt2)) * std::numbers::sqrt2;
  return convert(clamp(-2, z, 2) * deviation + mean, dtype);
}

Tensor random_integers(const Shape& shape, Operand key, Operand step, int64_t low, int64_t high, DType dtype,
                       const Shard& shard) {
  CallScope scope(key.at());
  if (!is_integer(dtype)) throw DTypeError("random.dtype", cat("gives whole numbers, not ", dtype));
  // The largest number may be one that only the unsigned 64 bits hold; int64_t bounds never ask for it.
  const int width = static_cast<int>(size_of(dtype)) * 8 - (is_unsigned_integer(dtype) ? 0 : 1);
  const int64_t most = width >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << width) - 1;
  const int64_t least = is_unsigned_integer(dtype) ? 0 : -most - 1;
  if (high <= low || low < least || high - 1 > most) {
    throw ValueError("random.range", cat("[", low, ", ", high, ") is no range of ", dtype, ", which holds [",
                                         least, ", ", most, "]"));
  }
  const Tensor raw = random_bits(shape, key, step, DType::kU64, shard);
  const auto range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  // Multiplying by the range and keeping the upper word; sums of 64 bits wrap around to the right value.
  const Tensor first = Tensor::scalar(static_cast<uint64_t>(low));
  return convert(mulhi(raw, Tensor::scalar(range)) + first, dtype);
}

Tensor random_categorical(Operand logits, int64_t count, Operand key, Operand step) {
  CallScope scope(logits.at());
  const Tensor& x = logits.tensor();
  if (!is_float(x.dtype()))
    throw DTypeError("random_categorical.dtype", cat("logits are floats, not ", x.type()));
  if (x.rank() == 0 || x.shape().back() == 0)
    throw ShapeError("random_categorical.classes", cat("takes [..., n] with n > 0, got ", x.type()));
  if (count < 0) throw ValueError("random_categorical.count", cat("count is not negative, got ", count));
  const DType wide = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  Shape shape = x.shape();
  shape.insert(shape.size() - 1, count);
  // 64 bits, so that small probabilities keep their shares; below 1, so that the logarithm is finite.
  const double below_one = 1 - std::ldexp(1.0, -significand(wide));
  const Tensor unit =
      minimum(convert(random_bits(shape, key, step, DType::kU64), wide) * std::ldexp(1.0, -64), below_one);
  const Tensor arrival = log(negate(log_plus_one(negate(unit))));
  Dims axes = Dims::filled(x.rank(), 0);
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i + (i + 1 == axes.size()));
  const Tensor rate = broadcast_in_dim(convert(x, wide), shape, axes);
  return argmax(rate - arrival, -1);
}

Tensor random_permutation(int64_t n, Operand key, Operand step) {
  CallScope scope(key.at());
  if (n < 0) throw ValueError("random_permutation.n", cat("n is not negative, got ", n));
  Shard whole = drawn_part({n}, true);
  if (whole.global_shape.empty()) whole.global_shape = {n};
  return argsort(random_bits({n}, key, step, DType::kU64, whole));
}

Tensor shuffle(Operand x, Operand key, Operand step, int64_t axis) {
  CallScope scope(x.at());
  axis = normalize_axis("shuffle", axis, x.tensor().rank());
  return take(x, random_permutation(x.tensor().size(static_cast<size_t>(axis)), key, step), axis);
}

}  // namespace espalier
