#include "ops/composite/optimizer.h"

namespace espalier {
namespace {

struct SgdAttributes final : Attributes {
  SgdOptions options;
  void fields(FieldVisitor& v) override {
    v.field("momentum", options.momentum);
    v.field("nesterov", options.nesterov);
    v.field("weight_decay", options.weight_decay);
  }
  // Without momentum there is no velocity among the inputs.
  size_t gradient() const { return options.momentum == 0 ? 1 : 2; }
  size_t rate() const { return gradient() + 1; }
  size_t scale() const { return gradient() + 2; }
  size_t apply() const { return gradient() + 3; }
};

void infer_sgd(InferContext& c) {
  const auto& a = c.attributes<SgdAttributes>();
  c.require_inputs(a.apply() + 1);
  require_update(c, a.gradient());
  require_scalar(c, a.rate(), DType::kF32, "the learning rate");
  require_scalar(c, a.scale(), DType::kF32, "the gradient scale");
  require_scalar(c, a.apply(), DType::kBool, "apply");
  for (size_t i = 0; i < a.gradient(); ++i) c.result(c.in(0));
}

std::vector<Tensor> decompose_sgd(const DecomposeContext& c) {
  const auto& a = c.attributes<SgdAttributes>();
  const DType dtype = compute_dtype(c.in(0).dtype());
  const auto wide = [&](size_t i) { return convert(c.in(i), dtype); };
  const Tensor rate = wide(a.rate()), apply = c.in(a.apply());
  const Tensor change = wide(a.gradient()) * wide(a.scale()) * rate;
  Tensor p = wide(0);
  if (a.options.weight_decay != 0) p = p - p * (rate * a.options.weight_decay);
  if (a.options.momentum == 0) return {applied(apply, p - change, c.in(0))};
  const Tensor velocity = wide(1) * a.options.momentum - change;
  p = p + (a.options.nesterov ? velocity * a.options.momentum - change : velocity);
  return {applied(apply, p, c.in(0)), applied(apply, velocity, c.in(1))};
}

void eval_sgd(EvalContext& c) {
  const auto& a = c.attributes<SgdAttributes>();
  if (!*c.in(a.apply()).as<bool>()) return keep(c);
  visit_update(c, a.gradient(), [&](auto parameter_tag, auto gradient_tag) {
    using T = typename decltype(parameter_tag)::type;
    using G = typename decltype(gradient_tag)::type;
    using F = Compute<T>;
    const F rate = scalar_of<F>(c.in(a.rate())), scale = scalar_of<F>(c.in(a.scale()));
    const F decay = rate * static_cast<F>(a.options.weight_decay);
    const F momentum = static_cast<F>(a.options.momentum);
    const T* p = c.in(0).as<T>();
    const G* gradient = c.in(a.gradient()).as<G>();
    const int64_t n = c.in(0).type->elements();
    for (int64_t i = 0; i < n; ++i) {
      const F change = static_cast<F>(gradient[i]) * scale * rate;
      F x = static_cast<F>(p[i]);
      if (a.options.weight_decay != 0) x = x - x * decay;
      if (a.options.momentum == 0) {
        x = x - change;
      } else {
        const F velocity = static_cast<F>(c.in(1).as<T>()[i]) * momentum - change;
        x = x + (a.options.nesterov ? velocity * momentum - change : velocity);
        c.out(1).as<T>()[i] = static_cast<T>(velocity);
      }
      c.out(0).as<T>()[i] = static_cast<T>(x);
    }
  });
}

}  // namespace

const OpDef op_sgd = {
    .name = "sgd",
    .doc =
        "One step of gradient descent as Keras writes it. Inputs: parameter, velocity (only with momentum), "
        "gradient, learning_rate, gradient_scale, apply; results: parameter and, with momentum, velocity, "
        "unchanged when `apply` is false. With d = gradient * gradient_scale * learning_rate: parameter -= "
        "parameter * learning_rate * weight_decay; then parameter -= d, or with momentum velocity = momentum "
        "velocity - d and parameter += velocity, or by Nesterov parameter += momentum velocity - d. Computed "
        "in f32, or f64 for f64, and rounded once a result. c1: floating-point parameter. c2: gradient of "
        "its shape. c3: velocity of its type. c4: scalars: f32 learning_rate and gradient_scale, bool apply.",
    .composite = true,
    .attributes = make_attributes<SgdAttributes>,
    .infer = infer_sgd,
    .eval = eval_sgd,
    .decompose = decompose_sgd,
    .flops_per_output = 3,
    .sample =
        [](DType dtype) {
          const Tensor x = full({2}, 1, dtype);
          sgd(x, x, x, 0.1);
        },
};

std::vector<Tensor> sgd(Operand parameter, Operand velocity, Operand gradient, Operand learning_rate,
                        Operand gradient_scale, Operand apply, const SgdOptions& options) {
  CallScope scope(parameter.at());
  auto attributes = std::make_shared<SgdAttributes>();
  attributes->options = options;
  std::vector<Tensor> inputs{parameter.tensor()};
  if (options.momentum != 0) inputs.push_back(velocity.tensor());
  inputs.insert(inputs.end(), {gradient.tensor(), learning_rate.as(DType::kF32),
                               gradient_scale.as(DType::kF32), apply.as(DType::kBool)});
  return emit_all(op_sgd, attributes, inputs);
}

}  // namespace espalier
