// Models: compile, fit, evaluate, predict.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "espalier/dataset.h"
#include "espalier/layers.h"
#include "espalier/losses.h"
#include "espalier/metrics.h"
#include "espalier/optimizers.h"

namespace espalier {

class Model;

// Loss and metrics by their names, as a std::map holds them; asked for a name that is not there, they say
// which there are.
class Logs {
 public:
  using Values = std::map<std::string, double>;
  using key_type = Values::key_type;
  using mapped_type = Values::mapped_type;
  using value_type = Values::value_type;
  using iterator = Values::iterator;
  using const_iterator = Values::const_iterator;

  Logs() = default;
  Logs(std::initializer_list<value_type> values) : values_(values) {}
  Logs(Values values) : values_(std::move(values)) {}
  operator const Values&() const { return values_; }

  // at() and operator[] raise ValueError[logs.name] for a name that is not there; set() adds one.
  double at(const std::string& name, Location at = Location::here()) const;
  struct Name {
    template <class T>
    requires std::convertible_to<T, std::string> Name(const T& text, Location at = Location::here())
        : text(text), at(at) {}
    std::string text;
    Location at;
  };
  double operator[](const Name& name) const { return at(name.text, name.at); }
  void set(const std::string& name, double value) { values_[name] = value; }
  iterator find(const std::string& name) { return values_.find(name); }
  const_iterator find(const std::string& name) const { return values_.find(name); }
  bool contains(const std::string& name) const { return values_.contains(name); }
  size_t count(const std::string& name) const { return values_.count(name); }
  size_t erase(const std::string& name) { return values_.erase(name); }
  std::pair<iterator, bool> try_emplace(const std::string& name, double value) {
    return values_.try_emplace(name, value);
  }
  iterator begin() { return values_.begin(); }
  iterator end() { return values_.end(); }
  const_iterator begin() const { return values_.begin(); }
  const_iterator end() const { return values_.end(); }
  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  void clear() { values_.clear(); }
  friend bool operator==(const Logs&, const Logs&) = default;

 private:
  Values values_;
};

// What a callback keeps, by name, for a run that goes on in another process.
struct CallbackState {
  std::map<std::string, Tensor> tensors = {};

  // f64[] and u8[bytes] among them.
  void put(const std::string& name, double value);
  void put_text(const std::string& name, const std::string& text);
  // Raise FormatError[checkpoint.callback] when there is none of that name and kind.
  double number(const std::string& name) const;
  int64_t count(const std::string& name) const;  // a whole number from 0 to 2^53
  std::string text(const std::string& name) const;
};

// Sees a training run. All hooks default to nothing. Those that come with Espalier: callbacks.h. A hook may
// call predict, evaluate, train_on_batch and fit of the model: their losses and metrics are their own, and
// those of the run go on behind them, as does the run where such a fit is stopped.
class Callback {
 public:
  virtual ~Callback() = default;
  struct Run {
    int epochs = 0;
    int64_t steps_per_epoch = 0;  // 0: not known, as of a dataset of unknown cardinality
    int64_t examples = 0;         // of an epoch; 0: not known, as of a dataset
    int initial_epoch = 0;
    std::vector<std::string> logs = {};   // the names that on_epoch_end sees
    std::vector<std::string> notes = {};  // what somebody should know of the rows, a sentence each
  };
  virtual void on_train_begin(const Run&) {}
  virtual void on_epoch_begin(int) {}
  // What somebody should know, a sentence, behind the first step of a run and before its on_batch_end: how
  // replicas of a strategy share out the rows of a step; once a compile(), that a layer gives its outputs in
  // 16 bits. Such layers are better made with .dtype = "float32" under a policy that computes in less.
  virtual void on_note(const std::string&) {}
  // Logs of the epoch so far after its first step, every eighth from there, and the first one that makes its
  // loss NaN or infinite; empty after the others. On a device two steps later.
  virtual void on_batch_end(int64_t, const Logs&) {}
  // Whether it is to be told of rows.
  virtual bool wants_rows() const { return false; }
  // Before on_epoch_end, if it wants: how many rows the epoch trained on, with those of other workers, and
  // the sum of a hash of each, which does not depend on their order: of the number of a row in memory, of the
  // bytes of x and y of a row of a dataset (docs/distributed.md).
  virtual void on_epoch_rows(int, int64_t /*rows*/, uint64_t /*ids*/) {}
  // Of a run on several workers, before on_epoch_end: for how many seconds of the epoch each of them was
  // waited for, that is, by how much it came later than the first to what they do together.
  virtual void on_epoch_waits(int, std::span<const double> /*seconds*/) {}
  virtual void on_epoch_end(int, const Logs&) {}
  // Instead, of an epoch that has no loss: no row of it counted, as each step was skipped under a loss scale
  // with a loss that was no finite number, or all rows weigh 0. Its logs are NaN, but for the loss scale and
  // those of validation rows. Callbacks that watch a value or end the run take it for no epoch.
  virtual void on_epoch_skipped(int epoch, const Logs& logs) { on_epoch_end(epoch, logs); }
  virtual void on_train_end(const Logs&) {}
  // What it needs to go on, besides its options, for a checkpoint (BackupAndRestore); and back, with all that
  // save_state put there, after on_train_begin.
  virtual void save_state(CallbackState&) const {}
  virtual void load_state(const CallbackState&) {}
  // Whether it prints or writes: of several workers (strategy.h) the first alone calls its hooks.
  virtual bool chief_only() const { return false; }

