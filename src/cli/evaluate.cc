#include <unistd.h>

#include <memory>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/scores.h"
#include "cli/table_data.h"
#include "report/terminal.h"

namespace espalier::cli {
namespace {

struct EvaluateRun {
  std::string model, data;
  bool strip_label_dots = false;
  TableFlags table;
  Results results;
};

void evaluate(const EvaluateRun& run) {
  run.results.keep({run.data});
  TableModel saved = TableModel::load(run.model);
  const CsvTable table = saved.read(run.table, run.data);
  const ColumnProgram columns =
      run.strip_label_dots ? saved.columns.with_strip_label_dots(true) : saved.columns;
  const std::vector<int64_t> rows = labelled_test_rows(columns, table, run.data, run.results);
  const Tensor labels = read_labels(columns, table, run.data, rows);
  ColumnReport report;
  const Tensor inputs = read_inputs(columns, table, run.data, rows, &report);
  run.results.warn(warnings_of(report));
  const Predictions predictions = predict_rows(saved.model, columns, inputs);
  run.results.warn(cut_warning(predictions.cut, columns, labels.size(0)));
  const Scores scores = score(columns, predictions, labels);
  if (run.results.json) {
    nlohmann::ordered_json body = {{"model", run.model}, {"data", run.data}, {"label", columns.label()}};
    body.update(json_of(scores, columns));
    if (!columns.classification()) body["cut"] = predictions.cut;
    body["warnings"] = *run.results.warned;
    return run.results.write_json("evaluate", body);
  }
  Terminal terminal = Terminal::of(STDOUT_FILENO);
  if (run.results.out != "-") terminal.colors = false;
  run.results.write(report_of(scores, columns, terminal));
  std::vector<std::string> next = {"predict", run.model, run.data};
  for (const std::string& word : run.table.words()) next.push_back(word);
  run.results.suggest(next);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto run = std::make_shared<EvaluateRun>();
  CLI::App* verb =
      app.add_subcommand("evaluate", "How good a trained model is on the labelled rows of a CSV");
  verb->add_option("model", run->model, "Folder that `espalier train` wrote")->required();
  verb->add_option("data", run->data, "CSV with the label's column; - is standard input")->required();
  verb->add_flag("--strip-label-dots", run->strip_label_dots, "Labels \"x.\" are \"x\"");
  run->table.add(*verb);
  run->results.add_json(*verb);
  run->results.add_out(*verb);
  add_threads(*verb);
  verb->callback([run] { evaluate(*run); });
}

}  // namespace espalier::cli
