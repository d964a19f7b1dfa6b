#include "ops/elementwise.h"

namespace espalier {
namespace {

struct ShiftRightArithmeticApply {
  template <class T>
  static T apply(T a, T b) {
    using U = std::make_unsigned_t<T>;
    using S = std::make_signed_t<T>;
    constexpr U kWidth = sizeof(T) * 8;
    const int count = static_cast<U>(b) < kWidth ? static_cast<int>(b) : static_cast<int>(kWidth) - 1;
    return static_cast<T>(static_cast<S>(a) >> count);
  }
};

}  // namespace

const OpDef op_shift_right_arithmetic = {
    .name = "shift_right_arithmetic",
    .doc =
        "a shifted right by b bits, copies of the sign bit enter; all of them when b is outside of [0, "
        "width). c1: integer elements. c2: operands have one type.",
    .infer = infer_binary<kIntegers>,
    .eval = eval_binary<ShiftRightArithmeticApply, kIntegers>,
    .no_gradient = "integers have no gradient",
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor shift_right_arithmetic(Operand a, Operand b) { return binary(op_shift_right_arithmetic, a, b); }

}  // namespace espalier