 protected:
  // The model of the run. Raises StateError[callback.model] outside of hooks.
  static Model& model(Location at = Location::here());
};

// A progress bar with rate, time left and metrics on standard error, which becomes a line an epoch; where
// that is no terminal, a line in half a minute at most, so that short runs say nothing. Notes of the run and
// of the model stand as lines above.
std::shared_ptr<Callback> ConsoleProgress();

// What one output of a model of several is held against.
struct OutputOptions {
  // Which output: one of Model::output_names(). Empty for all: they stand in the order of the outputs, and
  // are called as the model calls them, or output_0, output_1, ... where it has no names.
  std::string name = {};
  Loss loss = SparseCategoricalCrossentropy({.from_logits = true});
  double loss_weight = 1;  // what the loss counts in that of the model, a sum
  std::vector<Metric> metrics = {};
};

struct ModelOptions {
  Optimizer optimizer = Adam{};
  Loss loss = SparseCategoricalCrossentropy({.from_logits = true});
  // "auto" is accuracy under a loss of classes, logits or probabilities, and nothing under others. By name
  // metrics of probabilities take the logits of a sigmoid, too; those of a softmax compile() refuses for
  // them: ValueError[metric.logits].
  std::vector<Metric> metrics = {"auto"};
  // Instead of loss and metrics, for models of several outputs: one for each. Labels are then a list, one
  // tensor an output, and logs are "loss", "<output>_loss" (without its weight) and "<output>_<metric>".
  std::vector<OutputOptions> outputs = {};
  // Steps, and predict, call the model's code each time instead of tracing it once: breakpoints and prints in
  // call() see every batch, and slowly. Values may differ from those of traced steps where plans fuse: sums
  // and products of matrices in the order of their terms, softmax and optimizers by a few units in the last
  // place.
  bool run_eagerly = false;
  // A step of fit, train_on_batch or evaluate whose loss, gradients or new weights are not all finite changes
  // nothing and raises ValueError[check_numerics]. It says where that began: the rows, a variable, or the
  // first op that made NaN or infinity of finite numbers, with its layer, line, how many elements and the
  // index of the first; in the forward pass, in which gradient, or in which variable's update. An infinity
  // that a constant brings, as in a mask, is no fault, nor is any that does not reach the loss. A check reads
  // gradients and weights once more, and new values need memory beside the old ones.
  bool check_numerics = false;
  // Above 0, steps sum over so many parts of a batch, its logical shards, by one tree. The bits of what is
  // learned follow from the batch size and this number, and not from how many devices or workers there are
  // (strategy.h): with 8, one, two, three and eight of them end in the same. A shard is ceil(rows / shards)
  // rows; BatchNormalization sees those of its shard. At most 4096. Raises ValueError[model.logical_shards].
  int logical_shards = 0;
  // None: dynamic where the model's dtype policy computes in float16 ("mixed_float16", "float16"), else no
  // scale, and where only layers of it do, fit raises StateError[fit.loss_scale]. With one the logs have
  // "loss_scale", and check_numerics leaves gradients to it: what it finds are losses and new weights. Raises
  // ValueError[loss_scale.initial] unless positive and finite, [loss_scale.growth_steps] for less than 1. A
  // LossScaleOptimizer brings one, and steps are made by its inner optimizer: [loss_scale.two] beside
  // another.
  std::optional<LossScale> loss_scale = {};
};

struct FitOptions {
  int epochs = 1;  // the number of the last one
  int64_t batch_size = 32;
  bool shuffle = true;
  TensorList validation_x = {};
  TensorList validation_y = {};
  Tensor validation_sample_weight = {};  // of these rows, as sample_weight
  // Instead: this share of the rows, the last ones as they are given, as Keras takes them. Where a class of
  // the labels is then in one of the two parts alone, as in rows that are sorted, the run's notes say so.
  double validation_split = 0;
  // Or instead: batches of x..., y and perhaps the weights of their rows, as many tensors of x as are trained
  // on.
  Dataset validation_data = {};
  // What a class, or a row, counts for in loss and metrics, which are weighted means: the sum of weight *
  // value divided by the sum of the weights. (Keras divides the loss by the number of rows, and metrics count
  // all rows alike.) Classes that are not named count 1; labels are their numbers, of any dtype, or one 1
  // among zeros, and both weights together count as their product. sample_weight is f[rows], not negative.
  std::map<int64_t, double> class_weight = {};
  Tensor sample_weight = {};
  bool weighted = false;    // the last tensor of a dataset's elements is the sample_weight of their rows
  int steps_per_epoch = 0;  // 0: all rows once; else an epoch goes on where the last one ended
  int initial_epoch = 0;    // the first one, of a run that is continued
  std::vector<std::shared_ptr<Callback>> callbacks = {};
};

struct EvaluateOptions {
  int64_t batch_size = 256;   // of rows in memory
  Tensor sample_weight = {};  // of rows in memory, as in FitOptions
  bool weighted = false;      // of datasets, as in FitOptions
};

struct SaveOptions {
  // Texts that travel with the model, by file name; LoadedModel::file gives them back.
  std::map<std::string, std::string> files = {};
};

// A layer that can be trained. A handle as any layer: copies share weights and what compile() made, and other
// layers and models may hold it.
//
// Threads: once a model has had its first call, or is a loaded one, any number of threads may call predict
// and predict_all at a time, on one handle or on copies, as long as its call() assigns no variable, it is not
// compiled with run_eagerly, and no other thread compiles, trains, evaluates, saves or assigns its variables.
class Model : public Layer {
 public:
  explicit Model(std::string name = "model", DTypePolicy dtype = {}, Location at = Location::here());
  Model(const Model&) = default;
  Model& operator=(const Model&) = default;

