#include "ops/composite/formula.h"

namespace espalier {
namespace {

struct EluAttributes final : Attributes {
  double alpha = 1;
  void fields(FieldVisitor& v) override { v.field("alpha", alpha); }
};

void eval_elu(EvalContext& c) {
  const double alpha = c.attributes<EluAttributes>().alpha;
  visit_float(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using F = Compute<T>;
    const T* x = c.in(0).as<T>();
    T* out = c.out(0).as<T>();
    const int64_t n = c.out(0).type->elements();
    for (int64_t i = 0; i < n; ++i)
      out[i] = F(x[i]) > 0 ? x[i] : static_cast<T>(F(alpha) * std::expm1(F(x[i])));
  });
}

std::vector<Tensor> decompose_elu(const DecomposeContext& c) {
  const double alpha = c.attributes<EluAttributes>().alpha;
  return {widened(
      [alpha](const Tensor& x) {
        const Tensor above = compare(x, 0, Comparison::kGT);
        return select(above, x, exponential_minus_one(guarded(bitwise_not(above), x, 0)) * alpha);
      },
      c.in(0))};
}

void gradient_elu(GradientContext& c) {
  const Tensor above = compare(c.in(0), 0, Comparison::kGT);
  const Tensor slope =
      exponential(guarded(bitwise_not(above), c.in(0), 0)) * c.attributes<EluAttributes>().alpha;
  c.set(0, c.cotangent() * guarded(bitwise_not(above), slope, 1));
}

}  // namespace

const OpDef op_elu = {
    .name = "elu",
    .doc = "x above 0, alpha (exp(x) - 1) below. The gradient at 0 is alpha. c1: floating-point elements.",
    .composite = true,
    .attributes = make_attributes<EluAttributes>,
    .infer = infer_unary<kFloats>,
    .eval = eval_elu,
    .decompose = decompose_elu,
    .gradient = gradient_elu,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 14,
};

Tensor elu(Operand x, double alpha) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<EluAttributes>();
  attributes->alpha = alpha;
  return emit(op_elu, attributes, {x.tensor()});
}

}  // namespace espalier
