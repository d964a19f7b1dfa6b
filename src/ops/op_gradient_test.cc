#include <algorithm>
#include <random>

#include "ops/op_checks_test.h"

namespace espalier {
namespace {

constexpr double kStep = 1e-5;

// Draws, weights and derivatives of one case in f64: F(x) = sum of <weight_k, result_k(x)>.
class GradientCheck {
 public:
  explicit GradientCheck(const OpCase& c) : case_(c), random_(7) {
    inputs_ = draw_inputs(c, DType::kF64, 3);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].dtype() == DType::kF64 && c.inputs[i].differentiable) sources_.push_back(i);
    }
    for (const Tensor& result : c.call(inputs_, DType::kF64))
      weights_.push_back(result.dtype() == DType::kF64 ? random_like(result.type()) : Tensor());
  }

  bool applies() const {
    return !sources_.empty() &&
           std::any_of(weights_.begin(), weights_.end(), [](const Tensor& w) { return w.defined(); });
  }

  void first_order() {
    std::vector<Tensor> direction;
    for (const size_t i : sources_) direction.push_back(random_like(inputs_[i].type()));
    const std::vector<Tensor> gradients = gradient(inputs_, weights_);
    expect_near(inner(gradients, direction), difference(direction), "gradient along a direction");
    for (size_t s = 0; s < sources_.size(); ++s) {
      const TensorType& type = inputs_[sources_[s]].type();
      if (type.elements() > 64) continue;
      const Array found = to_array(gradients[s]);
      for (int64_t k = 0; k < type.elements(); ++k) {
        for (size_t t = 0; t < sources_.size(); ++t) {
          const TensorType& other = inputs_[sources_[t]].type();
          std::vector<double> unit(static_cast<size_t>(other.elements()), 0.0);
          if (s == t) unit[static_cast<size_t>(k)] = 1;
          direction[t] = to_tensor(other, unit);
        }
        expect_near(found.values[static_cast<size_t>(k)], difference(direction),
                    cat("gradient of input ", sources_[s], ", element ", k));
      }
    }
  }

  // G(x, w) = <gradient of F, direction>; its derivative along random directions of x and of the weights.
  void second_order() {
    std::vector<Tensor> direction, dx, dw;
    for (const size_t i : sources_) {
      direction.push_back(random_like(inputs_[i].type()));
      dx.push_back(random_like(inputs_[i].type()));
    }
    for (const Tensor& w : weights_) dw.push_back(w.defined() ? random_like(w.type()) : Tensor());

    CallLog log;
    const std::vector<Tensor> gradients = reverse_of(inputs_, weights_, log);
    std::vector<Tensor> targets, cotangents, sources;
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined()) continue;
      targets.push_back(gradients[i]);
      cotangents.push_back(direction[i]);
    }
    for (const size_t i : sources_) sources.push_back(inputs_[i]);
    for (const Tensor& w : weights_) {
      if (w.defined()) sources.push_back(w);
    }
    const std::vector<TapeEntry> calls = log.calls;
    const std::vector<Tensor> seconds = reverse(calls, targets, cotangents, sources);
    std::vector<Tensor> along = dx;
    for (const Tensor& w : dw) {
      if (w.defined()) along.push_back(w);
    }
    const auto value = [&](double step) {
      const auto weights = moved(weights_, dw, step);
      return inner(gradient(moved_inputs(dx, step), weights), direction);
    };
    expect_near(inner(seconds, along), (value(kStep) - value(-kStep)) / (2 * kStep), "second order");
  }

 private:
  Tensor random_like(const TensorType& type) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<double> values;
    for (int64_t i = 0; i < type.elements(); ++i) values.push_back(uniform(random_));
    return to_tensor(type, values);
  }

  static double inner(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!a[i].defined() || !b[i].defined()) continue;
      const Array x = to_array(a[i]), y = to_array(b[i]);
      for (size_t k = 0; k < x.values.size(); ++k) sum += x.values[k] * y.values[k];
    }
    return sum;
  }

  static std::vector<Tensor> moved(const std::vector<Tensor>& from, const std::vector<Tensor>& direction,
                                   double step) {
    std::vector<Tensor> out = from;
    for (size_t i = 0; i < from.size(); ++i) {
      if (!from[i].defined()) continue;
      Array x = to_array(from[i]);
      const Array d = to_array(direction[i]);
      for (size_t k = 0; k < x.values.size(); ++k) x.values[k] += step * d.values[k];
      out[i] = to_tensor(x.type, x.values);
    }
    return out;
  }

  std::vector<Tensor> moved_inputs(const std::vector<Tensor>& direction, double step) const {
    std::vector<Tensor> chosen, out = inputs_;
    for (const size_t i : sources_) chosen.push_back(inputs_[i]);
    chosen = moved(chosen, direction, step);
    for (size_t i = 0; i < sources_.size(); ++i) out[sources_[i]] = chosen[i];
    return out;
  }

  double difference(const std::vector<Tensor>& direction) const {
    const auto value = [&](double step) {
      return inner(case_.call(moved_inputs(direction, step), DType::kF64), weights_);
    };
    return (value(kStep) - value(-kStep)) / (2 * kStep);
  }

  // Gradients of F at `inputs`, an undefined one where F does not depend on the input; every call goes to
  // `log`.
  std::vector<Tensor> reverse_of(const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights,
                                 CallLog& log) const {
    const std::vector<Tensor> results = case_.call(inputs, DType::kF64);
    std::vector<Tensor> targets, cotangents, sources;
    for (size_t i = 0; i < results.size(); ++i) {
      if (!weights[i].defined()) continue;
      targets.push_back(results[i]);
      cotangents.push_back(weights[i]);
    }
    for (const size_t i : sources_) sources.push_back(inputs[i]);
    const std::vector<TapeEntry> calls = log.calls;
    return reverse(calls, targets, cotangents, sources);
  }

  std::vector<Tensor> gradient(const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights) const {
    CallLog log;
    std::vector<Tensor> out = reverse_of(inputs, weights, log);
    for (size_t i = 0; i < out.size(); ++i) {
      if (!out[i].defined()) out[i] = make_concrete(Literal::splat(inputs[sources_[i]].type(), 0.0));
    }
    return out;
  }

  static void expect_near(double found, double expected, const std::string& what) {
    ASSERT_NEAR(found, expected, 1e-6 * (1 + std::abs(expected))) << what;
  }

  const OpCase& case_;
  std::mt19937_64 random_;
  std::vector<Tensor> inputs_, weights_;
  std::vector<size_t> sources_;
};

