#include "ops/elementwise.h"

namespace espalier {
namespace {

struct NotApply {
  template <class T>
  static T apply(T x) {
    if constexpr (std::is_same_v<T, bool>) {
      return !x;
    } else {
      return static_cast<T>(~x);
    }
  }
};

}  // namespace

const OpDef op_not = {
    .name = "not",
    .doc = "Not x: logical on bool, bitwise on integers. c1: bool or integer elements.",
    .infer = infer_unary<kIntegers | kBools>,
    .eval = eval_unary<NotApply, kIntegers | kBools>,
    .no_gradient = "integers have no gradient",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor bitwise_not(Operand x) { return unary(op_not, x); }

}  // namespace espalier
