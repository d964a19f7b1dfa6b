#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/shortest.h"
#include "cli/scores.h"
#include "cli/table_data.h"
#include "cli/train_digits.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

struct EvaluateRun {
  std::string model, data;
  bool strip_label_dots = false;
  std::optional<double> threshold = {};
  TableFlags table;
  Results results;
};

void evaluate_images(LoadedModel& model, const EvaluateRun& run) {
  if (run.strip_label_dots || run.threshold || !run.table.words().empty()) {
    throw ValueError("evaluate.images", cat(run.model,
                                            " is a model of images: --strip-label-dots, --threshold, "
                                            "--delimiter, --header and --names are for tables"));
  }
  evaluate_digits(model, run.model, run.data, run.results);
}

// Whether the rows are some that the model learned from.
bool trained_on(const LoadedModel& model, const EvaluateRun& run) {
  if (!model.has_file(kHistoryFile)) return false;
  const nlohmann::ordered_json history = json_file(model, kHistoryFile, run.model);
  const auto data = history.find("data");
  std::error_code none;
  return data != history.end() && data->is_string() &&
         std::filesystem::equivalent(data->get<std::string>(), run.data, none);
}

void evaluate(const EvaluateRun& run) {
  run.results.keep({run.data});
  if (!posix_env().exists(cat(run.model, "/", kColumnsFile))) {
    LoadedModel model = load_model(run.model);
    if (takes_images(model)) return evaluate_images(model, run);
  }
  TableModel saved = TableModel::load(run.model, run.threshold);
  if (trained_on(saved.model, run))
    run.results.warn({cat("the model was trained on rows of ", run.data, ": other rows may fare worse")});
  const CsvTable table = saved.read(run.table, run.data);
  const ColumnProgram columns =
      run.strip_label_dots ? saved.columns.with_strip_label_dots(true) : saved.columns;
  const std::vector<int64_t> rows = labelled_test_rows(columns, table, run.data, run.results);
  const Tensor labels = read_labels(columns, table, run.data, rows);
  ColumnReport report;
  const Tensor inputs = read_inputs(columns, table, run.data, rows, &report);
  run.results.warn(warnings_of(report));
  const Predictions predictions = predict_rows(saved.model, columns, inputs, saved.decision);
  run.results.warn(cut_warning(predictions.cut, columns, labels.size(0)));
  const Scores scores = score(columns, predictions, labels);
  const bool two = columns.classes().size() == 2;
  const int64_t positive = saved.decision.positive;
  const BestThreshold best = two ? best_threshold(predictions, labels, positive) : BestThreshold();
  if (run.results.json) {
    nlohmann::ordered_json body = {{"model", run.model}, {"data", run.data}, {"label", columns.label()}};
    body.update(json_of(scores, columns));
    if (!columns.classification()) body["cut"] = predictions.cut;
    if (two) {
      body["positive"] = columns.classes()[static_cast<size_t>(positive)];
      if (saved.decision.threshold) body["threshold"] = *saved.decision.threshold;
      if (best.f1 >= 0) body["best_of_these_rows"] = {{"threshold", best.threshold}, {"f1", best.f1}};
    }
    body["warnings"] = *run.results.warned;
    return run.results.write_json("evaluate", body);
  }
  Terminal terminal = Terminal::of(STDOUT_FILENO);
  if (run.results.out != "-") terminal.colors = false;
  std::string text = report_of(scores, columns, terminal);
  if (saved.decision.threshold) text += text_of(saved.decision, columns) + "\n";
  if (two)
    text +=
        better_text(columns, positive, scores, best, "was chosen on these very rows: let others judge it");
  run.results.write(text);
  std::vector<std::string> next = {"predict", run.model, run.data};
  if (run.threshold) next.insert(next.end(), {"--threshold", shortest(*run.threshold)});
  for (const std::string& word : run.table.words()) next.push_back(word);
  run.results.suggest(next);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto run = std::make_shared<EvaluateRun>();
  CLI::App* verb = app.add_subcommand("evaluate", "How good a trained model is on labelled rows or images");
  verb->add_option("model", run->model, "Folder that `espalier train` wrote")->required();
  verb->add_option("data", run->data,
                   "CSV with the label's column, - is standard input; for a model of images a folder of IDX "
                   "files or a CSV of "
                   "square images, label last")
      ->required();
  verb->add_flag("--strip-label-dots", run->strip_label_dots, "Labels \"x.\" are \"x\"");
  add_threshold(*verb, run->threshold);
  run->table.add(*verb);
  run->results.add_json(*verb);
  run->results.add_out(*verb);
  add_threads(*verb);
  verb->callback([run] { evaluate(*run); });
}

}  // namespace espalier::cli
