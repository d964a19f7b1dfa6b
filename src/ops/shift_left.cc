#include "ops/elementwise.h"

namespace espalier {
namespace {

struct ShiftLeftApply {
  template <class T>
  static T apply(T a, T b) {
    using U = std::make_unsigned_t<T>;
    return static_cast<U>(b) >= sizeof(T) * 8 ? T(0) : static_cast<T>(static_cast<Wrapping<T>>(a) << b);
  }
};

}  // namespace

const OpDef op_shift_left = {
    .name = "shift_left",
    .doc =
        "a shifted left by b bits; 0 when b is outside of [0, width). c1: integer elements. c2: operands "
        "have one type.",
    .infer = infer_binary<kIntegers>,
    .eval = eval_binary<ShiftLeftApply, kIntegers>,
    .no_gradient = "integers have no gradient",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor shift_left(Operand a, Operand b) { return binary(op_shift_left, a, b); }

}  // namespace espalier