std::vector<Tensor> call_rule(const TapeEntry& call, const std::vector<Tensor>& cotangents,
                              const std::vector<bool>& wanted) {
  GradientContext context;
  context.attribute_struct = call.attributes.get();
  context.attributes_ptr = call.attributes;
  context.inputs = call.inputs;
  context.outputs = call.outputs;
  context.cotangents = cotangents;
  context.regions = call.regions;
  context.wanted = wanted;
  context.gradients.resize(call.inputs.size());
  call.op->gradient(context);
  return context.gradients;
}

void expect_same_gradient(const Tensor& a, const Tensor& b, const TensorType& type, const std::string& what) {
  const Tensor zero = make_concrete(Literal::splat(type, 0.0));
  expect_close(a.defined() ? a : zero, to_array(b.defined() ? b : zero), {.ulp = 4, .absolute = 4}, what);
}

// An undefined cotangent counts as zeros, and what else is wanted does not matter.
void check_rule(const OpDef& op, const OpCase& c) {
  CallLog log(&op);
  c.call(draw_inputs(c, DType::kF64, 3), DType::kF64);
  const TapeEntry call = log.calls.at(0);
  std::vector<bool> wanted;
  for (const Tensor& input : call.inputs) wanted.push_back(is_float(input.dtype()));
  std::vector<Tensor> ones, zeros;
  for (const Tensor& output : call.outputs) {
    ones.push_back(make_concrete(Literal::splat(output.type(), 1.0)));
    zeros.push_back(make_concrete(Literal::splat(output.type(), 0.0)));
  }
  for (size_t k = 0; k < call.outputs.size(); ++k) {
    std::vector<Tensor> undefined = ones, zero = ones;
    undefined[k] = Tensor();
    zero[k] = zeros[k];
    const auto a = call_rule(call, undefined, wanted), b = call_rule(call, zero, wanted);
    for (size_t i = 0; i < a.size(); ++i) {
      if (wanted[i])
        expect_same_gradient(a[i], b[i], call.inputs[i].type(), cat("cotangent ", k, " undefined"));
    }
  }
  const auto all = call_rule(call, ones, wanted);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    std::vector<bool> one(wanted.size(), false);
    one[i] = true;
    expect_same_gradient(call_rule(call, ones, one)[i], all[i], call.inputs[i].type(),
                         cat("gradient of input ", i, " wanted alone"));
  }
}

}  // namespace

void check_gradient(const OpDef& op, const OpCase& c) {
  if (op.no_gradient || c.no_gradient) return;
  GradientCheck check(c);
  if (!check.applies()) return;
  check.first_order();
  if (!c.no_second_order) check.second_order();
  if (op.gradient) check_rule(op, c);
}

}  // namespace espalier
