#include "ops/composite/formula.h"

namespace espalier {
namespace {

struct LeakyAttributes final : Attributes {
  double negative_slope = 0.2;
  void fields(FieldVisitor& v) override { v.field("negative_slope", negative_slope); }
};

void eval_leaky_relu(EvalContext& c) {
  const double slope = c.attributes<LeakyAttributes>().negative_slope;
  visit_float(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using F = Compute<T>;
    const T* x = c.in(0).as<T>();
    T* out = c.out(0).as<T>();
    const int64_t n = c.out(0).type->elements();
    for (int64_t i = 0; i < n; ++i) out[i] = F(x[i]) > 0 ? x[i] : static_cast<T>(F(x[i]) * F(slope));
  });
}

std::vector<Tensor> decompose_leaky_relu(const DecomposeContext& c) {
  const double slope = c.attributes<LeakyAttributes>().negative_slope;
  return {widened([slope](const Tensor& x) { return select(compare(x, 0, Comparison::kGT), x, x * slope); },
                  c.in(0))};
}

void gradient_leaky_relu(GradientContext& c) {
  const Tensor scaled = c.cotangent() * c.attributes<LeakyAttributes>().negative_slope;
  c.set(0, select(compare(c.in(0), 0, Comparison::kGT), c.cotangent(), scaled));
}

}  // namespace

const OpDef op_leaky_relu = {
    .name = "leaky_relu",
    .doc =
        "x above 0, negative_slope * x below. The gradient at 0 is negative_slope. c1: floating-point "
        "elements.",
    .composite = true,
    .attributes = make_attributes<LeakyAttributes>,
    .infer = infer_unary<kFloats>,
    .eval = eval_leaky_relu,
    .decompose = decompose_leaky_relu,
    .gradient = gradient_leaky_relu,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 2,
};

Tensor leaky_relu(Operand x, double negative_slope) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<LeakyAttributes>();
  attributes->negative_slope = negative_slope;
  return emit(op_leaky_relu, attributes, {x.tensor()});
}

}  // namespace espalier
