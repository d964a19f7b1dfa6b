#include <algorithm>
#include <set>

#include "base/format.h"
#include "eager/batch_place.h"
#include "eager/generator.h"
#include "eager/observations.h"
#include "eager/row_weight.h"
#include "eager/trace.h"
#include "espalier/tape.h"
#include "nn/build_transaction.h"
#include "nn/layer_observer.h"
#include "optim/rule.h"
#include "place/shares.h"
#include "train/output_makers.h"
#include "train/own_step.h"
#include "train/scaled_rows.h"
#include "train/step.h"

namespace espalier {
namespace {

// What layers that couple rows see of a step's.
Tensor rows_that_count(const Tensor& row_weight) {
  return SomeRowsCount::current() ? convert(compare(row_weight, 0, Comparison::kNE), DType::kF32) : Tensor();
}

// Gives `touch` the variables of layers that are called.
class Touching final : public LayerObserver {
 public:
  explicit Touching(std::function<void(const Variable&)> touch) : touch_(std::move(touch)) {}
  void on_begin(const std::string&) override {}
  void on_end(std::span<const Variable> own, std::span<const Tensor>) override {
    std::ranges::for_each(own, touch_);
  }

 private:
  const std::function<void(const Variable&)> touch_;
};

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

Model::Training::Batch Model::Training::batch(std::span<const Tensor> arguments) const {
  const size_t inputs = arguments.size() - outputs.size() - 1;
  return {arguments.first(inputs), arguments.subspan(inputs, outputs.size()), arguments.back()};
}

Model::Training::Forward Model::Training::forward(const Batch& batch, bool trains) {
  const TrainingScope mode(trains);
  const RowWeightScope rows(rows_that_count(batch.row_weight));
  Forward out;
  out.outputs = run(batch.x);
  out.losses = losses(batch.y, out.outputs);
  if (trains) require_scale(*Running::model(), scaling.has_value());
  out.total = total(out.losses);
  out.sums = LossSums::of(out.total, batch.row_weight);
  return out;
}

Tensor Model::Training::seed(const Tensor& weight) const {
  const Tensor one = options.optimizer.scale_loss(scaling ? scaling->scale() : full({}, 1));
  if (sums()) return one;
  return LossSums{one, weight}.mean();
}

Tensor Model::Training::update(const std::vector<Tensor>& gradients, const std::vector<Variable>& variables,
                               const Tensor& weight, const Tensor& of_rows) {
  UpdateControl control;
  Tensor skipped;
  if (scaling) {
    skipped = LossScaling::overflow(gradients);
    control = scaling->control(skipped, of_rows);
  }
  if (sums()) control.weight = weight;
  const auto rule = options.optimizer.rule();
  BuildTransaction::on_refusal(
      [rule, slots = rule->shared().slots.size()] { rule->shared().keep_slots(slots); });
  if (!variables.empty()) options.optimizer.apply(gradients, variables, control);
  if (scaling) scaling->count(control.apply);
  return skipped;
}

TracedRows Model::Training::trace_forward(const char* name, std::span<const TensorType> types, bool again,
                                          bool trains) {
  if (!placed()) return {trace_rows(name, types, again, trains, {}).program, {}};
  const auto trace = [&](int64_t rows, bool before, const RowsOfDraws& known) {
    std::vector<TensorType> of_rows(types.begin(), types.end());
    for (TensorType& type : std::span(of_rows).first(types.size() - 1)) type.shape[0] = rows;
    return trace_rows(name, of_rows, before, trains, known);
  };
  return (trains ? draws_of_training : draws_of_tests)
      .trace(types[types.size() - 2].shape[0], again, trace);  // their weights stand before their place
}

PlacedTrace Model::Training::trace_rows(const char* name, std::span<const TensorType> types, bool again,
                                        bool trains, const RowsOfDraws& known) {
  std::vector<NamedType> arguments;
  const auto take = [&](const char* kind, size_t count) {
    for (size_t i = 0; i < count; ++i)
      arguments.push_back({count == 1 ? kind : cat(kind, i), types[arguments.size()]});
  };
  take("x", types.size() - outputs.size() - 1 - placed());
  take("y", outputs.size());
  take("row_weight", 1);
  if (placed()) take(Replicas::kPlace, 1);
  PlacedTrace out;
  std::vector<TracedObservation> observations;
  out.program = trace_graph(name, again, arguments, [&](std::span<const Tensor> in) {
    const ObservationScope scope;
    const Batch rows = batch(in.first(in.size() - placed()));
    std::optional<BatchPlaceScope> place;
    if (placed()) {
      const int64_t own = rows.row_weight.size(0);
      const bool shards = options.logical_shards > 0;
      place.emplace(in.back(), own, own * (shards ? options.logical_shards : replicas->mesh().world),
                    shards ? BatchPlaceScope::Others::kShards : BatchPlaceScope::Others::kReplicas, known);
    }
    const Forward found = forward(rows, trains);
    if (trains && placed() && options.logical_shards != 1) {
      const char* const part = options.logical_shards > 0 ? "logical shard" : "replica";
      part_notes.add(place->met(), part);
      for (size_t i = 0; i < outputs.size(); ++i)
        part_notes.add(outputs[i].loss, rows.y[i].type(), found.outputs[i].type(), part);
    }
    observe(rows, found);
    NamedTensors results{
        {"loss_sum", found.sums.sum}, {"loss_weight", found.sums.weight}, {"loss", found.sums.mean()}};
    for (size_t i = 0; outputs.size() > 1 && i < outputs.size(); ++i)
      results.push_back({cat("loss_sum/", i), LossSums::of(found.losses[i], rows.row_weight).sum});
    observations = name_observations(scope, results);
    if (place) {
      out.draws = place->place().draws();
      out.taken = place->place().taken();
    }
    return results;
  });
  out.program.observations = std::move(observations);
  return out;
}

void Model::Training::require_equal_updates_of_parts(TracedRows& traced, const char* name,
                                                     std::span<const TensorType> types, bool trains) {
  const TracedGraph& forward = traced.program;
  require_equal_updates(*forward.graph);
  // Generators count draws, whatever these are for.
  const auto counts_draws = [](const VariablePtr& variable) { return is_random_state(Variable(variable)); };
  if (std::ranges::all_of(forward.updated, counts_draws)) return;
  const int64_t rows = types[types.size() - 2].shape[0];  // their weights stand before their place
  const std::optional<TracedGraph> other = traced.take_other(rows, [&](int64_t others) {
    std::vector<TensorType> of_other(types.begin(), types.end());
    for (TensorType& type : std::span(of_other).first(types.size() - 1)) type.shape[0] = others;
    return trace_forward(name, of_other, true, trains).program;
  });
  if (other) require_updates_of_any_rows(*forward.graph, *other->graph);
}

void Model::Training::require_trainable(const TracedGraph& program) const {
  const std::vector<Variable> weights = Running::model()->trainable_variables();
  std::vector<Variable> read;
  for (const VariablePtr& variable : program.variables) {
    if (variable->trainable && is_float(variable->type.dtype)) read.emplace_back(variable);
  }
  require_own(read, weights);
  require_weights(*Running::model(), weights);
}

TracedGraph Model::Training::trace_step(const char* name, std::span<const TensorType> types, bool trains,
                                        const Rewrites& rewrites, bool again, const std::string& after) {
  const BuildTransaction transaction;
  TracedRows traced = trace_forward(name, types, again, trains);
  if (trains) require_trainable(traced.program);
  if (placed()) require_equal_updates_of_parts(traced, name, types, trains);
  TracedGraph out = std::move(traced.program);
  out.retrace = [this, name, trains](std::span<const TensorType> others) {
    const PartNotes notes = part_notes;  // of the rows that there are
    TracedGraph other = trace_forward(name, others, true, trains).program;
    part_notes = notes;
    return other;
  };
  return rewrite(std::move(out), rewrites, again, after);
}

TracedFunction Model::Training::program(bool trains) {
  const char* const name = trains ? "train_step" : "test_step";
  FunctionOptions function{.name = name,
                           .rewrites = step_rewrites(trains, combines() ? replicas->rewrite() : nullptr)};
  const auto trace = [this, name, trains, rewrites = function.rewrites](
                         std::span<const TensorType> types, bool again, const std::string& after) {
    TracedGraph out = trace_step(name, types, trains, rewrites, again, after);
    if (combines() && after.empty()) require_equal_updates(*out.graph);
    return out;
  };
  return TracedFunction(trace, std::move(function));
}

StepToCut Model::Training::step_to_cut(bool trains) {
  return {
      .shard_name = trains ? "train_shard" : "test_shard",
      .name = trains ? "train_step" : "test_step",
      .shards = options.logical_shards,
      .replicas = replicas,
      .rewrites = [this, trains](
                      std::shared_ptr<const Rewrite> cut) { return step_rewrites(trains, std::move(cut)); },
      .of_update = update_rewrites(trains),
      .trace =
          [this, trains](const char* name, std::span<const TensorType> types, const Rewrites& rewrites,
                         bool again, const std::string& after) {
            return trace_step(name, types, trains, rewrites, again, after);
          },
      .mean_loss =
          [](const Tensor& sum, const Tensor& weight) {
            return LossSums{sum, weight}.mean();
          },
      .runs = [] { return [model = Running::model()] { return std::make_shared<const Running>(*model); }; },
      .rows_are_coupled = [] { return Running::model()->rows_are_coupled(); },
  };
}

void Model::Training::Custom::touch(const Variable& variable) {
  const auto same = [&](const Variable& other) { return other.state() == variable.state(); };
  if (std::ranges::any_of(touched, same)) return;
  touched.push_back(variable);
  BuildTransaction::on_refusal([this] { touched.pop_back(); });
}

void Model::Training::train_by_model(std::span<const Tensor> rows) {
  const TrainingScope mode(true);
  const Touching touching([this](const Variable& variable) { custom->touch(variable); });
  const Batch given = batch(rows);
  const RowWeightScope weights(rows_that_count(given.row_weight));
  const LossSums sums =
      dynamic_cast<CustomModel&>(*Running::model()).train_step({given.x, given.y, given.row_weight});
  if (!sums.sum.defined() || !sums.weight.defined())
    throw ValueError("fit.train_step", "train_step() gives the loss of its rows, and got one without value",
                     "Loss::sums()");
  loss.add(sums);
  const Trace* const trace = Trace::current();
  if (!trace) return;
  for (const VariablePtr& variable : trace->variables()) custom->touch(Variable(variable));
  // Those of metrics on replicas, whose sums are folded behind the step.
  for (const Variable& variable : ObservationScope::observed()) custom->touch(variable);
}

std::unique_ptr<StepProgram> Model::Training::step_program(bool trains) {
  if (trains && custom)
    return own_step(
        "train_step", [this](std::span<const Tensor> rows) { train_by_model(rows); }, replicas);
  if (options.logical_shards > 0) return std::make_unique<CutStep>(step_to_cut(trains));
  return whole_program(program(trains), combines() ? replicas : nullptr);
}

Tensor Model::Training::train_eagerly(std::span<const Tensor> arguments, StepWatch* watch) {
  if (custom) {
    train_by_model(arguments);
    return {};
  }
  GradientTape tape;
  const Batch rows = batch(arguments);
  const Forward found = forward(rows, true);
  if (watch) watch->loss(found.sums.mean());
  const std::vector<Variable> weights = Running::model()->trainable_variables();
  Tensor seed = this->seed(found.sums.weight), of_rows;
  if (scaling && sums()) {
    of_rows = ScaledRows::of_rows(maximum(found.sums.weight, static_cast<double>(rows.row_weight.size(0))));
    seed = seed * of_rows;
  }
  const std::vector<Tensor> gradients = tape.gradient(found.sums.sum, weights, {.output_gradients = {seed}});
  require_own(tape.watched_variables(), weights);
  require_weights(*Running::model(), weights);
  // What overflows under a loss scale is skipped, and no fault.
  if (watch && !scaling) watch->gradients(weights, gradients);
  const Tensor skipped = update(gradients, weights, found.sums.weight, of_rows);
  if (!skipped.defined() || skipped.item<float>() == 0 || std::isfinite(found.sums.sum.item<float>()))
    observe(rows, found);
  if (watch) watch->updated(Running::model()->variables());
  return skipped;
}

Tensor Model::Training::test_eagerly(std::span<const Tensor> arguments, StepWatch* watch) {
  const Batch rows = batch(arguments);
  const Forward found = forward(rows, false);
  if (watch) watch->loss(found.sums.mean());
  observe(rows, found);
  return {};
}

void Model::compile(ModelOptions options, Location at) {
  const CallScope scope(at);
  auto next = std::make_shared<Training>(std::move(options), output_names());
  Training& training = *next;
  training.replicas = current_replicas();
  if (training.replicas && training.options.logical_shards == 0)
    training.options.logical_shards = training.replicas->logical_shards();
  if (training.placed() && training.options.run_eagerly)
    throw ValueError("strategy.eager", "a model that runs eagerly trains on one device, in one piece",
                     "compile without run_eagerly");
  constexpr int kMostShards = 4096;
  if (const int shards = training.options.logical_shards; shards < 0 || shards > kMostShards)
    throw ValueError("model.logical_shards",
                     cat("there are 0 to ", kMostShards, " logical shards, got ", shards));
  if (training.options.logical_shards > 0 && !training.shares().deals_shards)
    throw UnsupportedError("tpu.shards",
                           "logical shards are not dealt out to the devices of a TPU of several hosts",
                           "leave out logical_shards, or --deterministic");
  if (training.options.logical_shards > 0 && training.replicas && training.replicas->rounds_gradients())
    throw ValueError("model.compress",
                     "logical shards give the bits of one device, and gradients that travel in bf16 others",
                     "leave out logical_shards, or compress");
  if (const auto* const own = dynamic_cast<const CustomModel*>(this)) {
    training.custom = {own->step_metrics(), own->step_optimizers(), {}};
    const char* const unfit = training.options.check_numerics ? "check_numerics"
                              : training.options.loss_scale   ? "loss_scale"
                                                              : nullptr;
    if (unfit)
      throw ValueError("fit.train_step",
                       cat(unfit, " is of fit's own step, and the model has a train_step of its own"),
                       cat("leave out ", unfit));
    std::set<std::string> names{"loss"};
    for (const Metric& metric : training.custom->metrics)
      if (!names.insert(metric.name()).second)
        throw ValueError("metric.name", cat("the logs have one \"", metric.name(), "\" already"),
                         "give the metric another name");
    const bool shards = training.options.logical_shards > 0;
    if (shards &&
        !(training.replicas && training.replicas->logical_shards() == training.options.logical_shards))
      throw ValueError("fit.train_step",
                       "logical shards of a train_step of the model's own are those of its strategy",
                       cat("strategy::OneDevice({.logical_shards = ", training.options.logical_shards, "})"));
  } else if (const LossScaling* const scaling = training.options.optimizer.loss_scaling()) {
    if (training.options.loss_scale)
      throw ValueError("loss_scale.two",
                       "the optimizer is a LossScaleOptimizer, and .loss_scale is given as well",
                       "leave out one of them");
    training.scaling = *scaling;
    training.options.optimizer = training.options.optimizer.inner_optimizer();
  } else if (!training.options.loss_scale && compute_dtype() == DType::kF16) {
    training.options.loss_scale.emplace();
  }
  if (training.options.loss_scale) training.scaling.emplace(*training.options.loss_scale);
  const auto step = [&](bool trains) {
    TrainStep::Body eager = [&training, trains](std::span<const Tensor> arguments, StepWatch* watch) {
      return trains ? training.train_eagerly(arguments, watch) : training.test_eagerly(arguments, watch);
    };
    TrainStep::Options of{.labels = training.outputs.size(),
                          .trains = trains,
                          .eager = training.options.run_eagerly,
                          .checks = training.options.check_numerics};
    if (trains && training.scaling) of.of_skipped = [&training] { return training.logged(); };
    return std::make_unique<TrainStep>(std::move(eager), training.step_program(trains), std::move(of));
  };
  training.train_step = step(true);
  training.test_step = step(false);
  shared_->training = std::move(next);
}

}  // namespace espalier
