#include "base/elementary.h"
#include "ops/composite/slopes.h"

namespace espalier {
namespace {

constexpr double kRootHalf = 0.7071067811865476, kRootTwoOverPi = 0.7978845608028654, kCubic = 0.044715;
constexpr double kDensityAtZero = 0.3989422804014327;

struct GeluAttributes final : Attributes {
  bool approximate = false;
  void fields(FieldVisitor& v) override { v.field("approximate", approximate); }
};

void eval_gelu(EvalContext& c) {
  const bool approximate = c.attributes<GeluAttributes>().approximate;
  visit_float(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using F = Compute<T>;
    const T* in = c.in(0).as<T>();
    T* out = c.out(0).as<T>();
    const int64_t n = c.out(0).type->elements();
    for (int64_t i = 0; i < n; ++i) {
      const F x = in[i];
      out[i] = static_cast<T>(approximate ? elementary_gelu_by_tanh(x)
                                          : x * F(0.5) * std::erfc(x * -F(kRootHalf)));
    }
  });
}

Tensor exact(const Tensor& x) { return x * 0.5 * erfc(x * -kRootHalf); }
Tensor inner(const Tensor& x) { return (x + x * kCubic * x * x) * kRootTwoOverPi; }
Tensor by_tanh(const Tensor& x) { return x * 0.5 * (tanh(inner(x)) + 1); }

std::vector<Tensor> decompose_gelu(const DecomposeContext& c) {
  return {widened(c.attributes<GeluAttributes>().approximate ? by_tanh : exact, c.in(0))};
}

Tensor exact_slope(const Tensor& x) {
  return erfc(x * -kRootHalf) * 0.5 + x * exponential(x * x * -0.5) * kDensityAtZero;
}
// logistic(2 u) is (1 + tanh(u)) / 2 without a difference of numbers near 1.
Tensor slope_by_tanh(const Tensor& x) {
  const Tensor u = inner(x);
  const Tensor steepness = (x * x * (3 * kCubic) + 1) * kRootTwoOverPi;
  return logistic(u * 2) + x * 0.5 * tanh_slope(u) * steepness;
}

void gradient_gelu(GradientContext& c) {
  const auto slope = c.attributes<GeluAttributes>().approximate ? slope_by_tanh : exact_slope;
  c.set(0, c.cotangent() * widened(slope, c.in(0)));
}

}  // namespace

const OpDef op_gelu = {
    .name = "gelu",
    .doc =
        "x times the standard normal distribution function of x: x / 2 erfc(-x / sqrt(2)). `approximate`: x "
        "/ 2 "
        "(1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). c1: floating-point elements.",
    .composite = true,
    .attributes = make_attributes<GeluAttributes>,
    .infer = infer_unary<kFloats>,
    .eval = eval_gelu,
    .decompose = decompose_gelu,
    .gradient = gradient_gelu,
    .batch = batch_elementwise,
    .fusion = Fusion::kElementwise,
    .flops_per_output = 25,
};

Tensor gelu(Operand x, bool approximate) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<GeluAttributes>();
  attributes->approximate = approximate;
  return emit(op_gelu, attributes, {x.tensor()});
}

}  // namespace espalier
