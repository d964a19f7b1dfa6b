// espalier threshold: from which probability on a saved model of two classes says one of them.
#include <filesystem>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "cli/table_flags.h"
#include "espalier/error.h"
#include "tables/loaded_table_model.h"
#include "train/saved_files.h"

namespace espalier::cli {
namespace {

struct ThresholdRun {
  std::string model, threshold, positive, out;
  Results results;
};

// As evaluate --threshold reads it.
std::optional<double> threshold_in(const std::string& text) {
  double value = 0;
  const bool number = CLI::detail::lexical_cast(text, value) && value >= 0 && value <= 1;
  return number ? std::optional(value) : std::nullopt;
}

std::string decision_text(const Decision& decision, const std::vector<std::string>& classes) {
  if (!decision.positive) return "a row is of the likelier class, and none is positive";
  const std::string positive = shortened(classes[static_cast<size_t>(*decision.positive)]);
  return decision.threshold
             ? cat("a row is ", positive, " from a probability of ", shortest(*decision.threshold), " on")
             : cat("a row is of the likelier class, and ", positive, " is positive");
}

nlohmann::ordered_json threshold_json(const std::optional<double>& threshold) {
  return threshold ? nlohmann::ordered_json(*threshold) : nullptr;
}

void set_threshold(const ThresholdRun& run) {
  LoadedTableModel saved = LoadedTableModel::load(run.model);
  const std::vector<std::string>& classes = saved.columns.classes();
  if (classes.size() != 2) {
    throw ValueError("table.threshold",
                     cat("a threshold is of two classes, and \"", saved.columns.label(), "\" of ", run.model,
                         classes.empty() ? " is a number" : cat(" has ", classes.size())));
  }
  const Decision before = saved.decision;
  saved.decision.threshold = threshold_in(run.threshold);
  saved.count_from({.flag = run.positive}, run.model, true);
  Decision decision = saved.decision;
  if (decision.positive != before.positive || decision.because.empty())
    decision.because = name(saved.positive.because);
  const std::string& out = run.out.empty() ? run.model : run.out;
  const auto files =
      saved_files::with_file(posix_env().read_folder(run.model), kDecisionFile, decision.to_json(classes));
  read_model(files, run.model);  // whoever edited it meanwhile
  posix_env().write_folder(out, files, check_save_path(out, files));
  if (run.results.json) {
    return run.results.write_json(
        "threshold", {{"model", run.model},
                      {"out", out},
                      {"positive", saved.positive.known() ? nlohmann::ordered_json(saved.positive.value)
                                                          : nlohmann::ordered_json()},
                      {"before", threshold_json(before.threshold)},
                      {"threshold", threshold_json(decision.threshold)}});
  }
  run.results.write(cat("wrote ", out, ": ", decision_text(decision, classes),
                        "; before: ", decision_text(before, classes), "\n"));
  run.results.suggest({"info", out});
}

constexpr const char* kThresholdExamples =
    R"(Examples:
  espalier threshold model/ 0.3
      Predict the positive class at a probability of 0.3 or above.
  espalier threshold model/ none --out model2
      Clear the threshold in a copy: predict the more likely class again.
  espalier threshold model/ none --positive approved
      Clear the threshold, and save another positive class with the model.

Compare thresholds before setting one:
  espalier evaluate model/ new.csv --threshold 0.2,0.3,0.4

Exit codes: 0 done, 2 usage error or bad input.)";

}  // namespace

void add_threshold(CLI::App& app) {
  auto run = std::make_shared<ThresholdRun>();
  CLI::App* verb = app.add_subcommand("threshold", "Set the decision threshold of a saved two-class model");
  verb->add_option("model", run->model,
                   "Model folder, as written by `espalier train` for a table with two classes")
      ->option_text("FOLDER")
      ->required();
  verb->add_option("threshold", run->threshold,
                   "Predict the positive class at this probability (0 to 1) or above; none = clear the "
                   "threshold: predict the more likely class")
      ->option_text("X|none")
      ->check([](const std::string& text) {
        return text == "none" || threshold_in(text) ? std::string()
                                                    : cat("\"", text, "\" is no number from 0 to 1");
      })
      ->required();
  verb->add_option("--positive", run->positive, "Positive class to save (default: that of the model)")
      ->option_text("VALUE");
  verb->add_option("--out", run->out,
                   "Folder to save the changed model in (default: the folder of the model)")
      ->option_text("FOLDER")
      ->check(a_name());
  run->results.add_json(*verb);
  verb->footer(kThresholdExamples);
  verb->callback([run] { set_threshold(*run); });
}

}  // namespace espalier::cli
