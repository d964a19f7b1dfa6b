#include "cli/train_flags.h"

#include <charconv>
#include <limits>
#include <type_traits>
#include <variant>

#include "base/format.h"
#include "cli/missing_flag.h"
#include "cli/strategy_flags.h"
#include "cli/table_flags.h"
#include "tables/image_files.h"

namespace espalier::cli {
namespace {

// "64", "48x64": height and width. Raises CLI::ValidationError.
std::vector<int64_t> image_size_of(const std::string& text) {
  const size_t times = text.find('x');
  std::vector<int64_t> out;
  for (const std::string& side :
       {text.substr(0, times), times == text.npos ? text : text.substr(times + 1)}) {
    int64_t& value = out.emplace_back(0);
    const auto [end, error] = std::from_chars(side.data(), side.data() + side.size(), value);
    if (error != std::errc() || end != side.data() + side.size() || value < 1 || value > kMostPixels)
      throw CLI::ValidationError("--image-size", cat("\"", text, "\" is no size from 1 to ", kMostPixels,
                                                     ": 64, or height and width as 48x64"));
  }
  return out;
}

constexpr int kDeterministicShards = 8;

// A flag that changes a plan: `set`(plan, value), or the place `set`(plan) of its value.
template <class T, class Set>
CLI::Option* add_change(CLI::App& verb, TrainFlags& flags, const char* name, const char* help, Set set) {
  return verb.add_option_function<T>(
      name,
      [&flags, set](const T& value) {
        flags.changes.push_back([set, value](TrainPlan& plan) {
          if constexpr (std::is_invocable_v<Set, TrainPlan&>)
            set(plan) = value;
          else
            set(plan, value);
        });
      },
      help);
}

}  // namespace

void add_data_flags(CLI::App& verb, TrainFlags& flags) {
  add_change<std::string>(
      verb, flags, "--data",
      "Training data: with --label a table (CSV, JSON Lines or TFRecord); without "
      "--label images: a folder with one sub-folder of JPEG and PNG files per class, a "
      "folder of two IDX files, images and labels (MNIST), or a CSV of square images, one per row, with the "
      "label in the last column",
      [](TrainPlan& plan) -> std::string& { return plan.data.file; })
      ->option_text("FILE|FOLDER");
  verb.add_option("--label", flags.label, "Column to predict: its name, its number (from 1), or `last`")
      ->option_text("COLUMN")
      ->transform(a_column());
  add_change<std::string>(verb, flags, "--test", "Table of test rows (default: a share of --data)",
                          [](TrainPlan& plan) -> std::string& { return plan.data.test; })
      ->option_text("FILE");
  add_change<double>(
      verb, flags, "--test-fraction",
      "Share of rows held out as test rows: rows of a table by --split, the last images of an IDX or CSV "
      "file, files spread over each class of a folder (unless it has train/ and test/). Of the other rows of "
      "a table, a tenth are validation rows (a plan can set another share)",
      [](TrainPlan& plan) -> double& { return plan.data.test_fraction; })
      ->check(number_from(0.0, 1.0))
      ->option_text("X [0.2]");
  add_change<std::string>(
      verb, flags, "--image-size",
      "Resize images of a folder to NxN or HxW pixels (default: the median size, at most 64)",
      [](TrainPlan& plan, const std::string& size) { plan.data.image_size = image_size_of(size); })
      ->option_text("N|HxW");
  add_change<std::string>(
      verb, flags, "--split",
      "Test rows of a table: random rows, or the last rows in file order (for rows sorted by time)",
      [](TrainPlan& plan) -> std::string& { return plan.data.split; })
      ->check(one_of_words({"random", "order"}))
      ->option_text("random|order [random]");
  using Words = std::vector<std::string>;
  add_change<Words>(verb, flags, "--ignore", "Columns not used as inputs, comma-separated",
                    [](TrainPlan& plan, const Words& names) { plan.data.ignore = comma_separated(names); })
      ->allow_extra_args(false)
      ->option_text("COLUMN,...");
  add_change<Words>(
      verb, flags, "--include",
      "Columns used as inputs even if `train` would drop them as identifiers, constants or free text",
      [](TrainPlan& plan, const Words& names) { plan.data.include = comma_separated(names); })
      ->allow_extra_args(false)
      ->option_text("COLUMN,...");
  add_missing(verb, flags.missing);
  add_change<std::string>(
      verb, flags, "--task",
      "Task: class (classification), number (regression), or guess (by the values of the label column)",
      [](TrainPlan& plan) -> std::string& { return plan.data.task; })
      ->check(one_of_words({"guess", "class", "number"}))
      ->option_text("guess|class|number [guess]");
  verb.add_flag_callback(
      "--strip-label-dots",
      [&flags] { flags.changes.push_back([](TrainPlan& plan) { plan.data.strip_label_dots = true; }); },
      "Strip a trailing dot from labels: read \"x.\" as \"x\"");
  verb.add_flag_callback(
      "--merge-labels",
      [&flags] { flags.changes.push_back([](TrainPlan& plan) { plan.data.merge_labels = true; }); },
      "Merge labels that differ only in case, blanks or look-alike characters");
  add_change<std::string>(verb, flags, "--licence", "Licence of the data, saved with the model",
                          [](TrainPlan& plan) -> std::string& { return plan.data.licence; })
      ->option_text("TEXT");
  add_change<std::string>(verb, flags, "--origin", "Origin of the data, saved with the model",
                          [](TrainPlan& plan) -> std::string& { return plan.data.origin; })
      ->option_text("TEXT");
  add_change<std::string>(
      verb, flags, "--schema",
      "Validate the rows of a table against this schema. Words in its domains are values, not "
      "missing cells",
      [](TrainPlan& plan) -> std::string& { return plan.data.schema; })
      ->option_text("FILE");
  add_change<std::string>(verb, flags, "--environment",
                          "With a schema: environment of the rows, e.g. TRAINING",
                          [](TrainPlan& plan) -> std::string& { return plan.data.environment; })
      ->option_text("NAME");
  add_change<std::string>(
      verb, flags, "--quarantine",
      "With a schema: leave out invalid rows, and write them to this CSV file, each with a "
      "reason",
      [](TrainPlan& plan) -> std::string& { return plan.data.quarantine; })
      ->option_text("FILE")
      ->check(a_name());
  add_change<std::string>(verb, flags, "--slice",
                          "With a schema: count invalid rows by the values of this column",
                          [](TrainPlan& plan) -> std::string& { return plan.data.slice; })
      ->option_text("COLUMN")
      ->transform(a_column());
  add_table_reading(verb, flags.table);
}

void add_training_flags(CLI::App& verb, TrainFlags& flags) {
  add_change<int>(verb, flags, "--epochs",
                  "Passes over the training rows. Default: 5 for images in IDX or CSV files; 5 to 60 for a "
                  "folder of JPEG and PNG files, more for fewer files; at most 60 for a table, with early "
                  "stopping",
                  [](TrainPlan& plan) -> int& { return plan.fit.epochs; })
      ->check(number_from(int64_t{0}, 1 << 30))
      ->option_text("N");
  add_change<int64_t>(verb, flags, "--batch",
                      "Global batch size: rows per training step, divided among all devices and workers",
                      [](TrainPlan& plan) -> int64_t& { return plan.fit.batch_size; })
      ->check(number_from(int64_t{1}, 1 << 30))
      ->option_text("N [64]");
  add_change<std::string>(
      verb, flags, "--class-weight",
      "Class weights of the loss: balanced gives every class the same total weight, whatever its number of "
      "rows",
      [](TrainPlan& plan, const std::string& weight) { plan.fit.class_weight = ClassWeights(weight); })
      ->check(one_of_words({"none", "balanced"}))
      ->option_text("none|balanced [none]");
  verb.add_option_function<std::vector<std::string>>(
          "--hidden",
          [&flags](const std::vector<std::string>& words) {
            for (const std::string& units : comma_separated(words)) {
              if (const std::string wrong = number_from(int64_t{1}, 1 << 20)(units); !wrong.empty())
                throw CLI::ValidationError("--hidden", wrong);
              flags.hidden.push_back(std::stoll(units));
            }
          },
          "Units of each hidden layer, comma-separated. Without --hidden, a linear model of a table is "
          "trained, too, and the better model is kept")
      ->allow_extra_args(false)
      ->option_text("N,... [128; table: 128,64]");
  add_change<double>(
      verb, flags, "--threshold",
      "Two classes: predict the positive class at this probability or above, saved with the model (default: "
      "predict the more likely class)",
      [](TrainPlan& plan, double threshold) { plan.model.threshold = threshold; })
      ->check(number_from(0.0, 1.0))
      ->option_text("X");
  add_change<std::string>(verb, flags, "--positive",
                          "Two classes: the positive class of rates and metrics, saved with the model. "
                          "Default: the favourable label of --schema, else that of a known pair (yes of "
                          "yes/no, 1 of 1/0), else the rarer class if it has at most 40% of the rows",
                          [](TrainPlan& plan) -> std::string& { return plan.model.positive; })
      ->option_text("VALUE");
  add_change<double>(verb, flags, "--learning-rate,--lr",
                     "Learning rate of the optimizer (Adam, unless a plan names another)",
                     [](TrainPlan& plan, double rate) {
                       std::visit([&](auto& optimizer) { optimizer.learning_rate = rate; }, plan.optimizer);
                     })
      ->check(number_from(0.0, std::numeric_limits<double>::max()))
      ->option_text("X [0.001]");
  add_dtype(verb, flags.dtype)
      ->description(
          "Dtype that layers compute in, except the last (f32); variables stay f32 (Keras policies "
          "mixed_bfloat16, mixed_float16)");
  add_seed(verb, flags.seed);
  add_change<uint64_t>(
      verb, flags, "--nudge",
      "Measure rounding: after each step, move every weight to an adjacent floating-point number, up or down "
      "at random, drawn with this seed (0 = off). The difference from a run without --nudge is the effect of "
      "rounding",
      [](TrainPlan& plan) -> uint64_t& { return plan.fit.nudge; })
      ->option_text("N [0]");
  add_strategy(verb, flags.distribute, &flags.device);
  add_device(verb, flags.device);
  add_change<std::string>(verb, flags, "--compress",
                          "With --strategy multiworker: dtype of gradients sent between workers. none sends "
                          "f32; bf16 halves the bytes and keeps 8 bits of precision",
                          [](TrainPlan& plan) -> std::string& { return plan.distribute.compress; })
      ->check(one_of_words({"none", "bf16"}))
      ->option_text("none|bf16 [none]");
  verb.add_flag_callback(
      "--deterministic",
      [&flags] {
        flags.changes.push_back([](TrainPlan& plan) {
          if (plan.distribute.logical_shards == 0) plan.distribute.logical_shards = kDeterministicShards;
        });
      },
      "Sum gradients over 8 logical shards of each batch, so that weights are bit-identical for any number "
      "of devices or workers of one kind (beyond 8, some have no work). Slower; without it, weights for "
      "different numbers differ by rounding");
}

void add_saving_flags(CLI::App& verb, TrainFlags& flags) {
  add_change<std::string>(
      verb, flags, "--model",
      "Folder to save the model in. A saved model there is replaced if it predicts the same "
      "label column, or the same classes of images",
      [](TrainPlan& plan) -> std::string& { return plan.model.path; })
      ->option_text("FOLDER [model]");
  verb.add_flag("--force", flags.force, "Replace a saved model whatever it predicts");
  add_change<int64_t>(
      verb, flags, "--checkpoint-every",
      "Save the run as MODEL.checkpoint every N steps, for --resume after a crash (default: only when Ctrl-C "
      "or a signal stops the run)",
      [](TrainPlan& plan) -> int64_t& { return plan.fit.checkpoint_every; })
      ->check(number_from(int64_t{1}, 1 << 30))
      ->option_text("N");
  verb.add_flag("--resume", flags.resume, "Continue the run saved in MODEL.checkpoint");
}

}  // namespace espalier::cli
