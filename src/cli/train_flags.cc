#include "cli/train_flags.h"

#include <limits>
#include <type_traits>
#include <variant>

#include "base/format.h"
#include "cli/image_files.h"
#include "cli/strategy_flags.h"

namespace espalier::cli {
namespace {

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
  add_change<std::string>(verb, flags, "--data",
                          "The rows: CSV, JSON Lines or TFRecord; or, without --label, a folder with a "
                          "sub-folder of JPEG and PNG "
                          "files for each class, a folder with IDX files (MNIST) or a CSV of square images, "
                          "label last",
                          [](TrainPlan& plan) -> std::string& { return plan.data.file; })
      ->option_text("FILE");
  verb.add_option("--label", flags.label,
                  "The column of the table to learn: its name, its number from 1, or `last`")
      ->option_text("COLUMN")
      ->transform(a_column());
  add_change<std::string>(verb, flags, "--test", "Table of test rows, instead of a share of --data",
                          [](TrainPlan& plan) -> std::string& { return plan.data.test; })
      ->option_text("FILE");
  add_change<double>(
      verb, flags, "--test-fraction",
      "Share of rows kept for the test: of images from the end, of each class of a folder some spread over "
      "the names, unless it has train/ and test/, of a table at random",
      [](TrainPlan& plan) -> double& { return plan.data.test_fraction; })
      ->check(number_from(0.0, 1.0))
      ->option_text("X [0.2]");
  add_change<std::string>(
      verb, flags, "--image-size",
      "Images of a folder are resized to N pixels in height and width, or to HxW; where it is not given, to "
      "the "
      "size in the middle of theirs, at most 64",
      [](TrainPlan& plan, const std::string& size) { plan.data.image_size = image_size_of(size); })
      ->option_text("N|HxW");
  add_change<std::string>(
      verb, flags, "--split",
      "Which rows of a table are test rows: some at random, or the last in the file's order, as "
      "where the future is to be told from the past",
      [](TrainPlan& plan) -> std::string& { return plan.data.split; })
      ->check(one_of_words({"random", "order"}))
      ->option_text("random|order [random]");
  using Words = std::vector<std::string>;
  add_change<Words>(verb, flags, "--ignore", "Columns that are no inputs, between commas",
                    [](TrainPlan& plan, const Words& names) { plan.data.ignore = comma_separated(names); })
      ->allow_extra_args(false)
      ->option_text("COLUMN,...");
  add_change<Words>(verb, flags, "--include",
                    "Columns that are inputs even where they would be set aside, as identifiers, constants "
                    "and free text are",
                    [](TrainPlan& plan, const Words& names) { plan.data.include = comma_separated(names); })
      ->allow_extra_args(false)
      ->option_text("COLUMN,...");
  flags.missing.add(verb);
  add_change<std::string>(verb, flags, "--task",
                          "Whether the label is a class or a number; guessed when not given",
                          [](TrainPlan& plan) -> std::string& { return plan.data.task; })
      ->check(one_of_words({"guess", "class", "number"}))
      ->option_text("guess|class|number [guess]");
  verb.add_flag_callback(
      "--strip-label-dots",
      [&flags] { flags.changes.push_back([](TrainPlan& plan) { plan.data.strip_label_dots = true; }); },
      "Labels \"x.\" are \"x\"");
  verb.add_flag_callback(
      "--merge-labels",
      [&flags] { flags.changes.push_back([](TrainPlan& plan) { plan.data.merge_labels = true; }); },
      "Labels that differ in capitals or blanks alone, or look the same, are one");
  add_change<std::string>(verb, flags, "--licence", "What allows the use of the data; kept with the model",
                          [](TrainPlan& plan) -> std::string& { return plan.data.licence; })
      ->option_text("TEXT");
  add_change<std::string>(verb, flags, "--origin", "Where the data comes from; kept with the model",
                          [](TrainPlan& plan) -> std::string& { return plan.data.origin; })
      ->option_text("TEXT");
  add_change<std::string>(verb, flags, "--schema", "Rows of a table must be as this schema says",
                          [](TrainPlan& plan) -> std::string& { return plan.data.schema; })
      ->option_text("FILE");
  add_change<std::string>(verb, flags, "--environment",
                          "Where the rows are used: one of the schema's environments",
                          [](TrainPlan& plan) -> std::string& { return plan.data.environment; })
      ->option_text("NAME");
  add_change<std::string>(verb, flags, "--quarantine", "Set bad rows aside in this CSV, each with its reason",
                          [](TrainPlan& plan) -> std::string& { return plan.data.quarantine; })
      ->option_text("FILE")
      ->check(a_name());
  add_change<std::string>(verb, flags, "--slice",
                          "Count by this column what becomes of rows that are not as the schema says",
                          [](TrainPlan& plan) -> std::string& { return plan.data.slice; })
      ->option_text("COLUMN")
      ->transform(a_column());
  flags.table.add(verb);
}

void add_training_flags(CLI::App& verb, TrainFlags& flags) {
  add_change<int>(
      verb, flags, "--epochs",
      "Passes over the training rows: of images 5, of a folder 5 to 60, more of fewer images; of a "
      "table at most 60, fewer when the model gets no better",
      [](TrainPlan& plan) -> int& { return plan.fit.epochs; })
      ->check(number_from(int64_t{0}, 1 << 30))
      ->option_text("N");
  add_change<int64_t>(verb, flags, "--batch", "Rows of one step",
                      [](TrainPlan& plan) -> int64_t& { return plan.fit.batch_size; })
      ->check(number_from(int64_t{1}, 1 << 30))
      ->option_text("N [64]");
  add_change<std::string>(
      verb, flags, "--class-weight",
      "balanced: every class counts as much as any other, however few its rows",
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
          "Units of each hidden layer, between commas; where it is not given, a table has a linear model "
          "too, "
          "which is kept where it is better")
      ->allow_extra_args(false)
      ->option_text("N,... [128; of a table 128,64]");
  add_change<double>(verb, flags, "--threshold",
                     "Of two classes: the probability from which on a row is said to be of the positive one; "
                     "the model keeps it",
                     [](TrainPlan& plan, double threshold) { plan.model.threshold = threshold; })
      ->check(number_from(0.0, 1.0))
      ->option_text("X");
  add_change<std::string>(
      verb, flags, "--positive",
      "Of two classes the positive one, which the model keeps and rates count; else the schema's favourable, "
      "that of a known pair, as yes and no, or the rarer one of at most 40 % of the rows",
      [](TrainPlan& plan) -> std::string& { return plan.model.positive; })
      ->option_text("VALUE");
  add_change<double>(verb, flags, "--learning-rate,--lr",
                     "Of the optimizer, which is Adam unless a plan names another",
                     [](TrainPlan& plan, double rate) {
                       std::visit([&](auto& optimizer) { optimizer.learning_rate = rate; }, plan.optimizer);
                     })
      ->check(number_from(0.0, std::numeric_limits<double>::max()))
      ->option_text("X [0.001]");
  add_dtype(verb, flags.dtype)
      ->description(
          "What layers compute in, the last one in f32; variables stay f32 (mixed_bfloat16, mixed_float16)");
  add_seed(verb, flags.seed);
  add_change<uint64_t>(
      verb, flags, "--nudge",
      "Behind each step, move every weight to the next number above or below, by this seed: how far "
      "the run then ends from that without is what rounding makes of it",
      [](TrainPlan& plan) -> uint64_t& { return plan.fit.nudge; })
      ->option_text("N [0: none]");
  add_strategy(verb, flags.distribute, &flags.device);
  add_device(verb, flags.device);
  add_change<std::string>(
      verb, flags, "--compress",
      "Of multiworker: what gradients travel as between workers; bf16 halves their bytes and "
      "rounds each to 8 bits",
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
      "Sum over 8 logical shards of a batch: the weights are the same, to the bit, for any number of devices "
      "or "
      "workers");
}

void add_saving_flags(CLI::App& verb, TrainFlags& flags) {
  add_change<std::string>(
      verb, flags, "--model",
      "Folder that the model is saved in; a saved model of the same label or images there is replaced",
      [](TrainPlan& plan) -> std::string& { return plan.model.path; })
      ->option_text("FOLDER [model]");
  verb.add_flag("--force", flags.force, "Replace the model that is there, whatever it was learned for");
  add_change<int64_t>(
      verb, flags, "--checkpoint-every",
      "Steps after which the run is saved, as MODEL.checkpoint, to go on after a crash; Ctrl-C saves it at "
      "any rate",
      [](TrainPlan& plan) -> int64_t& { return plan.fit.checkpoint_every; })
      ->check(number_from(int64_t{1}, 1 << 30))
      ->option_text("N");
  verb.add_flag("--resume", flags.resume, "Go on with the run that MODEL.checkpoint holds");
}

}  // namespace espalier::cli
