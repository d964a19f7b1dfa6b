#include "ops/composite/optimizer.h"

namespace espalier {
namespace {

enum Input : size_t { kParameter, kM, kV, kGradient, kRate, kStep, kScale, kApply, kCount };

struct AdamAttributes final : Attributes {
  AdamOptions options;
  void fields(FieldVisitor& v) override {
    v.field("beta_1", options.beta_1);
    v.field("beta_2", options.beta_2);
    v.field("epsilon", options.epsilon);
    v.field("weight_decay", options.weight_decay);
  }
};

void infer_adam(InferContext& c) {
  c.require_inputs(kCount);
  require_update(c, kGradient);
  require_scalar(c, kRate, DType::kF32, "the learning rate");
  require_scalar(c, kScale, DType::kF32, "the gradient scale");
  require_scalar(c, kApply, DType::kBool, "apply");
  const DType step = c.in(kStep).dtype;
  c.require_dtype(step == DType::kI32 || step == DType::kI64 || step == DType::kF32, "c4",
                  "the step must be i32, i64 or f32, got ", c.in(kStep));
  c.require(c.in(kStep).rank() == 0, "c4", "the step must be a scalar, got ", c.in(kStep));
  for (int i = 0; i < 3; ++i) c.result(c.in(0));
}

std::vector<Tensor> decompose_adam(const DecomposeContext& c) {
  const AdamOptions& a = c.attributes<AdamAttributes>().options;
  const DType dtype = compute_dtype(c.in(kParameter).dtype());
  const auto wide = [&](size_t i) { return convert(c.in(i), dtype); };
  const Tensor rate = wide(kRate), step = wide(kStep);
  const auto one_minus_power = [&](double beta) {
    return negate(exponential_minus_one(step * std::log(beta)));
  };
  const Tensor alpha = rate * sqrt(one_minus_power(a.beta_2)) / one_minus_power(a.beta_1);
  const Tensor g = wide(kGradient) * wide(kScale), m_old = wide(kM), v_old = wide(kV);
  const Tensor m = m_old + (g - m_old) * (1 - a.beta_1);
  const Tensor v = v_old + (g * g - v_old) * (1 - a.beta_2);
  Tensor p = wide(kParameter);
  if (a.weight_decay != 0) p = p - p * (rate * a.weight_decay);
  p = p - m * alpha / (sqrt(v) + a.epsilon);
  return {applied(c.in(kApply), p, c.in(kParameter)), applied(c.in(kApply), m, c.in(kM)),
          applied(c.in(kApply), v, c.in(kV))};
}

void eval_adam(EvalContext& c) {
  if (!*c.in(kApply).as<bool>()) return keep(c);
  const AdamOptions& a = c.attributes<AdamAttributes>().options;
  visit_update(c, kGradient, [&](auto parameter_tag, auto gradient_tag) {
    using T = typename decltype(parameter_tag)::type;
    using G = typename decltype(gradient_tag)::type;
    using F = Compute<T>;
    const F rate = scalar_of<F>(c.in(kRate)), step = scalar_of<F>(c.in(kStep));
    const F scale = scalar_of<F>(c.in(kScale));
    const auto one_minus_power = [&](double beta) {
      return -std::expm1(step * static_cast<F>(std::log(beta)));
    };
    const F alpha = rate * std::sqrt(one_minus_power(a.beta_2)) / one_minus_power(a.beta_1);
    const F decay = rate * static_cast<F>(a.weight_decay), epsilon = static_cast<F>(a.epsilon);
    const F keep_1 = static_cast<F>(1 - a.beta_1), keep_2 = static_cast<F>(1 - a.beta_2);
    const T *p = c.in(kParameter).as<T>(), *m = c.in(kM).as<T>(), *v = c.in(kV).as<T>();
    const G* gradient = c.in(kGradient).as<G>();
    T *p_out = c.out(0).as<T>(), *m_out = c.out(1).as<T>(), *v_out = c.out(2).as<T>();
    const int64_t n = c.in(kParameter).type->elements();
    for (int64_t i = 0; i < n; ++i) {
      const F g = static_cast<F>(gradient[i]) * scale, m_old = static_cast<F>(m[i]),
              v_old = static_cast<F>(v[i]);
      const F m_new = m_old + (g - m_old) * keep_1;
      const F v_new = v_old + (g * g - v_old) * keep_2;
      F x = static_cast<F>(p[i]);
      if (a.weight_decay != 0) x = x - x * decay;
      p_out[i] = static_cast<T>(x - m_new * alpha / (std::sqrt(v_new) + epsilon));
      m_out[i] = static_cast<T>(m_new);
      v_out[i] = static_cast<T>(v_new);
    }
  });
}

}  // namespace

const OpDef op_adam = {
    .name = "adam",
    .doc =
        "One step of Adam as Keras writes it. Inputs: parameter, m, v, gradient, learning_rate, step (1 "
        "first), gradient_scale, apply; results: parameter, m, v, unchanged when `apply` is false. With g = "
        "gradient * gradient_scale: m += (g - m)(1 - beta_1), v += (g g - v)(1 - beta_2), parameter -= "
        "parameter * learning_rate * weight_decay, then parameter -= m alpha / (sqrt v + epsilon), where "
        "alpha = learning_rate sqrt(1 - beta_2^step) / (1 - beta_1^step). Computed in f32, or f64 for f64, "
        "and rounded once a result. c1: floating-point parameter. c2: gradient of its shape. c3: m, v of its "
        "type. c4: scalars: f32 learning_rate and gradient_scale, i32, i64 or f32 step, bool apply.",
    .composite = true,
    .attributes = make_attributes<AdamAttributes>,
    .infer = infer_adam,
    .eval = eval_adam,
    .decompose = decompose_adam,
    .flops_per_output = 5,
    .sample =
        [](DType dtype) {
          const Tensor x = full({2}, 1, dtype);
          adam(x, x, x, x, 0.1, 1);
        },
};

std::vector<Tensor> adam(Operand parameter, Operand m, Operand v, Operand gradient, Operand learning_rate,
                         Operand step, Operand gradient_scale, Operand apply, const AdamOptions& options) {
  CallScope scope(parameter.at());
  auto attributes = std::make_shared<AdamAttributes>();
  attributes->options = options;
  const Tensor inputs[kCount] = {parameter.tensor(),
                                 m.tensor(),
                                 v.tensor(),
                                 gradient.tensor(),
                                 learning_rate.as(DType::kF32),
                                 step.as(DType::kI64),
                                 gradient_scale.as(DType::kF32),
                                 apply.as(DType::kBool)};
  return emit_all(op_adam, attributes, inputs);
}

}  // namespace espalier
