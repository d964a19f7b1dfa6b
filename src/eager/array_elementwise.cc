#include <limits>

#include "eager/array.h"

namespace espalier {

Tensor where(Operand condition, Operand a, Operand b) { return select(condition, a, b); }

Tensor equal(Operand a, Operand b) { return compare(a, b, Comparison::kEQ); }
Tensor not_equal(Operand a, Operand b) { return compare(a, b, Comparison::kNE); }
Tensor greater(Operand a, Operand b) { return compare(a, b, Comparison::kGT); }
Tensor greater_equal(Operand a, Operand b) { return compare(a, b, Comparison::kGE); }
Tensor less(Operand a, Operand b) { return compare(a, b, Comparison::kLT); }
Tensor less_equal(Operand a, Operand b) { return compare(a, b, Comparison::kLE); }

namespace {

void require_bool(const char* function, std::initializer_list<const Operand*> operands) {
  for (const Operand* x : operands) {
    if (!x->is_scalar() && x->tensor().dtype() != DType::kBool) {
      throw DTypeError(cat(function, ".dtype"), cat("takes bool, got ", x->tensor().type()),
                       "compare with 0 first: not_equal(x, 0)");
    }
  }
}

Tensor logical(const char* function, const Operand& a, const Operand& b, Tensor (*op)(Operand, Operand)) {
  CallScope scope(a.at());
  require_bool(function, {&a, &b});
  return op(a, b);
}

}  // namespace

Tensor logical_and(Operand a, Operand b) { return logical("logical_and", a, b, bitwise_and); }
Tensor logical_or(Operand a, Operand b) { return logical("logical_or", a, b, bitwise_or); }
Tensor logical_xor(Operand a, Operand b) { return logical("logical_xor", a, b, bitwise_xor); }
Tensor logical_not(Operand x) {
  CallScope scope(x.at());
  require_bool("logical_not", {&x});
  return bitwise_not(std::move(x));
}

Tensor isnan(Operand x) {
  CallScope scope(x.at());
  return not_equal(x.tensor(), x.tensor());
}
Tensor isinf(Operand x) {
  CallScope scope(x.at());
  if (!is_float(x.tensor().dtype())) return zeros(x.tensor().shape(), DType::kBool);
  return equal(abs(x.tensor()), std::numeric_limits<double>::infinity());
}

Tensor mod(Operand a, Operand b) {
  CallScope scope(a.at());
  const auto [x, y] = same_dtype("mod", a, b);
  const Tensor left = remainder(x, y);
  if (is_unsigned_integer(x.dtype())) return left;
  const Tensor below = less(y, 0);
  const Tensor crosses = not_equal(left, 0) & not_equal(less(left, 0), below);
  // Exact multiples leave a zero, which has b's sign too: adding 0 or taking from 0 makes a zero positive.
  const Tensor same = is_float(x.dtype()) ? where(below, -(0 - left), left + 0) : left;
  return where(crosses, left + y, same);
}

Tensor floor_divide(Operand a, Operand b) {
  CallScope scope(a.at());
  const auto [x, y] = same_dtype("floor_divide", a, b);
  const Tensor quotient = divide(x, y);
  if (is_unsigned_integer(x.dtype())) return quotient;
  if (is_integer(x.dtype())) {
    const Tensor left = remainder(x, y);
    const Tensor crosses = not_equal(left, 0) & not_equal(less(left, 0), less(y, 0)) & not_equal(y, 0);
    return where(crosses, quotient - 1, quotient);
  }
  // a - mod is a multiple of b up to rounding: the nearest whole number is meant.
  const Tensor whole = round_nearest_even(divide(x - mod(x, y), y));
  // By an infinity: the sign that is left is all that counts.
  const Tensor below =
      where(not_equal(less(x, 0), less(y, 0)) & not_equal(x, 0), full_like(x, -1), zeros_like(x));
  const Tensor finite = where(isinf(y) & is_finite(x), below, whole);
  // By 0: an infinity or NaN, which floor leaves as it is, but for its slope.
  const Tensor out = where(equal(y, 0), floor(quotient), finite);
  // Nothing above has a slope: a tape finds the way to x and y here, and 0 on it.
  const Tensor never = zeros({}, DType::kBool);
  return where(never, x, where(never, y, out));
}

Tensor clip(Operand x, Operand low, Operand high) {
  CallScope scope(x.at());
  const auto [operand, lower] = same_dtype("clip", x, low);
  const Tensor upper = same_dtype("clip", operand, high).second;
  const Shape shape =
      broadcast_shapes("clip", broadcast_shapes("clip", operand.shape(), lower.shape()), upper.shape());
  const auto bound = [&](const Tensor& value) {
    return value.shape().empty() ? value : broadcast_to(value, shape);
  };
  return clamp(bound(lower), broadcast_to(operand, shape), bound(upper));
}

}  // namespace espalier
