#include "cli/plan_fields.h"

#include <cmath>

#include "base/format.h"
#include "base/shortest.h"
#include "cli/plan_text.h"

namespace espalier::cli {
namespace {

// Of images there is less to say.
Fields data_fields(DataPlan& plan) {
  Fields out = {{.key = "file",
                 .target = &plan.file,
                 .meaning = "CSV, JSON Lines or TFRecord; without a label a folder of images by class or of "
                            "IDX files, or a CSV of square images",
                 .path = true},
                {"label", &plan.label, "Column to learn: its name, its number from 1, or last"},
                {"test_fraction", &plan.test_fraction, "Share of the rows for the test", {0, 1, true, true}},
                {"licence", &plan.licence, "What allows the use of the data; kept with the model"},
                {"origin", &plan.origin, "Where the data comes from; kept with the model"}};
  if (plan.label.empty()) {
    out.push_back({"image_size", &plan.image_size,
                   "Height and width that images of a folder are given; [] for those in the middle of "
                   "theirs, at most 64",
                   between(1, 1 << 16)});
    return out;
  }
  const Fields tables = {
      {.key = "test",
       .target = &plan.test,
       .meaning = "Table of test rows, instead of test_fraction",
       .path = true},
      {"split",
       &plan.split,
       "Which are test rows: some at random, or in the file's order the last; by a column: data split "
       "--by-time",
       {},
       {"random", "order"}},
      {"validation_fraction",
       &plan.validation_fraction,
       "Share of the others for validation",
       {0, 1, true, true}},
      {"ignore", &plan.ignore, "Columns that are no inputs"},
      {"include", &plan.include, "Columns that are inputs even where they would be set aside"},
      {"task", &plan.task, "What the label is", {}, {"guess", "class", "number"}},
      {"strip_label_dots", &plan.strip_label_dots, "Whether labels \"x.\" are \"x\""},
      {"merge_labels", &plan.merge_labels,
       "Whether labels that differ in capitals or blanks alone, or look the same, are one"},
      {"delimiter", &plan.delimiter, "Between cells; empty: guessed", between(0, 1)},
      {"header", &plan.header, "Whether the first line holds names", {}, {"guess", "yes", "no"}},
      {"decimal", &plan.decimal, "The decimal sign of numbers", {}, {"guess", ".", ","}},
      {"names", &plan.names, "Names of the columns; [] for the file's"},
      {"missing", &plan.missing, "Cells that hold no value"},
      {"max_categories", &plan.max_categories, "Categories with an input of their own", between(1, 1 << 20)},
      {.key = "schema", .target = &plan.schema, .meaning = "Rows must be as this schema says", .path = true},
      {"environment", &plan.environment, "Where the rows are used: one of the schema's"},
      {.key = "quarantine",
       .target = &plan.quarantine,
       .meaning = "CSV for bad rows, each with its reason",
       .path = true},
      {"slice", &plan.slice, "Column by which rows that are not as the schema says are counted"}};
  out.insert(out.end(), tables.begin(), tables.end());
  return out;
}

Fields model_fields(ModelPlan& plan, bool images) {
  Fields out = {
      {.key = "path", .target = &plan.path, .meaning = "Folder that the model is saved in", .path = true},
      {"layers", many(plan.layers), "A Dense layer that fits the label follows them"}};
  if (!images) {
    out.push_back(
        {"compare_linear", &plan.compare_linear,
         "Whether a linear model that is better on validation rows is kept; left out beside layers, false"});
    out.push_back(
        {"threshold", &plan.threshold,
         "Of two classes: the probability from which on a row is said to be of the positive one; none: "
         "of the likelier",
         between(0, 1)});
    out.push_back(
        {"positive", &plan.positive,
         "Of two classes the positive one; left out, the schema's favourable, that of a known pair, or "
         "the rarer of at most 40 % of the rows"});
  }
  return out;
}

Fields fit_fields(FitPlan& plan) {
  return {
      {"epochs", &plan.epochs, "Passes over the training rows, at most", between(0, 1 << 30)},
      {"batch_size", &plan.batch_size, "Rows of one step", between(1, 1 << 30)},
      {"shuffle", &plan.shuffle, "Whether each epoch has an order of its own"},
      {"steps_per_epoch", &plan.steps_per_epoch, "0: as many as the rows make", between(0, 1 << 30)},
      {"seed", &plan.seed, "Decides initial weights, row order and split"},
      {"nudge", &plan.nudge,
       "Not 0: behind each step every weight moves to the next number above or below, by this seed; how far "
       "the run then ends from that without is what rounding makes of it"},
      {"dtype", &plan.dtype, "What layers compute in; the last one in f32", {}, {"f32", "bf16", "f16"}},
      {"class_weight", &plan.class_weight, "What rows of a class count", at_least(0), {"none", "balanced"}},
      {"metrics",
       &plan.metrics,
       "Shown for each epoch; auto: accuracy of a class; auc, precision, recall: of the positive of two, "
       "of images the second",
       {},
       metric_names()},
      {"checkpoint_every", &plan.checkpoint_every, "Steps between saves of the run; 0: when interrupted",
       between(0, 1 << 30)}};
}

constexpr double kMostBucket = 1 << 30;

Fields distribute_fields(DistributePlan& plan) {
  return {
      {"strategy",
       &plan.strategy,
       "Where it trains: one device, mirrored over devices of this machine, multiworker, as one of the "
       "processes that `espalier launch` starts, or tpu, all chips of a TPU, with a process on each host",
       {},
       {"one", "mirrored", "multiworker", "tpu"}},
      {"devices", &plan.devices,
       "Number of replicas (strategy mirrored): pools of cores, or devices of a plugin starting with that of "
       "[device]; 0 = all",
       between(0, 256)},
      {"logical_shards", &plan.logical_shards,
       "Parts of a batch that are summed by one tree, so that the weights do not depend, to the bit, on how "
       "many "
       "devices or workers there are; 8 serves up to 8 of them; 0: none, and faster",
       between(0, 4096)},
      {"first_bucket", &plan.first_bucket,
       "Bytes of gradients that are enough for the first message of a step; a gradient is never cut",
       between(1, kMostBucket)},
      {"bucket", &plan.bucket, "The same of the messages behind it", between(1, kMostBucket)},
      {"audit_steps", &plan.audit_steps,
       "Of multiworker, and of devices of a plugin: steps between comparisons of all variables, the last one "
       "behind the run; 0: never",
       between(0, 1 << 30)},
      {"compress",
       &plan.compress,
       "Of multiworker: what gradients travel as; bf16: half the bytes, each rounded to 8 bits",
       {},
       {"none", "bf16"}}};
}

Fields device_fields(DevicePlan& plan) {
  return {
      {"name", &plan.name,
       "cpu, gpu, tpu, another of `espalier devices`, or a plugin's file; several for mirrored: gpu:0-3"},
      {"plugins", &plan.plugins, "PJRT plugins' files, beside those that are found"},
      {"memory_growth", &plan.memory_growth,
       "Whether a GPU's memory is taken as it is needed, not most of it at once"},
      {"memory_fraction", &plan.memory_fraction,
       "The most of a GPU's memory that is taken; 0: the plugin's choice", between(0, 1)},
      {"matmul_precision",
       &plan.matmul_precision,
       "How a device computes products of f32: as f32; as TF32 or three passes of bfloat16; or as fast as "
       "it can",
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
          {"model", model_fields(plan.model, plan.data.label.empty()), "What learns"},
          {"optimizer", one_of(plan.optimizer), "How gradients change weights"},
          {"loss", one_of(plan.loss), "auto: cross-entropy for a class, mean squared error for a number"},
          {"fit", fit_fields(plan.fit), "The training"},
          {"distribute", distribute_fields(plan.distribute), "Where it trains"},
          {"device", device_fields(plan.device), "What it computes on"},
          {"callbacks", many(plan.callbacks), "What happens between epochs"}};
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

}  // namespace espalier::cli
