#include "ops/elementwise.h"
#include "ops/reducer.h"

namespace espalier {
namespace {

struct MaximumApply {
  template <class T>
  static T apply(T a, T b) {
    return combine<Reducer::kMax>(a, b);
  }
};

void gradient_maximum(GradientContext& c) {
  const Tensor half = c.cotangent() * 0.5;
  const Tensor zero = constant_like(half.type(), 0);
  const Tensor tie = compare(c.in(0), c.in(1), Comparison::kEQ);
  const auto winner = [&](Comparison wins) {
    return select(tie, half, select(compare(c.in(0), c.in(1), wins), c.cotangent(), zero));
  };
  if (c.wants(0)) c.set(0, winner(Comparison::kGT));
  if (c.wants(1)) c.set(1, winner(Comparison::kLT));
}

}  // namespace

const OpDef op_maximum = {
    .name = "maximum",
    .doc =
        "The larger of a and b; NaN wins, -0 is below +0. At a tie each side gets half of the gradient. c1: "
        "any elements. c2: operands have one type.",
    .infer = infer_binary<kAnyDType>,
    .eval = eval_binary<MaximumApply, kAnyDType>,
    .gradient = gradient_maximum,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 1,
};

Tensor maximum(Operand a, Operand b) { return binary(op_maximum, a, b); }

}  // namespace espalier
