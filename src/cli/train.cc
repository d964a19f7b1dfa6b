#include <filesystem>
#include <memory>
#include <optional>

#include "base/format.h"
#include "cli/train_digits.h"
#include "cli/train_table.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

// Flags that digits and tables share, where they differ in their defaults.
struct TrainRun {
  DigitsRun digits{.verb = "train"};
  TableRun table;
  std::optional<int> epochs;
  std::optional<int64_t> batch_size;
  std::vector<int64_t> hidden;
};

// Whether a table begins as text that is no number does: a header, or cells of words.
bool has_words(const CsvTable& table) {
  if (table.rows() == 0 || table.had_header()) return true;
  for (int64_t column = 0; column < table.columns(); ++column) {
    if (!table.number(0, column)) return true;
  }
  return false;
}

[[noreturn]] void ask_for_label(const CsvTable& table, const std::string& path) {
  std::string names;
  for (const std::string& name : table.names()) names += cat(names.empty() ? "" : ", ", name);
  throw ValueError("train.label", cat(path, " is a table; which of its columns is to be learned? ", names),
                   cat("add --label ", table.names().back()));
}

// Of a folder of IDX files or a table of numbers.
Examples digits_at(const std::string& path) {
  if (std::filesystem::is_directory(path)) return load_digits(path);
  const CsvTable table = read_csv(path);
  if (has_words(table)) ask_for_label(table, path);
  return digits_of(table, path);
}

void train(TrainRun& run) {
  if (run.table.label.empty()) {
    const Examples examples = digits_at(run.digits.data);
    if (run.table.resume || run.table.checkpoint_every)
      throw ValueError("train.resume", "--resume and --checkpoint-every need --label: a table to train on");
    DigitsRun& digits = run.digits;
    digits.epochs = run.epochs.value_or(digits.epochs);
    digits.batch_size = run.batch_size.value_or(digits.batch_size);
    if (run.hidden.size() > 1)
      throw ValueError("train.hidden", cat("images take one hidden layer, got ", run.hidden.size()));
    if (!run.hidden.empty()) digits.hidden = run.hidden[0];
    train_digits(digits, examples);
    return digits.results.suggest({"train", "--data", digits.data, "--hidden", "256", "--epochs", "10"});
  }
  TableRun& table = run.table;
  table.data = run.digits.data;
  table.epochs = run.epochs.value_or(table.epochs);
  table.batch_size = run.batch_size.value_or(table.batch_size);
  if (!run.hidden.empty()) table.hidden = run.hidden;
  table.learning_rate = run.digits.learning_rate;
  table.dtype = run.digits.dtype;
  table.seed = run.digits.seed;
  table.test_fraction = run.digits.test_fraction;
  table.results = run.digits.results;
  train_table(table);
}

}  // namespace

void add_train(CLI::App& app) {
  auto run = std::make_shared<TrainRun>();
  DigitsRun& digits = run->digits;
  TableRun& table = run->table;
  CLI::App* verb = app.add_subcommand("train", "Train a model on the rows of a table, or on labelled images");
  verb->add_option(
          "--data", digits.data,
          "CSV; or, without --label, a folder with IDX files (MNIST) or a CSV of square images, label last")
      ->required();
  verb->add_option("--label", table.label,
                   "The column of the table to learn: its name, its number from 1, or `last`")
      ->option_text("COLUMN");
  verb->add_option("--test", table.test, "CSV whose rows judge the model, instead of a share of --data")
      ->option_text("FILE");
  verb->add_option("--ignore", table.ignore, "Columns that are no inputs, between commas")
      ->delimiter(',')
      ->option_text("COLUMN,...");
  verb->add_option("--model", table.model,
                   "Folder that the model is saved in; a saved model there is replaced")
      ->option_text("FOLDER [model]");
  verb->add_option("--checkpoint-every", table.checkpoint_every,
                   "Steps of a table's training after which the run is saved, as MODEL.checkpoint, to go on "
                   "after a crash; Ctrl-C saves it at any rate")
      ->check(CLI::Range(1, 1 << 30))
      ->option_text("N");
  verb->add_flag("--resume", table.resume, "Go on with the run that MODEL.checkpoint holds");
  verb->add_option(
          "--epochs", run->epochs,
          "Passes over the training rows: of images 5; of a table at most 60, fewer when the model gets "
          "no better")
      ->check(CLI::Range(0, 1 << 30))
      ->option_text("N");
  verb->add_option("--batch", run->batch_size, "Rows of one step")
      ->check(CLI::Range(1, 1 << 30))
      ->option_text("N [64]");
  verb->add_option("--hidden", run->hidden, "Units of each hidden layer, between commas")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->option_text("N,... [128; of a table 128,64]");
  verb->add_option("--learning-rate", digits.learning_rate, "Of Adam")
      ->check(CLI::Range(0.0, 1e6))
      ->option_text("X [0.001]");
  add_dtype(*verb, digits.dtype);
  add_seed(*verb, digits.seed);
  verb->add_option("--test-fraction", digits.test_fraction,
                   "Share of rows kept for the test: of images from the end, of a table at random")
      ->option_text("X [0.2]");
  verb->add_option("--task", table.task, "Whether the label is a class or a number; guessed when not given")
      ->check(CLI::IsMember({"guess", "class", "number"}))
      ->option_text("guess|class|number [guess]");
  verb->add_flag("--strip-label-dots", table.strip_label_dots, "Labels \"x.\" are \"x\"");
  table.table.add(*verb);
  digits.results.add_json(*verb);
  digits.results.add_out(*verb);
  add_threads(*verb);
  verb->callback([run] { train(*run); });
}

}  // namespace espalier::cli
