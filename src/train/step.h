// What a compiled model keeps: its steps and the variables that metrics live in.
#pragma once

#include <utility>

#include "base/format.h"
#include "eager/deferred_reads.h"
#include "eager/placed_trace.h"
#include "eager/traced_graph.h"
#include "espalier/function.h"
#include "espalier/model.h"
#include "espalier/ops.h"
#include "espalier/tape.h"
#include "optim/loss_scaling.h"
#include "step/cut_step.h"
#include "step/ids.h"
#include "step/step_batches.h"
#include "step/step_program.h"
#include "strategy/replicas.h"
#include "train/dataset_batches.h"
#include "train/metric.h"
#include "train/narrow_outputs.h"
#include "train/part_notes.h"
#include "train/rows_interact.h"

namespace espalier {

// The copy of a model that this thread runs: its steps belong to all copies, so they hold none.
class Running {
 public:
  explicit Running(Model& model) : before_(std::exchange(now_, &model)) {}
  ~Running() { now_ = before_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  static Model* model() { return now_; }
  // Whether it runs within another call, as in a hook of fit.
  bool within() const { return before_ != nullptr; }
  // REQUIRES: `x` are the first arguments of the trace, if there is one.
  static Tensors apply(std::span<const Tensor> x) {
    const IdsCheck::Applied inputs;
    return now_->apply(Tensors(x.begin(), x.end()));
  }

 private:
  static inline thread_local Model* now_ = nullptr;
  Model* before_;
};

struct Rows;

// What a step shows of itself, in this order; a step of evaluate has a loss only.
class StepWatch {
 public:
  virtual ~StepWatch() = default;
  virtual void loss(const Tensor& loss) = 0;
  // Undefined for a variable that the loss does not depend on.
  virtual void gradients(const std::vector<Variable>& variables, const std::vector<Tensor>& gradients) = 0;
  virtual void updated(const std::vector<Variable>& variables) = 0;
};

// A step of fit or evaluate on x, y and the weight of each row: a program that is traced, rewritten and
// replayed, or eager calls.
class TrainStep {
 public:
  // Shows itself to `watch` unless that is null. Gives f32[]: 0 where the step is to be kept, else NaN;
  // undefined: it is.
  using Body = std::function<Tensor(std::span<const Tensor> arguments, StepWatch* watch)>;
  struct Options {
    size_t labels = 1;  // tensors of y
    bool trains = true;
    bool eager = false, checks = false;
    std::function<std::vector<Variable>()> of_skipped = {};  // what a step changes, too, that is not kept
  };
  // `eager` by eager calls; what `traced` gives are the flags "skipped", if the step may be, and
  // "not_finite", if it checks.
  TrainStep(Body eager, std::unique_ptr<StepProgram> traced, Options options);
  TrainStep(const TrainStep&) = delete;
  TrainStep& operator=(const TrainStep&) = delete;

  // Of a step that is not kept only options.of_skipped() change, of one that raises no variable does. Raises
  // ValueError[check_numerics] if it checks; `numbers` are those of the rows, if they have some.
  void call(const BatchRows& batch, std::span<const int64_t> numbers = {}) const;
  // Which of so many rows of a batch that all workers have this process works on.
  std::pair<int64_t, int64_t> own_rows(int64_t count) const { return traced_->own_rows(count); }
  // Makes the variables that a call on these arguments makes, and changes none.
  void make_variables(const BatchRows& batch) const;
  // The program for a batch like this, after a rewrite or pass, as TracedFunction::graph() has it.
  std::shared_ptr<const Graph> graph(std::span<const Tensor> arguments, const std::string& after) const;

