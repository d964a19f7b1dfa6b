#include "ops/elementwise.h"

namespace espalier {
namespace {

struct CountLeadingZerosApply {
  template <class T>
  static T apply(T x) {
    return static_cast<T>(std::countl_zero(static_cast<std::make_unsigned_t<T>>(x)));
  }
};

}  // namespace

const OpDef op_count_leading_zeros = {
    .name = "count_leading_zeros",
    .doc = "Number of zero bits above the highest bit set; the width for 0. c1: integer elements.",
    .infer = infer_unary<kIntegers>,
    .eval = eval_unary<CountLeadingZerosApply, kIntegers>,
    .no_gradient = "integers have no gradient",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor count_leading_zeros(Operand x) { return unary(op_count_leading_zeros, x); }

}  // namespace espalier
