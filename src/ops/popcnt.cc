#include "ops/elementwise.h"

namespace espalier {
namespace {

struct PopcntApply {
  template <class T>
  static T apply(T x) {
    return static_cast<T>(std::popcount(static_cast<std::make_unsigned_t<T>>(x)));
  }
};

}  // namespace

const OpDef op_popcnt = {
    .name = "popcnt",
    .doc = "Number of bits set. c1: integer elements.",
    .infer = infer_unary<kIntegers>,
    .eval = eval_unary<PopcntApply, kIntegers>,
    .no_gradient = "integers have no gradient",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor popcnt(Operand x) { return unary(op_popcnt, x); }

}  // namespace espalier