 private:
  // rows_interact().
  std::optional<bool> meet(const BatchRows& batch) const;
  // Whether there may be rows of weight 0 behind those of a batch.
  bool may_add(const BatchRows& batch) const;
  // Says how many rows there are to be at least, as the place wants them. Raises
  // UnsupportedError[device.rows].
  void fill_up(BatchRows& rows, const BatchRows& given) const;
  // Whether its numbers are finite, if it checks.
  bool run_eagerly(std::span<const Tensor> arguments) const;
  bool run_traced(const BatchRows& batch) const;
  Body eager_;
  std::unique_ptr<StepProgram> traced_;
  Options options_;
  bool pads_;
  // Where the place adds rows: of a batch so far, and whether rows of the model meet.
  mutable int64_t most_rows_ = 0;
  mutable AskedOnce rows_interact_;
};

struct Model::Training {
  // `names` are the model's for its outputs, if it has some.
  Training(ModelOptions options, const std::vector<std::string>& names);
  // Whether what a step finds is combined with that of other replicas, between its gradients and its update.
  bool combines() const { return replicas && replicas->mesh().many() && options.logical_shards == 0; }
  // Whether rows are a part of a batch, and know their place in it.
  bool placed() const { return combines() || options.logical_shards > 0; }
  // Whether gradients are of sums over rows that weigh `loss_weight`, and the optimizer divides.
  bool sums() const { return placed() || options.optimizer.gradient_accumulation_steps() > 1; }
  // Who works on a batch of training, or of evaluation.
  DataShares shares() const;
  // Where runs decide what all ranks do alike.
  const RunContext& host() const;
  // Remembers which class numbers `y` holds in rows that count, by `weights` where they are given, and checks
  // them against outputs that are known already. Raises
  // ValueError[rule]; rows are those `of` something. ValueError[fit.class_weight] for a class with a weight
  // that the outputs have no place for.
  using ClassWeight = std::map<int64_t, double>;
  void take_labels(const char* rule, const TensorList& y, const Tensor& weights, const char* of = "",
                   const ClassWeight& class_weight = {});
  // The same, for batch after batch, and of its inputs.
  RowsCheck rows_check(const char* rule, IdsCheck& ids, const ClassWeight& class_weight = {});
  // What the running model gives for `x`, floats in f32. Raises ValueError[fit.outputs], and [loss.logits]
  // and [loss.probabilities] for outputs that their losses do not take.
  Tensors run(std::span<const Tensor> x);
  // The loss of each row under each output, from its outputs in f32.
  Tensors losses(std::span<const Tensor> labels, const Tensors& outputs);
  // Their sum, by their weights, and all penalties.
  Tensor total(const Tensors& losses) const;
  // A batch forward: outputs, losses, and what observe() adds to what `logs` says.
  struct Forward {
    Tensors outputs, losses;
    Tensor total;
    LossSums sums;
  };
  struct Batch {
    std::span<const Tensor> x, y;
    const Tensor& row_weight;
  };
  Batch batch(std::span<const Tensor> arguments) const;
  Forward forward(const Batch& batch, bool training);
  // What the sum of the losses is weighed by before it is differentiated: one by the weight of the rows, or 1
  // where the optimizer divides sums of several calls; times the loss scale and the optimizer's factor.
  Tensor seed(const Tensor& weight) const;
  // The update by gradients of the sum, weighed so, and by `of_rows` (ScaledRows::of_rows) where that is
  // defined; they are `weight` together. Gives f32[]: 0 where it applies, else NaN; undefined without a loss
  // scale.
  Tensor update(const std::vector<Tensor>& gradients, const std::vector<Variable>& variables,
                const Tensor& weight, const Tensor& of_rows);
  // Eager calls find variables where they compute: on the device of the run's context, or here.
  void bring_variables(const Model& model) const;
  // Adds a batch to what `logs` says.
  void observe(const Batch& batch, const Forward& forward);
  Logs logs() const;
  // Whether what the epoch's loss is so far is a number, without a look at its weight.
  bool loss_is_finite() const;
  // Brings `logs`, which logs() made, up to date.
  void refresh(Logs& logs) const;
  // What those are made of: sums over rows, and with them the loss scale.
  std::vector<Variable> sums_of_rows() const;
  std::vector<Variable> logged() const;
  // The same for steps of training, with "loss_scale" where there is one.
  Logs training_logs() const;
  void refresh_training(Logs& logs) const;
  void reset();
  // What steps change: the variables of model, optimizer and metrics and the default generator, each under a
  // name of its own.
  std::vector<std::pair<std::string, Variable>> variables(const Model& model) const;
  struct Validation {
    std::function<Logs()> logs = {};            // of an epoch, that begin with "val_"; none without
    std::function<std::string()> content = {};  // says which rows they are of, if they are in memory
  };
  // Runs the epochs of the model that runs; `stop` ends them; callbacks get the notes, and one more behind
  // the first step where the outputs of the model are narrow.
  std::vector<Logs> fit(TrainingBatches& batches, const FitOptions& options, const Validation& validation,
                        bool& stop, const std::vector<std::string>& notes = {});
  class FitRun;  // train/fit_run.h
  // What is to be the same on all workers that run fit; `rows` are the arguments of a step.
  std::map<std::string, std::string> facts(const TrainingBatches& batches, const FitOptions& options,
                                           const Validation& validation, uint64_t own_seed,
                                           std::span<const Tensor> rows) const;
  // On these rows, or on validation_data. Both outlive it.
  Validation validation(const Rows& rows, const FitOptions& options, KnownIds& ids);
  // Loss and metrics over these batches.
  Logs test(StepBatches& batches);

