// A training run as plain data: what flags and TOML files say, and all that a run depends on. docs/plan.md
// says what each key means. Without a label a plan is one for images.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "espalier/callbacks.h"
#include "espalier/columns.h"
#include "espalier/error.h"
#include "espalier/pooling.h"

namespace espalier {

struct DataPlan {
  std::string file = {};
  std::string test = {};   // a file of its own; empty: test_fraction of the rows
  std::string label = {};  // empty: `file` holds images
  std::vector<std::string> ignore = {};
  std::vector<std::string> include = {};
  std::string task = "guess";
  bool strip_label_dots = false;
  bool merge_labels = false;
  std::string delimiter = {};  // empty: guessed
  std::string header = "guess";
  std::string decimal = "guess";
  std::vector<std::string> names = {};
  std::vector<std::string> missing = ColumnOptions{}.missing;
  int64_t max_categories = ColumnOptions{}.max_categories;
  std::string split = "random";  // or "order": the last are test rows
  double test_fraction = 0.2;
  double validation_fraction = 0.1;       // of the other rows
  std::string licence = {}, origin = {};  // kept with the model
  std::string schema = {};                // that rows must be as; empty: none
  std::string environment = {};           // one of the schema's
  std::string quarantine = {};            // a CSV of rows that are not; empty: they are refused
  std::string slice = {};                 // a column by which rows that are not are counted; empty: none
  std::vector<int64_t> image_size = {};   // height and width; empty: from the files
};

// One by its name, or with options.
struct NamedInitializer {
  std::string name = "glorot_uniform";
};
struct ConstantPlan {
  double value = 0;
};
struct IdentityPlan {
  double gain = 1;
};
struct OrthogonalPlan {
  double gain = 1;
};
struct RandomNormalPlan : initializers::RandomNormalOptions {};
struct TruncatedNormalPlan : initializers::RandomNormalOptions {};
using InitializerPlan = std::variant<NamedInitializer, ConstantPlan, IdentityPlan, OrthogonalPlan,
                                     initializers::RandomUniformOptions, RandomNormalPlan,
                                     TruncatedNormalPlan, initializers::VarianceScalingOptions>;

struct DensePlan {
  int64_t units = 1;
  std::string activation = "linear";
  bool use_bias = true;
  InitializerPlan kernel_initializer = NamedInitializer{};
  InitializerPlan bias_initializer = NamedInitializer{"zeros"};
  regularizers::L1L2Options kernel_regularizer = {};
  regularizers::L1L2Options bias_regularizer = {};
};
struct Conv2DPlan {
  int64_t filters = 1;
  Dims kernel_size = {3, 3};
  Dims strides = {1, 1};
  std::string padding = "valid";
  std::string activation = "linear";
  bool use_bias = true;
  InitializerPlan kernel_initializer = NamedInitializer{};
  InitializerPlan bias_initializer = NamedInitializer{"zeros"};
  regularizers::L1L2Options kernel_regularizer = {};
  regularizers::L1L2Options bias_regularizer = {};
};
struct DropoutPlan {
  double rate = 0;
};
struct ActivationPlan {
  std::string activation = "linear";
};
struct FlattenPlan {};
struct ReshapePlan {
  Dims target_shape = {-1};
};
using LayerPlan = std::variant<DensePlan, DropoutPlan, BatchNormalizationOptions, LayerNormalizationOptions,
                               ActivationPlan, ReLUOptions, FlattenPlan, ReshapePlan, Conv2DPlan,
                               MaxPooling2DOptions, AveragePooling2DOptions, GlobalAveragePooling2DOptions>;

struct ModelPlan {
  std::string path = "model";
  std::vector<LayerPlan> layers;         // a Dense layer that fits the label follows them
  bool compare_linear = false;           // a linear model is kept where it is better on the validation rows
  std::optional<double> threshold = {};  // of two classes, from which on a row is said to be of the positive
  std::string positive = {};             // that class; "": by the schema, a known pair, or the rarer one
};

using DecayPlan =
    std::variant<double, CosineDecay, ExponentialDecay, PiecewiseConstantDecay, PolynomialDecay>;
// `then` stands for the one of `rule`.
struct WarmUpPlan {
  WarmUp rule;
  DecayPlan then;
};
using RatePlan =
    std::variant<double, CosineDecay, ExponentialDecay, PiecewiseConstantDecay, PolynomialDecay, WarmUpPlan>;
// `learning_rate` stands for the one of `rule`.
template <class Rule>
struct OptimizerOf {
  Rule rule = {};
  RatePlan learning_rate = *Rule{}.learning_rate.constant();
};
using OptimizerPlan = std::variant<OptimizerOf<SGD>, OptimizerOf<Adam>, OptimizerOf<AdamW>,
                                   OptimizerOf<RMSprop>, OptimizerOf<Adagrad>>;

// Cross-entropy for a class, mean squared error for a number.
struct AutoLoss {};
struct CrossentropyPlan {};
struct MeanSquaredErrorPlan {};
struct MeanAbsoluteErrorPlan {};
using LossPlan =
    std::variant<AutoLoss, CrossentropyPlan, MeanSquaredErrorPlan, MeanAbsoluteErrorPlan, HuberOptions>;

// "none", "balanced", or a weight for each class that does not count 1.
using ClassWeights = std::variant<std::string, std::map<std::string, double>>;

struct FitPlan {
  int epochs = 60;  // at most
  int64_t batch_size = 64;
  bool shuffle = true;
  int steps_per_epoch = 0;
  uint64_t seed = 0;
  uint64_t nudge = 0;  // the seed of it; 0: none
  std::string dtype = "f32";
  ClassWeights class_weight = "none";
  std::vector<std::string> metrics = {"auto"};  // "auto": accuracy of a class, nothing of a number
  int64_t checkpoint_every = 0;                 // steps; 0: only when the run is interrupted
};

struct DistributePlan {
  std::string strategy = "one";
  int devices = 0;         // of mirrored; 0: one a core
  int logical_shards = 0;  // 0: none
  // Bytes of gradients of the first message of a step, and of others.
  int64_t first_bucket = int64_t{1} << 20, bucket = int64_t{25} << 20;
  int64_t audit_steps = 100;      // of multiworker; 0: never
  std::string compress = "none";  // of multiworker: none or bf16

