#include "ops/elementwise.h"

namespace espalier {
namespace {

struct PowerApply {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_signed_v<T>) {
        if (b < 0) return a == 1 ? T(1) : a == -1 ? static_cast<T>(b % 2 ? -1 : 1) : T(0);
      }
      Wrapping<T> base = static_cast<Wrapping<T>>(a), out = 1;
      for (auto rest = static_cast<std::make_unsigned_t<T>>(b); rest; rest >>= 1, base *= base) {
        if (rest & 1) out *= base;
      }
      return static_cast<T>(out);
    } else {
      return std::pow(a, b);
    }
  }
};

void gradient_power(GradientContext& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  const Tensor zero = constant_like(a.type(), 0), one = constant_like(a.type(), 1);
  if (c.wants(0)) {
    const Tensor flat = compare(b, zero, Comparison::kEQ);
    c.set(0, select(flat, zero, c.cotangent() * b * power(a, select(flat, one, b - one))));
  }
  if (c.wants(1)) {
    // 0^b is 0 for every b above 0, and infinite below, where it stays so.
    const Tensor origin = bitwise_and(compare(a, zero, Comparison::kEQ), compare(b, zero, Comparison::kGE));
    c.set(1, c.cotangent() * c.out(0) * log(select(origin, one, a)));
  }
}

}  // namespace

const OpDef op_power = {
    .name = "power",
    .doc =
        "a to the power of b, as C's pow on floats. Integers wrap; a negative exponent gives 1 / a^|b| "
        "toward zero, and 0 for a = 0. The gradient for b at a = 0 is 0, for b < 0 -inf; for a at b = 0 it "
        "is 0. c1: "
        "floating-point or integer elements. c2: operands have one type.",
    .infer = infer_binary<kNumbers>,
    .eval = eval_binary<PowerApply, kNumbers>,
    .gradient = gradient_power,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 30,
};

Tensor power(Operand a, Operand b) { return binary(op_power, a, b); }

}  // namespace espalier
