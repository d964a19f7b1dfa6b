#include "ops/elementwise.h"

namespace espalier {
namespace {

struct AndApply {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};

}  // namespace

const OpDef op_and = {
    .name = "and",
    .doc =
        "a and b: logical on bool, bitwise on integers. c1: bool or integer elements. c2: operands have one "
        "type.",
    .infer = infer_binary<kIntegers | kBools>,
    .eval = eval_binary<AndApply, kIntegers | kBools>,
    .no_gradient = "integers have no gradient",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor bitwise_and(Operand a, Operand b) { return binary(op_and, a, b); }

}  // namespace espalier