  // Raises ValueError for two metrics of one name, a loss without a function, ValueError[model.outputs] for
  // `outputs` whose names are not those of the model's outputs, each once, or only some of which have one,
  // and [model.loss_weight] for one that is not finite.
  void compile(ModelOptions options = {}, Location at = Location::here());
  // The optimizer of compile(). Raises StateError[model.compile] before it.
  Optimizer optimizer(Location at = Location::here()) const;
  // What the model calls its inputs and its outputs, in order; empty when it has no names for them.
  virtual std::vector<std::string> input_names() const { return {}; }
  virtual std::vector<std::string> output_names() const { return {}; }
  // Whether it has what fit could train, frozen now or not; quantize()'s models have not.
  virtual bool can_be_trained() const { return true; }
  // Trains on rows of x and y (equal first axes); y has one tensor for each output, in the order of
  // output_names(), whatever the order of ModelOptions::outputs. Loss and metrics of each
  // epoch, "val_" ones where validation data is given. The row order of every epoch follows from seed()
  // alone. A row of weight 0 is not there, whatever it holds: a row that counts stands in its place. A batch
  // of such rows alone makes no step: no weight, moment, average, decay, loss scale, random number or
  // iteration of a schedule changes, nor does it count for gradient accumulation; hooks are called. (Keras'
  // optimizers step by momentum and penalties there.) A loss that becomes NaN or infinite ends nothing, as in
  // Keras: the logs say it, ConsoleProgress says from which step on, TerminateOnNaN (callbacks.h) ends the
  // run there, and ModelOptions::check_numerics says where it began. Raises ShapeError[fit.rows],
  // StateError[fit.compile], ValueError[fit.batch_size] for less than 1, ValueError[fit.epochs],
  // [fit.steps_per_epoch] and [fit.initial_epoch] for less than 0, ValueError[fit.validation] when
  // validation_x or validation_y is missing or validation_split leaves no rows on either side,
  // [fit.validation_sample_weight] for weights without those rows or that do not fit, ValueError[fit.labels]
  // for a class number that the outputs have no place for, for a label outside of [0, 1] where the loss takes
  // shares, and for another number of tensors than compile() knows outputs of, [fit.ids] for an input's id
  // that an Embedding has no row for, [fit.validation_labels] and [fit.validation_ids] for those of the
  // validation data, ValueError[fit.outputs] when the model gives another number,
  // ValueError[fit.sample_weight] and [fit.class_weight] for weights that do not fit and for the weight of a
  // class that the outputs have no place for, StateError[fit.variable] when the model reads a trainable
  // variable that is not one of its own, [fit.trainable] when all that it could train is frozen, and for one
  // that cannot be trained.
  std::vector<Logs> fit(const TensorList& x, const TensorList& y, const FitOptions& options = {},
                        Location at = Location::here());
  // Trains on the elements of a dataset, which are batches: the tensors of x, those of y, one for each
  // output, and the weight of each row behind them where options.weighted says so; batch_size and shuffle do
  // not count. Batches may differ in their number of rows. An epoch is a pass over the dataset to its end,
  // whether its cardinality is known or not, or steps_per_epoch batches: then it goes on where the last one
  // ended, and behind the end of the dataset comes its begin (repeat()). A dataset without end needs them:
  // ValueError[fit.steps_per_epoch].
  //
  // Among several workers (strategy.h), of a source in two or more shards (from_source(), from_files()) that
  // map(), prefetch() and repeat() alone lie behind, then batch(), and then perhaps repeat() and prefetch(),
  // each worker opens owned_shards() and no others. They read the same batches as one reader would, in the
  // same order, and what prefetch() says is not read ahead. The rows of a batch come from the shards in turn,
  // so one of fewer rows than there are shards leaves workers without any. With ModelOptions::logical_shards
  // such a source has as many shards, and logical shard k of a batch is what shard k gave: raises
  // ValueError[fit.logical_shards] for another number. All else, as behind shuffle() or filter(), is read
  // whole by every worker, which works on its rows of each batch. evaluate() reads as fit() does.
  //
  // Raises besides what fit raises for rows in memory, of each batch before
  // its step, ShapeError[fit.rows] for batches of other tensors and a pass without any,
  // ValueError[fit.validation] for a validation_split, and for validation_data without end,
  // ValueError[fit.sample_weight] for one beside the dataset, and what its iterators raise.
  std::vector<Logs> fit(const Dataset& batches, const FitOptions& options = {},
                        Location at = Location::here());
  // Ends the run of fit() after this batch, or this epoch, with the hooks that belong to its end.
  void stop_training();
  // One step on these rows, as a step of fit, none where all weigh 0: its loss and metrics. Raises as fit
  // does, under "train_on_batch".
  Logs train_on_batch(const TensorList& x, const TensorList& y, const Tensor& sample_weight = {},
                      Location at = Location::here());
  // The program of such a step, as StableHLO text, after `after`: "trace" is the forward pass, then come its
  // rewrites "add_gradients", "fold_observations", "update", "check_numerics" where it is asked for,
  // "keep_results", the passes "fold", "simplify", "swap_dot", "cse", "dce", and what plans of this CPU begin
  // with, "decompose", "integer_products". Empty: after all rewrites. Changes no variable. Raises
  // StateError[step_program.compile], ShapeError[step_program.rows], ValueError[function.after] for another
  // name.
  std::string step_program(const TensorList& x, const TensorList& y, const std::string& after = "",
                           Location at = Location::here());
  // Loss and metrics over all rows. Raises as fit does, under "evaluate".
  Logs evaluate(const TensorList& x, const TensorList& y, int64_t batch_size = 256,
                Location at = Location::here());
  // The same with options. Raises ValueError[evaluate.weighted] for an option of datasets.
  Logs evaluate(const TensorList& x, const TensorList& y, const EvaluateOptions& options,
                Location at = Location::here());
  // The same over the batches of a dataset, which are as for fit. Raises ValueError[evaluate.dataset] for one
  // without end, ValueError[evaluate.sample_weight] for weights beside it.
  Logs evaluate(const Dataset& batches, const EvaluateOptions& options = {}, Location at = Location::here());
  // Outputs for all rows, in order, in the dtype of the last layer; needs no compile(). Raises
  // ShapeError[predict.rows] without rows or when outputs are not one row for each row of x,
  // ValueError[predict.batch_size] for less than 1, ValueError[layer.outputs] when there are several,
  // ValueError[predict.ids] as fit does [fit.ids].
  Tensor predict(const TensorList& x, int64_t batch_size = 256, Location at = Location::here());
  // The same for models of several outputs.
  Tensors predict_all(const TensorList& x, int64_t batch_size = 256, Location at = Location::here());
  // The same for the batches of a dataset: x, or the first tensors, as many as the model took in its first
  // call, so that what fit takes can be predicted too. Raises ValueError[predict.dataset] for one without
  // end.
  Tensor predict(const Dataset& batches, Location at = Location::here());
  Tensors predict_all(const Dataset& batches, Location at = Location::here());
  // A table of the layers in the order of their calls: path, outputs, variables, arithmetic, each for the
  // layer itself, without those that it calls, and by the types of the model's first inputs. A variable
  // counts where it is met first, the state of generators nowhere. Below it the totals, and the memory of
  // activations: the outputs of the layers that call no others. Raises StateError[summary.built] before the
  // first call.
  std::string summary(Location at = Location::here());
  // Writes the folder `path` that load_model (saved_model.h) reads: weights, and the graphs of regularizers,
  // and of inference and of training for any batch size, or, when the model computes otherwise for each, for
  // that of its first call. Other axes have the sizes of that call. A saved model that is there is replaced
  // in one step. Raises StateError[save.built] before the first call, ShapeError[save.rows] when inputs have
  // no rows, IoError[save.path] when `path` is something else, ValueError[save.name] for a layer whose name
  // is not UTF-8, ValueError[save.files], ValueError[save.regularizer] for regularizers whose constants have
  // more than 2 MiB together: arrays belong into variables, which are saved too.
  void save(const std::string& path, const SaveOptions& options = {}, Location at = Location::here());