  class OwnSums;  // train/own_sums.h

  struct Output : OutputOptions {
    Output(OutputOptions options, bool one_of_several);
    // Class labels lie in the classes of the outputs, once those are known.
    void check_labels() const;

    std::string prefix;                                          // of its names in logs
    std::vector<std::pair<std::string, RunningMean>> mean_loss;  // by its name, of one of several
    struct Labels : Extremes {
      const char *rule = "fit.labels", *of = "";
      int64_t least_weighted = 0, most_weighted = 0;
    } labels;
    int64_t classes = -1;
  };
  // The programs of steps: a forward pass that gives "loss_sum", "loss_weight", "loss", and what is done to
  // it.
  TracedRows trace_forward(const char* name, std::span<const TensorType> arguments, bool again,
                           bool training);
  PlacedTrace trace_rows(const char* name, std::span<const TensorType> arguments, bool again, bool training,
                         const RowsOfDraws& known);
  // Raises ValueError[strategy.variable] where variables that it assigns follow the number of
  // rows: each replica, or shard, has a part of them.
  void require_equal_updates_of_parts(TracedRows& traced, const char* name,
                                      std::span<const TensorType> arguments, bool training);
  // Raises what fit raises where the program reads others' variables, or has none to train.
  void require_trainable(const TracedGraph& program) const;
  // Behind the gradients, and what replicas find together.
  Rewrites update_rewrites(bool training);
  Rewrite apply_update();
  Rewrite check_numerics(bool training);
  // All of a step; `combine`, if there is one, stands between the gradients and the update.
  Rewrites step_rewrites(bool training, std::shared_ptr<const Rewrite> combine);
  TracedGraph trace_step(const char* name, std::span<const TensorType> arguments, bool training,
                         const Rewrites& rewrites, bool again, const std::string& after);
  TracedFunction program(bool training);
  std::unique_ptr<StepProgram> step_program(bool training);
  // One of logical shards.
  StepToCut step_to_cut(bool training);
  // Of a CustomModel.
  void train_by_model(std::span<const Tensor> rows);
  // The same by eager calls.
  Tensor train_eagerly(std::span<const Tensor> arguments, StepWatch* watch);
  Tensor test_eagerly(std::span<const Tensor> arguments, StepWatch* watch);

  ModelOptions options;
  std::shared_ptr<Replicas> replicas;  // of the strategy it was compiled under; null: one
  // Of a CustomModel; nothing: fit's own step.
  struct Custom {
    std::vector<Metric> metrics;
    std::vector<Optimizer> optimizers;
    // That its step has read or assigned so far, as those of layers that call() does not call.
    std::vector<Variable> touched;
    void touch(const Variable& variable);
  };
  std::optional<Custom> custom;
  std::vector<Output> outputs;
  RunningMean loss;
  DeferredReads deferred_reads;  // of logged(), on a device
  std::optional<LossScaling> scaling;
  NarrowOutputs narrow;
  PartNotes part_notes;
  DrawsOfRows draws_of_training, draws_of_tests;
  std::unique_ptr<TrainStep> train_step, test_step;
};

// What a model gave for some rows, part by part.
struct PredictedRows {
  std::vector<Tensors> parts;
  std::vector<int64_t> sizes;
  void add(int64_t rows, Tensors outputs) {
    parts.push_back(std::move(outputs));
    sizes.push_back(rows);
  }
};

// What copies of a model have in common, besides the state of layers.
struct Model::Shared {
  Shared();
  // Adds what the model gives for a batch: its code by eager calls when it is compiled so, else traced, on
  // the replicas of its strategy.
  void predict(std::span<const Tensor> x, PredictedRows& out);
  // The same by a program for as many rows as the context's place wants; what it gives lies here.
  Tensors predict_alone(std::span<const Tensor> x);
  // Whether its rows interact.
  std::optional<bool> meet(std::span<const Tensor> x);
  // Who have a part each of so many rows that are predicted; null: nobody but this one.
  std::shared_ptr<const Replicas> sharers(int64_t rows) const;

  KnownIds ids;
  TracedFunction forward;
  std::shared_ptr<Training> training;  // null before compile()
  bool stop = false;                   // asked of the run of fit()
  AskedOnce rows_interact;             // in what it predicts
};

}  // namespace espalier
