// What models at hand say of the rows of a table.
#include <algorithm>
#include <tuple>

#include "base/called_command.h"
#include "base/format.h"
#include "base/input_file.h"
#include "base/shell_words.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "tables/learned_rows.h"
#include "tables/provenance.h"
#include "tables/scored_table.h"
#include "tables/table_reading.h"

namespace espalier {

ScoredTable scored_by(const LoadedTableModel& saved, const CsvTable& table, std::vector<int64_t> rows,
                      const Predictions& predictions, const Tensor& labels) {
  ScoredTable out;
  out.table = table;
  out.rows = std::move(rows);
  out.label = saved.columns.label();
  out.missing = missing_words_of(saved.columns);
  out.decided = saved.decision.threshold;
  if (!saved.columns.classification()) {
    out.task = ScoreTask::kRegression;
    out.scores = predictions.values;
    out.truths = saved.columns.label_values(labels.data<float>());
    return out;
  }
  out.classes = saved.columns.classes();
  out.said.assign(predictions.best.begin(), predictions.best.end());
  const auto truth = labels.data<int32_t>();
  out.is.assign(truth.begin(), truth.end());
  if (out.classes.size() != 2) {
    out.task = ScoreTask::kClasses;
    out.scores.assign(predictions.outputs.begin(), predictions.outputs.end());
    return out;
  }
  out.positive = saved.positive;
  TwoClasses two(predictions.outputs, truth, saved.decision.positive.value_or(1));
  out.scores = std::move(two.scores);
  out.labels = std::move(two.labels);
  return out;
}

namespace {

// Of a class, 1 and true being one.
std::ptrdiff_t place_of(const std::string& name, const std::vector<std::string>& classes) {
  const auto exact = std::ranges::find(classes, name);
  if (exact != classes.end() || classes.size() != 2) return exact - classes.begin();
  return std::ranges::find_if(classes, [&](const std::string& one) { return same_label(one, name); }) -
         classes.begin();
}

// Unless both models say the same kind of thing of the same column.
void check_alike(const LoadedTableModel& saved, const std::string& model, const ScoredTable& now) {
  const auto fail = [&](const std::string& what) {
    throw ValueError("baseline.model", cat(model, " is no baseline: ", what));
  };
  if (saved.columns.label() != now.label)
    fail(cat("it predicts \"", saved.columns.label(), "\", and now it is \"", now.label, "\""));
  if (now.task != ScoreTask::kRanking &&
      saved.columns.classification() == (now.task == ScoreTask::kRegression))
    fail(cat("it predicts ", saved.columns.classification() ? "classes" : "numbers", ", and now it is ",
             saved.columns.classification() ? "numbers" : "classes"));
  for (const auto& [some, others, who] :
       {std::tuple(&now.classes, &saved.columns.classes(), "it does not know"),
        std::tuple(&saved.columns.classes(), &now.classes, "it alone knows")}) {
    for (const std::string& name : *some) {
      if (place_of(name, *others) == std::ssize(*others))
        fail(cat(who, " the class \"", shortened(name), "\""));
    }
  }
}

// Of two classes `saved` counts from the one that is positive now, scoring its other probability where it
// must.
void count_from_same(LoadedTableModel& saved, const std::string& model, const ScoredTable& now,
                     const ScoringOptions& options, bool threshold) {
  if (now.task != ScoreTask::kTwoClasses || !now.positive.known()) return;
  const PositiveClass own = saved.positive;
  if (own.because == PositiveBecause::kModel && !same_label(own.value, now.positive.value)) {
    const std::string both = cat(shortened(own.value), own.detail.empty() ? "" : ", " + own.detail,
                                 ", and now ", shortened(now.positive.value), " is positive");
    if (saved.decision.threshold && !threshold)
      throw ValueError("positive.threshold", cat("the threshold of the baseline ", model, " is of ", both),
                       cat(command({"threshold", model, "X", "--positive", now.positive.value}),
                           " sets one of that class"));
    const PositiveSaid said = options.said(now.label);
    if (said.flag.empty() && said.schema.empty()) {
      throw ValueError("positive.differs", cat("the baseline ", model, " counts from ", both),
                       cat(shell_words({"--positive", now.positive.value}),
                           " scores the other probability of the baseline"));
    }
  }
  saved.positive = now.positive;
  saved.decision.positive = place_of(now.positive.value, saved.columns.classes());
}

}  // namespace

PositiveSaid ScoringOptions::said(const std::string& label) const {
  const auto found = favourable.find(label);
  return {.gates = gates ? gates(label) : "",
          .flag = positive,
          .schema = found == favourable.end() ? "" : found->second};
}

ScoredTable score_again(const std::string& model, const ScoredTable& now, const std::string& data,
                        const ScoringOptions& options, const std::optional<double>& threshold,
                        const Messages& messages) {
  LoadedTableModel saved = LoadedTableModel::load(model);
  check_alike(saved, model, now);
  saved.columns = saved.columns.with_strip_label_dots(options.strip_label_dots);
  if (const int64_t learned = rows_learned(saved, model, now.table, data, now.rows)) {
    messages.warn({cat("the baseline was trained on ", learned, " of these ", now.rows.size(),
                       " rows, which flatters it: evaluate rows that neither model was trained on")});
  }
  count_from_same(saved, model, now, options, threshold.has_value());
  if (threshold) saved.decision.threshold = threshold;
  const Tensor labels = read_labels(saved.columns, now.table, data, now.rows);
  const Tensor inputs = read_inputs(saved.columns, now.table, data, now.rows);
  const Predictions predictions = predict_rows(saved.model, saved.columns, inputs, saved.decision, messages);
  ScoredTable out = scored_by(saved, now.table, now.rows, predictions, labels);
  for (std::string& name : out.classes) name = now.classes[static_cast<size_t>(place_of(name, now.classes))];
  if (now.task == ScoreTask::kRanking) out.rank_by(options.query, source_name(data));
  return out;
}

ScoredTable score_table(const std::string& model, const std::string& data, const TableReading& reading,
                        const ScoringOptions& options, const Messages& messages) {
  check_order(model, data);
  LoadedTableModel saved = LoadedTableModel::load(model);
  saved.count_from(options.said(saved.columns.label()), model);
  const CsvTable table = saved.read(reading, data, messages);
  if (options.strip_label_dots) saved.columns = saved.columns.with_strip_label_dots(true);
  std::vector<int64_t> rows =
      rows_to_evaluate(saved, model, table, data, labelled_test_rows(saved.columns, table, data, messages),
                       options.all_rows, messages);
  std::optional<KeptRows> kept;
  if (options.where) kept = keep_rows(*options.where, table, rows, missing_words_of(saved.columns));
  const Tensor labels = read_labels(saved.columns, table, data, rows);
  ColumnReport report;
  const Tensor inputs = read_inputs(saved.columns, table, data, rows, &report);
  if (!options.all_rows) warn_of_learned_rows(saved, model, data, inputs, messages);
  messages.warn(warnings_of(report));
  const Predictions predictions = predict_rows(saved.model, saved.columns, inputs, saved.decision, messages);
  ScoredTable out = scored_by(saved, table, std::move(rows), predictions, labels);
  out.kept = std::move(kept);
  if (const std::optional<Lineage> lineage = read_lineage(saved.model, model))
    out.learned_from = lineage->data.file;
  if (!options.query.empty()) {
    saved.need_positive("--query ranks by");
    out.rank_by(options.query, source_name(data));
  }
  return out;
}

}  // namespace espalier
