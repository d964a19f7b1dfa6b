#include "ops/elementwise.h"

namespace espalier {
namespace {

struct MulhiApply {
  template <class T>
  static T apply(T a, T b) {
    using Wide = std::conditional_t<sizeof(T) == 8,
                                    std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
                                    std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
    return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b) >> (sizeof(T) * 8));
  }
};

// The upper half by schoolbook multiplication of 32-bit halves. Upper halves carry the sign.
Tensor high_of_64(const Tensor& a, const Tensor& b) {
  const bool is_signed = is_signed_integer(a.dtype());
  const auto upper = [&](const Tensor& x) {
    return is_signed ? shift_right_arithmetic(x, 32) : shift_right_logical(x, 32);
  };
  const auto lower = [](const Tensor& x) { return bitwise_and(x, int64_t{0xffffffff}); };
  const Tensor a0 = lower(a), a1 = upper(a), b0 = lower(b), b1 = upper(b);
  const Tensor first = a1 * b0 + shift_right_logical(a0 * b0, 32);
  const Tensor second = a0 * b1 + lower(first);
  return a1 * b1 + upper(first) + upper(second);
}

std::vector<Tensor> decompose_mulhi(const DecomposeContext& c) {
  const DType dtype = c.in(0).dtype();
  if (size_of(dtype) == 8) return {high_of_64(c.in(0), c.in(1))};
  const DType wide = is_signed_integer(dtype) ? DType::kI64 : DType::kU64;
  const Tensor product = convert(c.in(0), wide) * convert(c.in(1), wide);
  return {convert(shift_right_logical(product, static_cast<int64_t>(size_of(dtype) * 8)), dtype)};
}

}  // namespace

const OpDef op_mulhi = {
    .name = "mulhi",
    .doc =
        "The upper half of the product a * b of twice the width. c1: integer elements. c2: operands have one "
        "type.",
    .composite = true,
    .infer = infer_binary<kIntegers>,
    .eval = eval_binary<MulhiApply, kIntegers>,
    .decompose = decompose_mulhi,
    .no_gradient = "integers have no gradient",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 2,
};

Tensor mulhi(Operand a, Operand b) { return binary(op_mulhi, a, b); }

}  // namespace espalier
