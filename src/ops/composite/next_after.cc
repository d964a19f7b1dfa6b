#include "ops/elementwise.h"

namespace espalier {
namespace {

// On the bits of floats: away from zero is plus one, toward it minus one.
template <class U>
U step(U x, U y, bool toward_zero) {
  constexpr U kSign = static_cast<U>(U{1} << (sizeof(U) * 8 - 1));
  if ((x & ~kSign) == 0) return static_cast<U>((y & kSign) | 1);
  return static_cast<U>(toward_zero ? x - 1 : x + 1);
}

void eval(EvalContext& c) {
  const int64_t n = c.out(0).type->elements();
  visit_float(c.out(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using U =
        std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
    const T *a = c.in(0).as<T>(), *b = c.in(1).as<T>();
    T* out = c.out(0).as<T>();
    for (int64_t i = 0; i < n; ++i) {
      const Compute<T> x = a[i], y = b[i];
      if (std::isnan(x) || std::isnan(y)) {
        out[i] = static_cast<T>(x + y);
      } else if (x == y) {
        out[i] = b[i];
      } else {
        out[i] = std::bit_cast<T>(step(std::bit_cast<U>(a[i]), std::bit_cast<U>(b[i]), (x > 0) == (y < x)));
      }
    }
  });
}

std::vector<Tensor> decompose(const DecomposeContext& c) {
  const Tensor &x = c.in(0), &y = c.in(1);
  constexpr DType kBits[] = {DType::kU16, DType::kU32, DType::kU64};
  const DType bits = kBits[std::countr_zero(size_of(x.dtype())) - 1];
  const Tensor zero = constant_like(x.type(), 0);
  const Tensor from = bitcast_convert(x, bits), to = bitcast_convert(y, bits);
  const Tensor sign = shift_left(constant_like(from.type(), 1), static_cast<int64_t>(size_of(bits) * 8 - 1));
  const Tensor smallest = bitwise_or(bitwise_and(to, sign), 1);
  const Tensor toward_zero =
      compare(compare(x, zero, Comparison::kGT), compare(y, x, Comparison::kLT), Comparison::kEQ);
  const Tensor stepped = select(toward_zero, from - 1, from + 1);
  const Tensor moved =
      bitcast_convert(select(compare(x, zero, Comparison::kEQ), smallest, stepped), x.dtype());
  const Tensor is_nan = bitwise_or(compare(x, x, Comparison::kNE), compare(y, y, Comparison::kNE));
  return {select(is_nan, x + y, select(compare(x, y, Comparison::kEQ), y, moved))};
}

}  // namespace

const OpDef op_next_after = {
    .name = "next_after",
    .doc =
        "The neighbour of a toward b among the values of the dtype; b where they are equal, NaN where one "
        "is. "
        "c1: floating-point elements. c2: operands have one type.",
    .composite = true,
    .infer = infer_binary<kFloats>,
    .eval = eval,
    .decompose = decompose,
    .no_gradient = "a step on the grid of floats",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 10,
};

Tensor next_after(Operand a, Operand b) { return binary(op_next_after, a, b); }

}  // namespace espalier
