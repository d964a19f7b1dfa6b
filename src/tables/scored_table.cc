#include "tables/scored_table.h"

#include <algorithm>

#include "base/format.h"
#include "base/shell_words.h"
#include "base/shortest.h"
#include "data/equal_values.h"
#include "espalier/error.h"
#include "format/expression_node.h"

namespace espalier {
namespace {

struct NamedTask {
  std::string_view word;
  ScoreTask task;
};
constexpr NamedTask kTasks[] = {{"two-classes", ScoreTask::kTwoClasses},
                                {"classes", ScoreTask::kClasses},
                                {"regression", ScoreTask::kRegression}};

}  // namespace

std::vector<std::string> task_names() {
  std::vector<std::string> out;
  for (const NamedTask& one : kTasks) out.emplace_back(one.word);
  return out;
}

ScoreTask task_named(std::string_view word) {
  return std::ranges::find(kTasks, word, &NamedTask::word)->task;
}

std::vector<std::string> ScoredColumns::words() const {
  std::vector<std::string> out;
  const auto add = [&](const char* flag, std::string_view value) {
    if (!value.empty()) out.insert(out.end(), {flag, std::string(value)});
  };
  add("--label", label);
  add("--score", score);
  add("--weight", weight);
  add("--positive", positive);
  if (task != ScoreTask::kTwoClasses) add("--task", std::ranges::find(kTasks, task, &NamedTask::task)->word);
  add("--query", query);
  for (const std::string& word : missing.words()) out.push_back(word);
  return out;
}

void ScoredColumns::check_beside_model(const char* rule) const {
  ScoredColumns of_file = *this;
  of_file.query.clear();
  of_file.positive.clear();
  std::vector<std::string> flags = of_file.words();  // each before its value
  for (size_t i = 1; i <= flags.size(); ++i) flags.erase(flags.begin() + static_cast<std::ptrdiff_t>(i));
  if (flags.empty()) return;
  throw ValueError(
      rule,
      cat(shell_words(flags), flags.size() == 1 ? " is" : " are",
          " for a file of scores: a model knows its label, what it says of it and its missing words"),
      "without them, or --scores FILE in place of the model");
}

void ScoredTable::rank_by(const std::string& query, const std::string& file) {
  if (task == ScoreTask::kClasses)
    throw ValueError("evaluate.task", "--query is for scores that are one number, not for several classes");
  if (task == ScoreTask::kTwoClasses) truths.assign(labels.begin(), labels.end());
  if (!std::ranges::count(table.names(), query))
    throw_unknown("csv.column", cat("column of ", file), query, table.names());
  const int64_t column = table.column(query);
  const ColumnProfile profile = profile_values(table, rows, column, missing);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto fail = [&](const char* rule, const std::string& what, const std::string& condition) {
      throw ValueError(
          rule, cat(file, ", line ", table.line(rows[i]), ": ", what),
          shell_words({"--where", kept ? cat("(", kept->condition, ") and ", condition) : condition}));
    };
    if (profile.codes[i] == ColumnProfile::kMissing)
      fail("scores.query", cat("column \"", query, "\" names no query"),
           cat(column_in_expression(query), " is not missing"));
    if (truths[i] < 0)
      fail("scores.label", cat("a row is worth a number from 0 on to its query, got ", shortest(truths[i])),
           cat(column_in_expression(label), " >= 0"));
    queries.push_back(profile.codes[i]);
  }
  task = ScoreTask::kRanking;
  positive = {};
  labels.clear();
}

ScoredRows ScoredTable::view(const char* what) const {
  if (task != ScoreTask::kTwoClasses)
    throw ValueError("evaluate.task", cat(what, " is for models of two classes"));
  return {scores, labels, weights};
}

AnyRows ScoredTable::any() const {
  if (task == ScoreTask::kClasses) return ClassRows(classes, is, said, scores, weights);
  if (task == ScoreTask::kRanking) return QueryRows(scores, truths, queries, weights);
  if (task == ScoreTask::kRegression) return NumberRows(scores, truths, weights);
  return view();
}

Assessment ScoredTable::assess(const std::vector<std::vector<const CategoryColumn*>>& slicings,
                               const AssessmentOptions& options) const {
  Assessment out = assess_any(any(), slicings, options);
  if (task == ScoreTask::kTwoClasses && positive.known())
    out.options.positive_rows = cat(label, "=", positive.value);
  return out;
}

}  // namespace espalier
