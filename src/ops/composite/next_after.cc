#include "ops/elementwise.h"

namespace espalier {
namespace {

// All on the bits: a processor that flushes subnormal numbers does not change the result.
template <class T>
using Bits =
    std::conditional_t<sizeof(T) == 2, int16_t, std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>;

template <class T>
T next(T a, T b) {
  using S = Bits<T>;
  constexpr S kMagnitude = std::numeric_limits<S>::max();
  const S x = std::bit_cast<S>(a), y = std::bit_cast<S>(b);
  // Ordered as the floats are, both zeros being 0.
  const S from = static_cast<S>(x < 0 ? -(x & kMagnitude) : x),
          to = static_cast<S>(y < 0 ? -(y & kMagnitude) : y);
  if (std::isnan(static_cast<Compute<T>>(a))) return a;
  if (std::isnan(static_cast<Compute<T>>(b)) || from == to) return b;
  if (from == 0) return std::bit_cast<T>(static_cast<S>((y & std::numeric_limits<S>::min()) | 1));
  return std::bit_cast<T>(static_cast<S>((x < 0) == (to > from) ? x - 1 : x + 1));
}

void eval_next_after(EvalContext& c) {
  const int64_t n = c.out(0).type->elements();
  visit_float(c.out(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *a = c.in(0).as<T>(), *b = c.in(1).as<T>();
    T* out = c.out(0).as<T>();
    for (int64_t i = 0; i < n; ++i) out[i] = next(a[i], b[i]);
  });
}

std::vector<Tensor> decompose_next_after(const DecomposeContext& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  constexpr DType kBits[] = {DType::kI16, DType::kI32, DType::kI64};
  const DType bits = kBits[std::countr_zero(size_of(a.dtype())) - 1];
  const Tensor x = bitcast_convert(a, bits), y = bitcast_convert(b, bits), zero = constant_like(x.type(), 0);
  const Tensor sign = shift_left(constant_like(x.type(), 1), static_cast<int64_t>(size_of(bits) * 8 - 1));
  const auto ordered = [&](const Tensor& t) {
    return select(compare(t, zero, Comparison::kLT), -bitwise_and(t, bitwise_not(sign)), t);
  };
  const Tensor from = ordered(x), to = ordered(y);
  const Tensor shrinks =
      compare(compare(x, zero, Comparison::kLT), compare(to, from, Comparison::kGT), Comparison::kEQ);
  const Tensor smallest = bitwise_or(bitwise_and(y, sign), 1);
  const Tensor moved = select(compare(from, zero, Comparison::kEQ), smallest, select(shrinks, x - 1, x + 1));
  const Tensor stays = bitwise_or(compare(from, to, Comparison::kEQ), compare(b, b, Comparison::kNE));
  const Tensor result =
      select(compare(a, a, Comparison::kNE), a, select(stays, b, bitcast_convert(moved, a.dtype())));
  return {result};
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
    .eval = eval_next_after,
    .decompose = decompose_next_after,
    .no_gradient = "a step on the grid of floats",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 10,
};

Tensor next_after(Operand a, Operand b) { return binary(op_next_after, a, b); }

}  // namespace espalier
