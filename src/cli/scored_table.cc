#include "cli/scored_table.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/format.h"
#include "base/shortened.h"
#include "cli/provenance.h"
#include "data/column_steps.h"
#include "espalier/error.h"
#include "evaluate/regression.h"

namespace espalier::cli {
namespace {

// Whether a label says yes by itself: 1, true, yes; nothing for words that say neither.
std::optional<bool> says_yes(std::string_view text) {
  if (text == "1" || text == "1.0") return true;
  if (text == "0" || text == "0.0") return false;
  return read_truth(text);
}

struct NamedTask {
  std::string_view word;
  Task task;
};
constexpr NamedTask kTasks[] = {{"two-classes", Task::kTwoClasses}, {"regression", Task::kRegression}};

std::string in_quotes(std::string_view text) { return cat("\"", shortened(text), "\""); }

// Of the labels and how often each occurs.
std::string positive_of(const std::map<std::string, int64_t>& counts, const std::string& wanted,
                        const std::string& column) {
  const auto rarest = std::ranges::min_element(counts, {}, [](const auto& entry) { return entry.second; });
  if (!wanted.empty()) {
    std::vector<std::string> known;
    for (const auto& [label, count] : counts) known.push_back(label);
    if (!counts.contains(wanted)) throw_unknown("scores.label", "label", wanted, known);
  }
  if (counts.size() > 2) {
    std::string names;
    size_t shown = 0;
    for (const auto& [label, count] : counts) {
      if (shown++ < 5) names += cat(names.empty() ? "" : ", ", in_quotes(label));
    }
    throw ValueError("scores.label",
                     cat("labels are of two kinds, and column \"", column, "\" has ", counts.size(), ": ",
                         names, counts.size() > 5 ? ", ..." : ""),
                     "--task regression, where it holds numbers");
  }
  if (counts.size() < 2) {
    throw ValueError("scores.label",
                     cat("every row of column \"", column, "\" is ", in_quotes(counts.begin()->first),
                         ": labels of one kind say little of scores"));
  }
  if (!wanted.empty()) return wanted;
  const std::string &first = counts.begin()->first, &second = counts.rbegin()->first;
  const std::optional<bool> a = says_yes(first), b = says_yes(second);
  if (a && b && *a != *b) return *a ? first : second;
  throw ValueError("scores.label",
                   cat("column \"", column, "\" holds ", in_quotes(first), " and ", in_quotes(second),
                       ", and which of them do high scores stand for?"),
                   cat("--positive '", rarest->first, "'"));
}

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
          "What labels and scores are: of two classes, or numbers that a model has predicted")
      ->check(CLI::IsMember({"two-classes", "regression"}))
      ->option_text("two-classes|regression [two-classes]");
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
  return out;
}

ScoredRows ScoredTable::view(const char* what) const {
  if (task != Task::kTwoClasses)
    throw ValueError("evaluate.task", cat(what, " is for models of two classes"));
  return {scores, labels, weights};
}

Assessment ScoredTable::assess(const std::vector<std::vector<const CategoryColumn*>>& slicings,
                               const AssessmentOptions& options) const {
  if (task == Task::kTwoClasses) return espalier::assess(view(), slicings, options);
  const NumberRows numbers(scores, truths, weights);
  const auto estimator = [&](const Slicing& slicing) { return regression_estimates(numbers, slicing); };
  return espalier::assess(rows.size(), estimator, slicings, options);
}

ScoredTable read_scores(const std::string& path, const TableFlags& reading, const ScoredFlags& flags,
                        const std::vector<std::string>& missing, const Results& results,
                        const std::optional<Expression>& where) {
  const MissingWords none(missing);
  ScoredTable out;
  std::vector<std::string> expected = {flags.label};
  if (!flags.score.empty()) expected.push_back(flags.score);
  out.table = reading.read(path, expected);
  reading.check_parted(out.table, path);
  const int64_t label = out.table.column(flags.label),
                score = flags.score.empty() ? -1 : out.table.column(flags.score);
  const int64_t weight = flags.weight.empty() ? -1 : out.table.column(flags.weight);
  std::map<std::string, int64_t> counts;
  for (int64_t row = 0; row < out.table.rows(); ++row) {
    const std::string_view text = out.table.cell(row, label);
    if (none.contains(text)) continue;
    out.rows.push_back(row);
    ++counts[std::string(text)];
  }
  if (out.rows.empty()) throw ValueError("scores.label", cat(source_name(path), ": no row has a label"));
  if (const int64_t unlabelled = out.table.rows() - std::ssize(out.rows))
    results.warn({cat(unlabelled, " rows have no ", flags.label, " and are left out")});
  out.task = flags.task;
  if (out.task == Task::kTwoClasses) out.positive = positive_of(counts, flags.positive, flags.label);
  out.label = flags.label;
  if (where) out.kept = keep_rows(*where, out.table, out.rows, missing);
  const auto number = [&](int64_t row, int64_t column, const char* rule, const char* what, double least,
                          double most) {
    const double value = out.table.number_or_nan(row, column);
    if (value >= least && value <= most) return value;
    throw ValueError(rule, cat(source_name(path), ", line ", out.table.line(row), ": ", what, ", got ",
                               in_quotes(out.table.cell(row, column))));
  };
  constexpr double kMost = std::numeric_limits<double>::max();
  for (const int64_t row : out.rows) {
    if (out.task == Task::kRegression) {
      out.truths.push_back(number(row, label, "scores.label", "a label is a number", -kMost, kMost));
      out.scores.push_back(number(row, score, "scores.score", "a prediction is a number", -kMost, kMost));
    } else {
      out.labels.push_back(out.table.cell(row, label) == out.positive);
      out.scores.push_back(
          score < 0 ? out.labels.back()
                    : number(row, score, "scores.score", "a score is a probability from 0 to 1", 0, 1));
    }
    if (weight >= 0)
      out.weights.push_back(number(row, weight, "scores.weight", "a weight is a number from 0 on", 0, kMost));
  }
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
  const std::vector<std::string>& classes = saved.columns.classes();
  if (classes.size() != 2) {
    throw ValueError("evaluate.slice", cat("slices are of models of two classes, and ", saved.columns.label(),
                                           " has ", classes.size()));
  }
  const auto positive = static_cast<size_t>(saved.decision.positive);
  out.positive = classes[positive];
  for (const int32_t label : labels.data<int32_t>()) {
    out.scores.push_back(static_cast<double>(predictions.outputs[2 * out.scores.size() + positive]));
    out.labels.push_back(label == saved.decision.positive);
  }
  return out;
}

ScoredTable score_table(const std::string& model, const std::string& data, const TableFlags& reading,
                        const ScoringOptions& options, const Results& results) {
  TableModel saved = TableModel::load(model);
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
  return out;
}

}  // namespace espalier::cli
