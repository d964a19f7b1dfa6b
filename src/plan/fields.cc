#include "plan/fields.h"

#include <cmath>

#include "base/format.h"
#include "base/shortest.h"
#include "plan/text.h"

namespace espalier {
namespace {

// Of images there is less to say.
Fields data_fields(DataPlan& plan) {
  Fields out = {
      {.key = "file",
       .target = &plan.file,
       .meaning = "Training data: a table (CSV, JSON Lines or TFRecord); without a label images: a folder "
                  "with one sub-folder per class, a folder of IDX files, or a CSV of square images",
       .path = true},
      {"label", &plan.label,
       "Column to predict: its name, its number (from 1), or last (empty = learn from images)"},
      {"test_fraction", &plan.test_fraction, "Share of the rows held out as test rows", {0, 1, true, true}},
      {"licence", &plan.licence, "Licence of the data; saved with the model"},
      {"origin", &plan.origin, "Origin of the data; saved with the model"}};
  if (plan.label.empty()) {
    out.push_back({"image_size", &plan.image_size,
                   "Height and width in pixels that images of a folder are resized to ([] = median size of "
                   "the files, at most 64)",
                   between(1, 1 << 16)});
    return out;
  }
  const Fields tables = {
      {.key = "test",
       .target = &plan.test,
       .meaning = "Table of test rows, used instead of test_fraction (empty = none)",
       .path = true},
      {"split",
       &plan.split,
       "Selection of test rows (order = the last rows in file order; to split by a column of times: data "
       "split --by-time)",
       {},
       {"random", "order"}},
      {"validation_fraction",
       &plan.validation_fraction,
       "Share of the remaining rows, those that are not test rows, held out for validation",
       {0, 1, true, true}},
      {"ignore", &plan.ignore, "Columns not used as inputs"},
      {"include", &plan.include,
       "Columns used as inputs even if they would be dropped as identifiers, constants or free text"},
      {"task",
       &plan.task,
       "Task, classification or regression (guess = decide by the label column)",
       {},
       {"guess", "class", "number"}},
      {"strip_label_dots", &plan.strip_label_dots, "Strip a trailing dot from labels: read \"x.\" as \"x\""},
      {"merge_labels", &plan.merge_labels,
       "Merge labels that differ only in case, blanks or look-alike characters"},
      {"delimiter", &plan.delimiter, "Character between cells (empty = guessed)", between(0, 1)},
      {"header", &plan.header, "Read column names from the first line", {}, {"guess", "yes", "no"}},
      {"decimal", &plan.decimal, "Decimal sign of numbers", {}, {"guess", ".", ","}},
      {"names", &plan.names, "Column names ([] = those of the file)"},
      {"missing", &plan.missing, "Cells read as missing values"},
      {"max_categories", &plan.max_categories,
       "Maximum number of categories per column with an input each; the rarer ones share one input",
       between(1, 1 << 20)},
      {.key = "schema",
       .target = &plan.schema,
       .meaning = "Schema to validate the rows against (empty = none)",
       .path = true},
      {"environment", &plan.environment, "Schema environment of the rows, e.g. TRAINING (empty = none)"},
      {.key = "quarantine",
       .target = &plan.quarantine,
       .meaning =
           "CSV file that invalid rows are moved to, each with a reason (empty = invalid rows are an error)",
       .path = true},
      {"slice", &plan.slice, "Column by whose values invalid rows are counted (empty = none)"}};
  out.insert(out.end(), tables.begin(), tables.end());
  return out;
}

Fields model_fields(ModelPlan& plan, bool images) {
  Fields out = {{.key = "path", .target = &plan.path, .meaning = "Folder to save the model in", .path = true},
                {"layers", many(plan.layers),
                 "Layers before the output layer (a Dense layer that fits the label, always added)"}};
  if (!images) {
    out.push_back(
        {"compare_linear", &plan.compare_linear,
         "Keep a linear model if it is better on the validation rows (default if layers are given: false)"});
    out.push_back({"threshold", &plan.threshold,
                   "Probability from which the positive class of a two-class label is predicted (none = "
                   "predict the likelier class)",
                   between(0, 1)});
    out.push_back({"positive", &plan.positive,
                   "Positive class of a two-class label, used by rates and metrics (empty = the favourable "
                   "label of the schema, else that of a known pair such as yes/no, else the rarer class if "
                   "it has at most 40 % of the rows)"});
  }
  return out;
}

Fields fit_fields(FitPlan& plan) {
  return {{"epochs", &plan.epochs,
           "Maximum number of epochs (passes over the training rows, unless steps_per_epoch is set)",
           between(0, 1 << 30)},
          {"batch_size", &plan.batch_size, "Rows per training step", between(1, 1 << 30)},
          {"shuffle", &plan.shuffle, "Shuffle the training rows anew in each epoch"},
          {"steps_per_epoch", &plan.steps_per_epoch,
           "Training steps per epoch (0 = one pass over all training rows); if set, each epoch continues "
           "where the last one ended",
           between(0, 1 << 30)},
          {"seed", &plan.seed, "Random seed for initial weights, row order and the random split of rows"},
          {"nudge", &plan.nudge,
           "Seed for measuring the effect of rounding (0 = off): after each step, every weight moves to an "
           "adjacent floating-point number, and the distance to a run with 0 is that effect"},
          {"dtype",
           &plan.dtype,
           "Dtype that layers compute in, except the last layer (always f32)",
           {},
           {"f32", "bf16", "f16"}},
          {"class_weight",
           &plan.class_weight,
           "Weight of each class in the loss",
           at_least(0),
           {"none", "balanced"}},
          {"metrics",
           &plan.metrics,
           "Metrics of each epoch (auto = accuracy for a class label, none for a number); auc, precision and "
           "recall are those of the positive of two classes (images: the second)",
           {},
           metric_names()},
          {"checkpoint_every", &plan.checkpoint_every,
           "Steps between checkpoints of the run (0 = only when it is interrupted)", between(0, 1 << 30)}};
}

constexpr double kMostBucket = 1 << 30;

Fields distribute_fields(DistributePlan& plan) {
  return {
      {"strategy",
       &plan.strategy,
       "Distribution strategy: one (one device), mirrored (several devices of this machine), multiworker "
       "(the ranks that `espalier launch` starts) or tpu (all chips of a TPU, one process per host)",
       {},
       {"one", "mirrored", "multiworker", "tpu"}},
      {"devices", &plan.devices,
       "Number of replicas (strategy mirrored): pools of cores, or devices of a plugin starting with that of "
       "[device]; 0 = all",
       between(0, 256)},
      {"logical_shards", &plan.logical_shards,
       "Parts of each batch whose gradients are summed in a fixed tree, so that weights are bit-identical "
       "for any number of devices or workers (0 = off, which is faster; 8 is enough for up to 8 devices or "
       "workers)",
       between(0, 4096)},
      {"first_bucket", &plan.first_bucket,
       "Size in bytes at which the first gradient bucket (message) of a step is full; a gradient is never "
       "split",
       between(1, kMostBucket)},
      {"bucket", &plan.bucket, "Size in bytes at which each later gradient bucket of a step is full",
       between(1, kMostBucket)},
      {"audit_steps", &plan.audit_steps,
       "Steps between checks that variables are equal on all workers, or on all devices of a plugin (0 = "
       "never); a last check follows the last step",
       between(0, 1 << 30)},
      {"compress",
       &plan.compress,
       "Dtype of gradients sent between workers, with strategy multiworker (none = f32; bf16 = half the "
       "bytes, 8 bits of precision)",
       {},
       {"none", "bf16"}}};
}

Fields device_fields(DevicePlan& plan) {
  return {
      {"name", &plan.name,
       "Device to run on: cpu, gpu, tpu, another name listed by `espalier devices`, or a plugin file; "
       "gpu:0-3 names several, for strategy mirrored"},
      {"plugins", &plan.plugins, "PJRT plugin files to load, besides those found by default"},
      {"memory_growth", &plan.memory_growth, "Allocate GPU memory as needed, instead of most of it at start"},
      {"memory_fraction", &plan.memory_fraction,
       "Maximum share of GPU memory to allocate (0 = default of the plugin)", between(0, 1)},
      {"matmul_precision",
       &plan.matmul_precision,
       "Precision of f32 matrix products and convolutions on a device (highest = f32; high = TF32 or three "
       "passes of bfloat16; default = fastest)",
       {},
       {"highest", "high", "default"}}};
}

void visit_paths(Fields fields, const std::function<void(std::string&)>& visit) {
  for (Field& field : fields) {
    if (field.path) visit(*std::get<std::string*>(field.target));
    if (auto* group = std::get_if<Fields>(&field.target)) visit_paths(*group, visit);
    if (auto* one = std::get_if<OneOf>(&field.target)) visit_paths(one->fields(), visit);
    if (auto* many = std::get_if<Many>(&field.target)) {
      for (size_t i = 0; i < many->size(); ++i) visit_paths(many->at(i).fields(), visit);
    }
  }
}

std::string range_text(const Range& range) {
  const bool low = std::isfinite(range.low), high = std::isfinite(range.high);
  if (low && high && !range.open_low && !range.open_high)
    return cat(" from ", shortest(range.low), " to ", shortest(range.high));
  std::string out;
  if (low) out = cat(range.open_low ? " above " : " of at least ", shortest(range.low));
  if (high) out += cat(low ? " and" : "", range.open_high ? " below " : " of at most ", shortest(range.high));
  return out;
}

std::string choice_text(const std::vector<std::string>& choices) {
  std::string out;
  for (const std::string& choice : choices) out += cat(out.empty() ? "" : ", ", choice);
  return cat("one of ", out);
}

}  // namespace

bool Range::holds(double value) const {
  return (open_low ? value > low : value >= low) && (open_high ? value < high : value <= high);
}

std::string allowed(const Field& field) {
  struct Text {
    const Field& field;
    std::string operator()(bool*) const { return "true or false"; }
    std::string operator()(int*) const { return whole(); }
    std::string operator()(int64_t*) const { return whole(); }
    std::string operator()(uint64_t*) const {
      return "a whole number of at least 0, in quotes above 2^63 - 1";
    }
    std::string operator()(double*) const { return cat("a number", range_text(field.range)); }
    std::string operator()(std::optional<double>*) const {
      return cat("a number", range_text(field.range), ", or \"none\"");
    }
    std::string operator()(char*) const { return "one character"; }
    std::string operator()(std::string*) const {
      if (!field.choices.empty()) return choice_text(field.choices);
      return std::isfinite(field.range.high) ? "one character, or none" : field.path ? "a path" : "text";
    }
    std::string operator()(Dims*) const { return list("whole numbers"); }
    std::string operator()(std::vector<int64_t>*) const { return list("whole numbers"); }
    std::string operator()(std::vector<double>*) const { return list("numbers"); }
    std::string operator()(std::vector<std::string>*) const {
      return field.choices.empty() ? "a list of texts" : cat("a list, each ", choice_text(field.choices));
    }
    std::string operator()(ClassWeights*) const {
      return cat("\"none\", \"balanced\", or a table of classes and numbers", range_text(field.range));
    }
    std::string operator()(const Fields&) const { return "a table"; }
    std::string operator()(const OneOf& x) const {
      const std::string table = cat("a table with ", x.tag);
      return x.names[x.index()].empty() ? cat(allowed(x.fields()[0]), ", or ", table) : table;
    }
    std::string operator()(const Many&) const { return "a list of tables"; }

    std::string whole() const { return cat("a whole number", range_text(field.range)); }
    std::string list(const char* what) const { return cat("a list of ", what, range_text(field.range)); }
  };
  return std::visit(Text{field}, field.target);
}

Fields fields_of(TrainPlan& plan) {
  return {{"data", data_fields(plan.data), "Training, validation and test data"},
          {"model", model_fields(plan.model, plan.data.label.empty()),
           "Model: its layers and the folder to save it in"},
          {"optimizer", one_of(plan.optimizer), "Optimizer: how gradients update the weights"},
          {"loss", one_of(plan.loss),
           "Loss function (auto = cross-entropy for a class, mean squared error for a number)"},
          {"fit", fit_fields(plan.fit), "Training: epochs, batches, dtype and metrics"},
          {"distribute", distribute_fields(plan.distribute), "Distribution over devices or workers"},
          {"device", device_fields(plan.device), "Device to compute on"},
          {"callbacks", many(plan.callbacks), "Callbacks of the training run"}};
}

void for_paths(TrainPlan& plan, const std::function<void(std::string& path)>& visit) {
  visit_paths(fields_of(plan), visit);
}

TrainPlan table_plan() {
  TrainPlan out;
  out.model.layers = hidden_layers({128, 64}, false);
  out.model.compare_linear = true;
  out.callbacks = {ReduceLROnPlateauOptions{.factor = 0.3, .patience = 2},
                   EarlyStoppingOptions{.patience = 6, .restore_best_weights = true}};
  return out;
}

TrainPlan image_plan() {
  TrainPlan out;
  out.model.layers = hidden_layers({128}, true);
  out.fit.epochs = 5;
  return out;
}

}  // namespace espalier
