#include "cli/scored_table.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/format.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "cli/provenance.h"
#include "data/column_steps.h"
#include "espalier/error.h"
#include "evaluate/classes.h"
#include "evaluate/ndcg.h"
#include "evaluate/regression.h"

namespace espalier::cli {
namespace {

struct NamedTask {
  std::string_view word;
  Task task;
};
constexpr NamedTask kTasks[] = {
    {"two-classes", Task::kTwoClasses}, {"classes", Task::kClasses}, {"regression", Task::kRegression}};

}  // namespace

void ScoredFlags::add(CLI::App& verb) {
  verb.add_option("--label", label, "The column of what is true")->option_text("COLUMN");
  verb.add_option("--score", score, "The column of the probability that a model gave")->option_text("COLUMN");
  verb.add_option("--weight", weight, "The column of what each row counts")->option_text("COLUMN");
  verb.add_option("--positive", positive, "The label that high scores stand for; known for 1, true and yes")
      ->option_text("VALUE");
}

void ScoredFlags::add_task(CLI::App& verb) {
  verb.add_option_function<std::string>(
          "--task",
          [this](const std::string& word) { task = std::ranges::find(kTasks, word, &NamedTask::word)->task; },
          "What labels and scores are: of two classes, of several, or numbers that a model has predicted. Of "
          "several classes --score is the column of the class that is said, or a column for each, "
          "CLASS=COLUMN,...")
      ->check(CLI::IsMember({"two-classes", "classes", "regression"}))
      ->option_text("two-classes|classes|regression [two-classes]");
  verb.add_option(
          "--query", query,
          "The column whose values are queries: scores order the rows of each, and labels, numbers from "
          "0 on, say what a row is worth to it: NDCG")
      ->option_text("COLUMN");
}

std::vector<std::string> ScoredFlags::words() const {
  std::vector<std::string> out;
  const auto add = [&](const char* flag, std::string_view value) {
    if (!value.empty()) out.insert(out.end(), {flag, std::string(value)});
  };
  add("--label", label);
  add("--score", score);
  add("--weight", weight);
  add("--positive", positive);
  if (task != Task::kTwoClasses) add("--task", std::ranges::find(kTasks, task, &NamedTask::task)->word);
  add("--query", query);
  return out;
}

bool ScoredFlags::only_for_files() const {
  ScoredFlags of_file = *this;
  of_file.query.clear();
  return !of_file.words().empty();
}

void ScoredTable::rank_by(const std::string& query, const std::string& file,
                          const std::vector<std::string>& missing) {
  if (task == Task::kClasses)
    throw ValueError("evaluate.task", "--query is for scores that are one number, not for several classes");
  if (task == Task::kTwoClasses) truths.assign(labels.begin(), labels.end());
  if (!std::ranges::count(table.names(), query))
    throw_unknown("csv.column", cat("column of ", file), query, table.names());
  const int64_t column = table.column(query);
  const MissingWords none(missing);
  std::unordered_map<std::string_view, uint32_t> codes;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto fail = [&](const char* rule, const std::string& what) {
      throw ValueError(rule, cat(file, ", line ", table.line(rows[i]), ": ", what),
                       "--where leaves rows out");
    };
    const std::string_view text = table.cell(rows[i], column);
    if (none.contains(text)) fail("scores.query", cat("column \"", query, "\" names no query"));
    if (truths[i] < 0)
      fail("scores.label", cat("a row is worth a number from 0 on to its query, got ", shortest(truths[i])));
    queries.push_back(codes.emplace(text, static_cast<uint32_t>(codes.size())).first->second);
  }
  task = Task::kRanking;
  positive.clear();
  labels.clear();
}

ScoredRows ScoredTable::view(const char* what) const {
  if (task != Task::kTwoClasses)
    throw ValueError("evaluate.task", cat(what, " is for models of two classes"));
  return {scores, labels, weights};
}

Assessment ScoredTable::assess(const std::vector<std::vector<const CategoryColumn*>>& slicings,
                               const AssessmentOptions& options) const {
  if (task == Task::kTwoClasses) {
    Assessment out = espalier::assess(view(), slicings, options);
    out.options.positive_rows = cat(label, "=", positive);
    return out;
  }
  if (task == Task::kClasses) {
    const ClassRows of_classes(classes, is, said, scores, weights);
    const auto estimator = [&](const Slicing& slicing) { return class_estimates(of_classes, slicing); };
    return espalier::assess(rows.size(), estimator, slicings, options);
  }
  if (task == Task::kRanking) {
    const QueryRows of_queries(scores, truths, queries, weights);
    const auto estimator = [&](const Slicing& slicing) { return ndcg_estimates(of_queries, slicing); };
    return espalier::assess(rows.size(), estimator, slicings, options);
  }
  const NumberRows numbers(scores, truths, weights);
  const auto estimator = [&](const Slicing& slicing) { return regression_estimates(numbers, slicing); };
  Assessment out = espalier::assess(rows.size(), estimator, slicings, options);
  if (!options.histograms) return out;
  const CategoryColumn parts = tenths("prediction", scores);
  out.tenths = espalier::assess(rows.size(), estimator, {{&parts}}, options).by[0];
  return out;
}

ScoredTable scored_by(const TableModel& saved, const CsvTable& table, std::vector<int64_t> rows,
                      const Predictions& predictions, const Tensor& labels) {
  ScoredTable out;
  out.table = table;
  out.rows = std::move(rows);
  out.label = saved.columns.label();
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
  if (now.task == Task::kRanking) out.rank_by(options.query, source_name(data), ColumnOptions().missing);
  return out;
}

ScoredTable score_table(const std::string& model, const std::string& data, const TableFlags& reading,
                        const ScoringOptions& options, const Results& results) {
  check_order(model, data);
  TableModel saved = TableModel::load(model);
  if (const auto found = options.favourable.find(saved.columns.label()); found != options.favourable.end())
    saved.count_from(found->second, false);
  const CsvTable table = saved.read(reading, data);
  saved.columns = saved.columns.with_strip_label_dots(options.strip_label_dots);
  std::vector<int64_t> rows =
      judging_rows(saved, model, table, data, labelled_test_rows(saved.columns, table, data, results),
                   options.all_rows, results);
  std::optional<KeptRows> kept;
  if (options.where) kept = keep_rows(*options.where, table, rows, ColumnOptions().missing);
  const Tensor labels = read_labels(saved.columns, table, data, rows);
  ColumnReport report;
  const Tensor inputs = read_inputs(saved.columns, table, data, rows, &report);
  results.warn(warnings_of(report));
  const Predictions predictions = predict_rows(saved.model, saved.columns, inputs, saved.decision);
  ScoredTable out = scored_by(saved, table, std::move(rows), predictions, labels);
  out.kept = std::move(kept);
  if (!options.query.empty()) out.rank_by(options.query, source_name(data), ColumnOptions().missing);
  return out;
}

}  // namespace espalier::cli
