#include <memory>

#include "cli/train_digits.h"

namespace espalier::cli {

void add_train(CLI::App& app) {
  auto run = std::make_shared<DigitsRun>(DigitsRun{.verb = "train"});
  CLI::App* verb = app.add_subcommand("train", "Train a network on labelled images");
  verb->add_option("--data", run->data, "Folder with IDX files (MNIST), or CSV of square images, label last")
      ->required();
  verb->add_option("--epochs", run->epochs, "Passes over the training rows")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 30))
      ->option_text("N [5]");
  verb->add_option("--batch", run->batch_size, "Rows of one step")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30))
      ->option_text("N [64]");
  verb->add_option("--hidden", run->hidden, "Units of the hidden layer")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20))
      ->option_text("N [128]");
  verb->add_option("--learning-rate", run->learning_rate, "Of Adam")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6))
      ->option_text("X [0.001]");
  add_dtype(*verb, run->dtype);
  add_seed(*verb, run->seed);
  verb->add_option("--test-fraction", run->test_fraction, "Share of rows, from the end, kept for the test")
      ->capture_default_str();
  run->results.add_json(*verb);
  run->results.add_out(*verb);
  add_threads(*verb);
  verb->callback([run] {
    train_digits(*run);
    run->results.suggest({"train", "--data", run->data, "--hidden", "256", "--epochs", "10"});
  });
}

}  // namespace espalier::cli