  bool operator==(const DistributePlan&) const = default;
};

// Of this machine. docs/devices.md.
struct DevicePlan {
  std::string name = "cpu";
  std::vector<std::string> plugins = {};
  bool memory_growth = false;
  double memory_fraction = 0;  // 0: the plugin's choice
  std::string matmul_precision = "highest";

  bool operator==(const DevicePlan&) const = default;
  bool is_cpu() const;
};

struct CSVLoggerPlan {
  std::string path = {};
  CSVLoggerOptions options = {};
};
struct TerminateOnNaNPlan {};
using CallbackPlan = std::variant<EarlyStoppingOptions, ReduceLROnPlateauOptions, ModelCheckpointOptions,
                                  CSVLoggerPlan, TerminateOnNaNPlan>;

struct TrainPlan {
  DataPlan data;
  ModelPlan model;
  OptimizerPlan optimizer = OptimizerOf<Adam>{};
  LossPlan loss = AutoLoss{};
  FitPlan fit;
  DistributePlan distribute = {};
  DevicePlan device = {};
  std::vector<CallbackPlan> callbacks;
  // Where a file says them, "plan.toml, line 3, column 9", by path: data.label, data.ignore[1].
  std::map<std::string, std::string> places = {};
};

// f(), whose mistakes are about what the plan says at `path`: they name the place.
template <class F>
auto said_at(const TrainPlan& plan, const std::string& path, F f) {
  const auto place = plan.places.find(path);
  if (place == plan.places.end()) return f();
  const auto placed = [&](const Error& error) { return place->second + ": " + error.message(); };
  try {
    return f();
  } catch (const ValueError& error) {
    throw ValueError(error.rule(), placed(error), error.fix());
  } catch (const IoError& error) {
    throw IoError(error.rule(), placed(error), error.fix());
  }
}

// What `train` does when it is told nothing else.
TrainPlan table_plan();
TrainPlan image_plan();
// The layers of --hidden.
std::vector<LayerPlan> hidden_layers(const std::vector<int64_t>& units, bool images);

// The plan that TOML text says; keys that it leaves out are those of table_plan, or of image_plan when there
// is no label, neither there nor as `label`, which counts more. Relative paths are taken from `folder`.
// Raises FormatError with `source`, line and column: plan.size beyond 1 MiB, plan.syntax, plan.key,
// plan.type, plan.range, plan.choice, plan.required, plan.options for options that do not fit together.
TrainPlan read_plan(const std::string& text, const std::string& source, const std::string& folder = "",
                    const std::string& label = "");
// As TOML, every key spelled out, with comments. Raises ValueError[toml.utf8] for text that TOML cannot hold.
std::string write_plan(const TrainPlan& plan);
// Every path of the plan, as it may be rewritten.
void for_paths(TrainPlan& plan, const std::function<void(std::string& path)>& visit);

// What a plan's parts stand for. They raise what the library raises for options outside of their range.
std::shared_ptr<Callback> make_callback(const CallbackPlan& plan);
// The plan's callback of this number; what it says of the run, it says with its place.
std::shared_ptr<Callback> placed_callback(const TrainPlan& plan, size_t number);
// The plan with these files beside what its ModelCheckpoint saves, so that the command takes them for models
// as it does the one that ends the run.
TrainPlan with_checkpoint_files(TrainPlan plan,
                                const std::function<std::map<std::string, std::string>()>& files);
// The policy of fit.dtype: float32, mixed_bfloat16 or mixed_float16.
inline DTypePolicy policy_of(const std::string& dtype) {
  return dtype == "bf16" ? "mixed_bfloat16" : dtype == "f16" ? "mixed_float16" : "float32";
}
Optimizer make_optimizer(const OptimizerPlan& plan);
LearningRateSchedule make_schedule(const RatePlan& plan);
Initializer make_initializer(const InitializerPlan& plan);
void add_layer(Sequential& model, const LayerPlan& plan, const DTypePolicy& dtype);
// What the layer behind a plan's layers computes in, whatever their dtype: a loss is not of rounded numbers.
inline constexpr const char* kLastDType = "float32";
// Raises what the plan's first layer says, and its place, that cannot follow the ones before it for rows of
// these sizes; and ValueError[plan.layers] where the last Dense layer would not get a list of numbers a row.
void check_layers(const TrainPlan& plan, const Dims& row);
// Raises ValueError[train.loss] for one that does not fit what is learned.
Loss make_loss(const LossPlan& plan, bool classification);
// `classes`: how many the label has, 0 when it is a number; `positive`: of two the one that metrics count.
void compile(Model& model, const TrainPlan& plan, int64_t classes, int64_t positive = 1);
// Epochs, batches and callbacks. `shown`: progress on standard error among them.
FitOptions fit_options(const TrainPlan& plan, bool shown = true);
// What a plan's metrics may be called.
std::vector<std::string> metric_names();
// Of these names. Raises ValueError[train.metrics] for one that does not fit what is learned.
std::vector<Metric> make_metrics(const std::vector<std::string>& names, int64_t classes,
                                 int64_t positive = 1);
// By class number, for classes of these names and the training rows' labels i32[rows]. Raises
// ValueError[train.class_weight] for a name that is no class.
std::map<int64_t, double> make_class_weights(const ClassWeights& weights,
                                             const std::vector<std::string>& classes, const Tensor& labels);

}  // namespace espalier
