#include <algorithm>

#include "espalier/tape.h"
#include "nn/build_transaction.h"
#include "nn/row_weight.h"
#include "optim/rule.h"
#include "train/output_makers.h"
#include "train/step.h"

namespace espalier {
namespace {

// The arguments of a step.
struct Parts {
  std::span<const Tensor> x, y;
  const Tensor& row_weight;
};
Parts parts(std::span<const Tensor> in, size_t labels) {
  const size_t inputs = in.size() - labels - 1;
  return {in.first(inputs), in.subspan(inputs, labels), in.back()};
}

// What layers that couple rows see of a step's.
Tensor rows_that_count(const Tensor& row_weight) {
  return SomeRowsCount::current() ? convert(compare(row_weight, 0, Comparison::kNE), DType::kF32) : Tensor();
}

void require_own(const std::vector<Variable>& read, const std::vector<Variable>& own) {
  for (const Variable& variable : read) {
    const auto same = [&](const Variable& other) { return other.state() == variable.state(); };
    if (std::none_of(own.begin(), own.end(), same)) {
      throw StateError("fit.variable",
                       cat("the model reads the trainable variable \"", variable.path(),
                           "\", which is none of its own, so it would not be trained"),
                       "make it in build() with add_weight, or set_trainable(false)");
    }
  }
}

// Gradients in float16 become 0 without a word.
void require_scale(const Model& model, bool scaled) {
  if (scaled || !model.computes_in(DType::kF16)) return;
  throw StateError(
      "fit.loss_scale",
      cat("layers of model \"", model.path(),
          "\" compute in float16, where gradients below 6e-8 are 0, and it has no loss scale"),
      "compile with .loss_scale = LossScale{}, or make the model under the policy mixed_float16");
}

// Without one fit would say how good the model is, again and again.
void require_weights(const Model& model, const std::vector<Variable>& weights) {
  const size_t frozen = model.made_trainable().size();
  if (!weights.empty() || (frozen == 0 && model.can_be_trained())) return;
  const std::string what = frozen ? cat("all ", frozen, " variables that can be trained are frozen")
                                  : "it has no variable to train";
  throw StateError("fit.trainable", cat("model \"", model.path(), "\" cannot be trained: ", what),
                   frozen ? "set_trainable(true)" : "");
}

}  // namespace

Tensors Model::Training::run(std::span<const Tensor> x) {
  const OutputMakers makers;
  const OutputLayers layers;
  Tensors out = Running::apply(x);
  if (out.size() != outputs.size()) {
    throw ValueError("fit.outputs",
                     cat("model \"", Running::model()->path(), "\" gives ", counted(out.size(), "tensor"),
                         ", it is compiled for ", outputs.size()),
                     "compile with one of ModelOptions::outputs for each");
  }
  for (size_t i = 0; i < out.size(); ++i) {
    makers.require(outputs[i], out[i]);
    narrow.add(out[i], layers);
    if (is_float(out[i].dtype())) out[i] = convert(out[i], DType::kF32);
  }
  return out;
}

Model::Training::Gradients Model::Training::differentiate(GradientTape& tape, const LossSums& sums,
                                                          const Tensor& mean,
                                                          const std::vector<Variable>& variables) const {
  Gradients out;
  const bool accumulates = options.optimizer.gradient_accumulation_steps() > 1;
  const Tensor target = options.optimizer.scale_loss(accumulates ? sums.sum : mean);
  GradientOptions seed;
  if (scaling) seed.output_gradients = {scaling->scale()};
  out.by_variable = tape.gradient(target, variables, seed);
  if (scaling) {
    out.overflow = LossScaling::overflow(out.by_variable);
    out.control = scaling->control(out.overflow);
  }
  if (accumulates) out.control.weight = sums.weight;
  return out;
}

void Model::Training::update(const Gradients& gradients, const std::vector<Variable>& variables) {
  const auto rule = options.optimizer.rule();
  BuildTransaction::on_refusal([rule, slots = rule->slots.size()] { rule->keep_slots(slots); });
  if (!variables.empty()) options.optimizer.apply(gradients.by_variable, variables, gradients.control);
  if (scaling) scaling->count();
}

void Model::Training::step(std::span<const Tensor> arguments, std::span<const int64_t> numbers) {
  if (!train_step->call(arguments, numbers)) scaling->skip();
}

void Model::compile(ModelOptions options, Location at) {
  const CallScope scope(at);
  auto next = std::make_shared<Training>(std::move(options), output_names());
  Training& training = *next;
  const size_t labels = training.outputs.size();
  if (!training.options.loss_scale && compute_dtype() == DType::kF16) training.options.loss_scale.emplace();
  if (training.options.loss_scale) training.scaling.emplace(*training.options.loss_scale);
  const auto train = [&training, labels](std::span<const Tensor> in, StepWatch* watch) -> Tensor {
    const BuildTransaction transaction;
    const TrainingScope mode(true);
    GradientTape tape;
    const Parts given = parts(in, labels);
    const RowWeightScope rows(rows_that_count(given.row_weight));
    const Tensors outputs = training.run(given.x), losses = training.losses(given.y, outputs);
    require_scale(*Running::model(), training.scaling.has_value());
    const Tensor total = training.total(losses);
    const LossSums sums = LossSums::of(total, given.row_weight);
    const Tensor loss = sums.mean();
    if (watch) watch->loss(loss);
    const std::vector<Variable> weights = Running::model()->trainable_variables();
    const Training::Gradients gradients = training.differentiate(tape, sums, loss, weights);
    require_own(tape.watched_variables(), weights);
    require_weights(*Running::model(), weights);
    // What overflows is skipped, and no fault.
    if (watch && !training.scaling) watch->gradients(weights, gradients.by_variable);
    training.observe(total, losses, given.y, outputs, given.row_weight);
    training.update(gradients, weights);
    if (watch) watch->updated(Running::model()->variables());
    return gradients.overflow;
  };
  const auto test = [&training, labels](std::span<const Tensor> in, StepWatch* watch) -> Tensor {
    const BuildTransaction transaction;
    const TrainingScope mode(false);
    const Parts given = parts(in, labels);
    const RowWeightScope rows(rows_that_count(given.row_weight));
    const Tensors outputs = training.run(given.x), losses = training.losses(given.y, outputs);
    const Tensor total = training.total(losses);
    if (watch) watch->loss(LossSums::of(total, given.row_weight).mean());
    training.observe(total, losses, given.y, outputs, given.row_weight);
    return {};
  };
  const bool eager = training.options.run_eagerly, checks = training.options.check_numerics;
  const bool may_skip = training.scaling.has_value();
  training.train_step =
      std::make_unique<TrainStep>(train, TrainStep::Options{"train_step", labels, eager, checks, may_skip});
  training.test_step =
      std::make_unique<TrainStep>(test, TrainStep::Options{"test_step", labels, eager, checks});
  shared_->training = std::move(next);
}

}  // namespace espalier
