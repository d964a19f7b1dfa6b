// What models at hand say of the rows of a table.
#include <algorithm>
#include <tuple>

#include "base/format.h"
#include "base/shortened.h"
#include "cli/learned_rows.h"
#include "cli/provenance.h"
#include "cli/scored_table.h"
#include "espalier/error.h"

namespace espalier::cli {

ScoredTable scored_by(const TableModel& saved, const CsvTable& table, std::vector<int64_t> rows,
                      const Predictions& predictions, const Tensor& labels) {
  ScoredTable out;
  out.table = table;
  out.rows = std::move(rows);
  out.label = saved.columns.label();
  out.missing = saved.columns.missing_words();
  out.decided = saved.decision.threshold;
  if (!saved.columns.classification()) {
    out.task = Task::kRegression;
    out.scores = predictions.values;
    out.truths = saved.columns.label_values(labels.data<float>());
    return out;
  }
  out.classes = saved.columns.classes();
  out.said.assign(predictions.best.begin(), predictions.best.end());
  const auto truth = labels.data<int32_t>();
  out.is.assign(truth.begin(), truth.end());
  if (out.classes.size() != 2) {
    out.task = Task::kClasses;
    out.scores.assign(predictions.outputs.begin(), predictions.outputs.end());
    return out;
  }
  const auto positive = static_cast<size_t>(saved.decision.positive);
  out.positive = out.classes[positive];
  for (const int32_t label : truth) {
    out.scores.push_back(static_cast<double>(predictions.outputs[2 * out.scores.size() + positive]));
    out.labels.push_back(label == saved.decision.positive);
  }
  return out;
}

namespace {

// Unless both models say the same kind of thing of the same column.
void check_alike(const TableModel& saved, const std::string& model, const ScoredTable& now) {
  const auto fail = [&](const std::string& what) {
    throw ValueError("baseline.model", cat(model, " is no baseline: ", what));
  };
  if (saved.columns.label() != now.label)
    fail(cat("it predicts \"", saved.columns.label(), "\", and now it is \"", now.label, "\""));
  if (now.task != Task::kRanking && saved.columns.classification() == (now.task == Task::kRegression))
    fail(cat("it predicts ", saved.columns.classification() ? "classes" : "numbers", ", and now it is ",
             saved.columns.classification() ? "numbers" : "classes"));
  for (const auto& [some, others, who] :
       {std::tuple(&now.classes, &saved.columns.classes(), "it does not know"),
        std::tuple(&saved.columns.classes(), &now.classes, "it alone knows")}) {
    for (const std::string& name : *some) {
      if (!std::ranges::count(*others, name)) fail(cat(who, " the class \"", shortened(name), "\""));
    }
  }
}

}  // namespace

ScoredTable score_again(const std::string& model, const ScoredTable& now, const std::string& data,
                        const ScoringOptions& options, const std::optional<double>& threshold,
                        const Results& results) {
  TableModel saved = TableModel::load(model);
  check_alike(saved, model, now);
  saved.columns = saved.columns.with_strip_label_dots(options.strip_label_dots);
  if (const int64_t learned = rows_learned(saved, model, now.table, data, now.rows)) {
    results.warn({cat("the baseline learned from ", learned, " of these ", now.rows.size(),
                      " rows, which flatters it: judge rows that neither model knows")});
  }
  const std::ptrdiff_t positive =
      std::ranges::find(saved.columns.classes(), now.positive) - saved.columns.classes().begin();
  if (threshold) saved.decision = {.positive = positive, .threshold = threshold};
  const Tensor labels = read_labels(saved.columns, now.table, data, now.rows);
  const Tensor inputs = read_inputs(saved.columns, now.table, data, now.rows);
  const Predictions predictions = predict_rows(saved.model, saved.columns, inputs, saved.decision);
  if (now.task == Task::kTwoClasses) saved.decision.positive = positive;
  ScoredTable out = scored_by(saved, now.table, now.rows, predictions, labels);
  if (now.task == Task::kRanking) out.rank_by(options.query, source_name(data));
  return out;
}

ScoredTable score_table(const std::string& model, const std::string& data, const TableFlags& reading,
                        const ScoringOptions& options, const Results& results) {
  check_order(model, data);
  TableModel saved = TableModel::load(model);
  if (const auto found = options.favourable.find(saved.columns.label()); found != options.favourable.end())
    saved.count_from(found->second, false);
  const CsvTable table = saved.read(reading, data);
  if (options.strip_label_dots) saved.columns = saved.columns.with_strip_label_dots(true);
  std::vector<int64_t> rows =
      judging_rows(saved, model, table, data, labelled_test_rows(saved.columns, table, data, results),
                   options.all_rows, results);
  std::optional<KeptRows> kept;
  if (options.where) kept = keep_rows(*options.where, table, rows, saved.columns.missing_words());
  const Tensor labels = read_labels(saved.columns, table, data, rows);
  ColumnReport report;
  const Tensor inputs = read_inputs(saved.columns, table, data, rows, &report);
  if (!options.all_rows) warn_of_learned_rows(saved, model, data, inputs, results);
  results.warn(warnings_of(report));
  const Predictions predictions = predict_rows(saved.model, saved.columns, inputs, saved.decision);
  ScoredTable out = scored_by(saved, table, std::move(rows), predictions, labels);
  out.kept = std::move(kept);
  if (const std::optional<Lineage> lineage = read_lineage(saved.model, model))
    out.learned_from = lineage->data.file;
  if (!options.query.empty()) out.rank_by(options.query, source_name(data));
  return out;
}

}  // namespace espalier::cli