 private:
  struct Training;
  struct Shared;
  std::shared_ptr<Training> training(const char* rule) const;
  Tensor only_output(Tensors outputs) const;
  std::shared_ptr<Shared> shared_;
};

// The rows of a step.
struct TrainRows {
  std::span<const Tensor> x, y;
  // f32[rows]: what each counts, by weights of classes and of rows; 0 for rows that fill a batch up.
  Tensor weight;
};

// A model that says what a step of fit and train_on_batch does: Keras' train_step. It may have several
// optimizers and other losses; rows, callbacks, logs, checkpoints, strategies and the ledger are fit's.
//
//     struct Gan : CustomModel {
//       LossSums train_step(const TrainRows& rows) override { ... }
//       std::vector<Metric> step_metrics() const override { return {critic_loss}; }
//       std::vector<Optimizer> step_optimizers() const override { return {critic_optimizer, optimizer}; }
//       ...
//     };
class CustomModel : public Model {
 public:
  using Model::Model;
  // Changes variables by some rows of a batch, and gives their loss. It is traced, and run as Strategy::run()
  // runs a function: on each replica with its part of the rows, where strategy::all_reduce() adds up
  // gradients, and random numbers, metrics and observations are those of the batch. Logs have the loss of all
  // rows, and step_metrics(), which it updates. compile()'s optimizer, loss and metrics are those of
  // evaluate() and of validation, as far as it does not use them itself. fit raises
  // ValueError[fit.train_step] for check_numerics and a loss_scale of compile(), and where logical shards are
  // not the strategy's.
  virtual LossSums train_step(const TrainRows& rows) = 0;
  // In the logs of training, and reset with each epoch. Asked by compile().
  virtual std::vector<Metric> step_metrics() const { return {}; }
  // What checkpoints keep, besides compile()'s and the variables of the step. Asked by compile().
  virtual std::vector<Optimizer> step_optimizers() const { return {}; }
};

// Layers one after another; each casts its input by its own dtype policy.
class Sequential : public Model {
 public:
  // Takes any layers, by value: Sequential{Flatten(), Dense({.units = 10})}.
  template <class... Layers>
  requires(std::is_base_of_v<Layer, Layers>&&...) explicit Sequential(Layers... layers)
      : Model("sequential"), layers_{std::make_shared<Layers>(std::move(layers))...} {
    keep_input_dtype();
  }
  // One more at the end. Raises StateError[sequential.add] after the first call.
  template <class L>
  requires(std::is_base_of_v<Layer, L>) Sequential& add(L layer, Location at = Location::here()) {
    append(std::make_shared<L>(std::move(layer)), at);
    return *this;
  }

 protected:
  Tensors call_many(Inputs<Tensor> inputs) override;

 private:
  void append(std::shared_ptr<Layer> layer, Location at);
  std::vector<std::shared_ptr<Layer>> layers_;
};

}  // namespace espalier
