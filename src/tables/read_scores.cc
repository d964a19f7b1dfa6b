#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/format.h"
#include "base/input_file.h"
#include "base/listed_names.h"
#include "base/shell_words.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "data/column_steps.h"
#include "data/label_dots.h"
#include "data/missing_labels.h"
#include "espalier/error.h"
#include "format/expression_node.h"
#include "format/toml.h"
#include "format/utf8.h"
#include "tables/scored_table.h"
#include "tables/scores.h"
#include "tables/table_reading.h"
#include "validate/sketch_values.h"

namespace espalier {
namespace {

std::string in_quotes(std::string_view text) { return cat("\"", shortened(text), "\""); }

// Gates alone say what is counted, not what scores are of: those of a known pair are of its positive one.
void check_pair(const PositiveClass& counted, const std::vector<std::string>& kinds,
                const ScoredColumns& flags, const std::string& file) {
  const PositiveClass of_pair = positive_class(PositiveSaid(), kinds);
  if (!of_pair.known() || same_label(of_pair.value, counted.value)) return;
  throw ValueError(
      "positive.differs",
      cat("the gates count from ", shortened(counted.value), ", and scores of ", file, " are of ",
          shortened(of_pair.value), ": column \"", flags.label, "\" holds a known pair"),
      cat(shell_words({"--positive", counted.value}), " where scores are its probability, else positive = ",
          is_utf8(of_pair.value) ? toml_quoted(of_pair.value) : in_quotes(of_pair.value), " in the gates"));
}

// Of labels of two kinds, or of one, what is positive.
PositiveClass positive_class_of(const std::vector<std::string>& kinds, const ScoredColumns& flags,
                                const std::string& file) {
  if (kinds.size() > 2) {
    std::string names;
    for (size_t i = 0; i < std::min<size_t>(kinds.size(), 5); ++i)
      names += cat(names.empty() ? "" : ", ", in_quotes(kinds[i]));
    throw ValueError("scores.label",
                     cat(file, ": labels are of two kinds, and column \"", flags.label, "\" has ",
                         kinds.size(), ": ", names, kinds.size() > 5 ? ", ..." : ""),
                     "--task classes, or --task regression where it holds numbers");
  }
  PositiveClass out = positive_class(flags.said(), kinds);
  if (out.because == PositiveBecause::kGates && flags.positive.empty() && flags.counted.empty())
    check_pair(out, kinds, flags, file);
  if (out.known()) return out;
  if (kinds.size() == 1) {
    throw ValueError("scores.label",
                     cat(file, ": every row of column \"", flags.label, "\" is ", in_quotes(kinds[0]),
                         ", and nothing says whether high scores stand for it"),
                     cat(positive_flags(kinds), ", or --positive with the label that no row has"));
  }
  throw ValueError("scores.label",
                   cat(file, ": column \"", flags.label, "\" holds ", in_quotes(kinds[0]), " and ",
                       in_quotes(kinds[1]), ", and which of them do high scores stand for?"),
                   positive_flags(kinds));
}

// A column of probabilities, and the class that it is of.
struct ClassColumn {
  std::string of, column;
};

// "a=x,b=y", or "a,b" of columns that are named by their class, "probability of a" too.
std::vector<ClassColumn> class_columns(const std::string& text) {
  std::vector<ClassColumn> out;
  for (const std::string& part : listed_parts(text)) {
    const std::optional<NamedPart> named = named_part(part);
    const std::string column = name_of_part(named ? named->rest : part);
    std::string of = named ? named->name : column;
    if (!named && of.starts_with(kProbabilityOf)) of.erase(0, kProbabilityOf.size());
    if (std::ranges::count(out, of, &ClassColumn::of))
      throw ValueError("scores.classes", cat("--score has two columns of the class ", in_quotes(of)));
    out.push_back({of, column});
  }
  return out;
}

bool has_class_columns(const ScoredColumns& flags) {
  return flags.task == ScoreTask::kClasses &&
         (listed_parts(flags.score).size() > 1 || named_part(flags.score));
}

class ScoreReader {
 public:
  ScoreReader(const std::string& path, const ScoredColumns& flags, const MissingWords& missing)
      : path_(path), flags_(flags), none_(missing) {
    if (has_class_columns(flags)) classes_ = class_columns(flags.score);
  }

  ScoredTable read(const TableReading& reading, const Messages& messages,
                   const std::optional<Expression>& where, const MissingWords& missing) {
    out_.table = reading.read(path_, flags_.columns(), messages);
    reading.check_parted(out_.table, path_);
    if (flags_.strip_label_dots) out_.table = without_label_dots(out_.table, flags_.label);
    label_ = column(flags_.label);
    score_ = flags_.score.empty() || !classes_.empty() ? -1 : column(name_alone(flags_.score));
    const int64_t weight = flags_.weight.empty() ? -1 : column(flags_.weight);
    const std::map<std::string, int64_t> counts = count_labels(messages);
    const bool ranks = !flags_.query.empty() && flags_.task != ScoreTask::kClasses;
    out_.task = ranks ? ScoreTask::kRegression : flags_.task;
    out_.label = flags_.label;
    out_.missing = missing;
    if (out_.task == ScoreTask::kTwoClasses) find_positive(counts, messages);
    if (where) out_.kept = keep_rows(*where, out_.table, out_.rows, missing);
    if (out_.task == ScoreTask::kTwoClasses) two_classes();
    if (out_.task == ScoreTask::kRegression) numbers();
    if (out_.task == ScoreTask::kClasses) several_classes(counts);
    for (const int64_t row : out_.rows) {
      if (weight >= 0)
        out_.weights.push_back(number(row, weight, "scores.weight", "a weight is a number from 0 to 1e9", 0,
                                      kMostWeight, [&] { return rows_where(weight, "between 0 and 1e9"); }));
    }
    if (weight >= 0 && std::ranges::all_of(out_.weights, [](double its) { return its == 0; }))
      throw ValueError("scores.weight", cat(source_name(path_), ": every row has the weight 0 in column \"",
                                            flags_.weight, "\", and nothing is left to evaluate"));
    if (!flags_.query.empty()) out_.rank_by(flags_.query, source_name(path_));
    return std::move(out_);
  }

 private:
  static constexpr double kMost = std::numeric_limits<double>::max();
  static constexpr size_t kMostClasses = 200;

  std::map<std::string, int64_t> count_labels(const Messages& messages) {
    std::map<std::string, int64_t> out;
    for (int64_t row = 0; row < out_.table.rows(); ++row) {
      const std::string_view text = out_.table.cell(row, label_);
      if (none_.of(flags_.label).contains(text)) continue;
      out_.rows.push_back(row);
      ++out[std::string(text)];
    }
    if (out_.rows.empty()) throw ValueError("scores.label", cat(source_name(path_), ": no row has a label"));
    if (const int64_t unlabelled = out_.table.rows() - std::ssize(out_.rows)) {
      const std::string of_missing = missing_labels(out_.table, label_, none_);
      messages.warn(
          {cat(unlabelled, unlabelled == 1 ? " row has no value of \"" : " rows have no value of \"",
               flags_.label, unlabelled == 1 ? "\" and is left out" : "\" and are left out",
               of_missing.empty() ? "" : "; ", of_missing)});
    }
    return out;
  }

  // Which labels are positive; 1, 1.0 and true are one.
  void find_positive(const std::map<std::string, int64_t>& counts, const Messages& messages) {
    std::vector<std::string> kinds;
    for (const auto& [label, count] : counts) {
      if (std::ranges::none_of(kinds, [&](const std::string& kind) { return same_label(kind, label); }))
        kinds.push_back(label);
    }
    out_.positive = positive_of_scores(kinds, messages);
    out_.classes = kinds;
    for (const auto& [label, count] : counts) {
      if (same_label(label, out_.positive.value)) positives_.insert(label);
    }
    if (kinds.size() == 1) {
      messages.warn({cat("every row of column \"", flags_.label, "\" is ", in_quotes(kinds[0]),
                         ": what needs rows of both classes, as auc, is undefined")});
    }
  }

  // Of a baseline beside a model what that counts from.
  PositiveClass positive_of_scores(const std::vector<std::string>& kinds, const Messages& messages) {
    const std::string file = source_name(path_);
    if (flags_.counted.empty()) return positive_class_of(kinds, flags_, file);
    const PositiveClass of_pair = kinds.size() > 2 ? PositiveClass() : positive_class(PositiveSaid(), kinds);
    const PositiveClass of = of_pair.known() ? of_pair : positive_class_of(kinds, flags_, file);
    PositiveClass out = positive_class({.model = flags_.counted}, kinds);
    if (same_label(of.value, out.value)) return out;
    const std::string text =
        cat("scores of the baseline ", file, " are of ", shortened(of.value),
            of_pair.known() ? ", of a known pair" : "", ", and ", shortened(out.value), " is positive");
    if (flags_.positive.empty() && flags_.favourable.empty())
      throw ValueError("positive.differs", text,
                       cat(shell_words({"--positive", out.value}), " counts 1 - score of the baseline"));
    messages.warn({cat(text, ": 1 - score is counted")});
    out_.turned = of.value;
    return out;
  }

  int64_t column(const std::string& name) const {
    if (!std::ranges::count(out_.table.names(), name))
      throw_unknown("csv.column", cat("column of ", source_name(path_)), name, out_.table.names());
    return out_.table.column(name);
  }
  [[noreturn]] void fail(int64_t row, const char* rule, const std::string& what,
                         const std::string& fix = "") const {
    throw ValueError(rule, cat(source_name(path_), ", line ", out_.table.line(row), ": ", what), fix);
  }
  // The rows of which this is true of a column, too.
  std::string rows_where(int64_t column, const std::string& is) const {
    const std::string condition =
        cat(column_in_expression(out_.table.names()[static_cast<size_t>(column)]), " ", is);
    return shell_words(
        {"--where", out_.kept ? cat("(", out_.kept->condition, ") and ", condition) : condition});
  }
  // A number within bounds; fix() where most cells are none, or numbers beyond.
  template <class F>
  double number(int64_t row, int64_t column, const char* rule, const char* what, double least, double most,
                F fix) const {
    const double value = out_.table.number_or_nan(row, column);
    if (value >= least && value <= most) return value;
    const std::string_view cell = out_.table.cell(row, column);
    const auto is_number = [&](int64_t other) {
      return !std::isnan(out_.table.number_or_nan(other, column));
    };
    const bool missing = none_.of(out_.table.names()[static_cast<size_t>(column)]).contains(cell);
    const bool word =
        std::isnan(value) && 2 * std::ranges::count_if(out_.rows, is_number) >= std::ssize(out_.rows);
    fail(row, rule, cat(what, ", got ", in_quotes(cell)),
         missing ? rows_where(column, "is not missing")
         : word  ? rows_where(column, cat("!= ", quoted_text(cell)))
                 : std::string(fix()));
  }
  double probability(int64_t row, int64_t column) const {
    return number(row, column, "scores.score", "a score is a probability from 0 to 1", 0, 1, [&] {
      const bool beyond = !std::isnan(out_.table.number_or_nan(row, column));
      return flags_.task == ScoreTask::kTwoClasses && beyond
                 ? "--task regression, where scores are no probabilities"
                 : "";
    });
  }

  void two_classes() {
    for (const int64_t row : out_.rows) {
      out_.labels.push_back(positives_.contains(out_.table.cell(row, label_)));
      const double score = score_ < 0 ? out_.labels.back() : probability(row, score_);
      out_.scores.push_back(out_.turned.empty() ? score : 1 - score);
    }
  }
  void numbers() {
    for (const int64_t row : out_.rows) {
      out_.truths.push_back(number(row, label_, "scores.label", "a label is a number", -kMost, kMost,
                                   [] { return "--task classes, where labels are words"; }));
      out_.scores.push_back(
          number(row, score_, "scores.score", "a prediction is a number", -kMost, kMost, [] { return ""; }));
    }
  }

  void several_classes(std::map<std::string, int64_t> counts) {
    if (classes_.empty()) {
      for (const int64_t row : out_.rows) {
        const std::string_view text = out_.table.cell(row, score_);
        if (none_.of(out_.table.names()[static_cast<size_t>(score_)]).contains(text))
          fail(row, "scores.score", "no class is said", rows_where(score_, "is not missing"));
        counts.try_emplace(std::string(text));
      }
      for (const auto& [name, count] : counts) out_.classes.push_back(name);
    }
    for (const ClassColumn& each : classes_) out_.classes.push_back(each.of);
    if (out_.classes.size() > kMostClasses) {
      throw ValueError("scores.label",
                       cat(source_name(path_), ": at most ", kMostClasses, " classes, and column \"",
                           flags_.label, "\" has ", out_.classes.size()),
                       "--task regression, where it holds numbers");
    }
    for (const int64_t row : out_.rows) out_.is.push_back(class_of(row, label_, "scores.label"));
    if (classes_.empty()) {
      for (const int64_t row : out_.rows) out_.said.push_back(class_of(row, score_, "scores.score"));
    } else {
      probabilities();
    }
  }
  uint32_t class_of(int64_t row, int64_t column, const char* rule) const {
    const std::string_view text = out_.table.cell(row, column);
    const auto found = std::ranges::find(out_.classes, text);
    if (found == out_.classes.end())
      fail(row, rule, cat("--score has no column of the class ", in_quotes(text)));
    return static_cast<uint32_t>(found - out_.classes.begin());
  }
  // The likeliest class is said, of several the first.
  void probabilities() {
    constexpr double kRounded = 0.02;
    std::vector<int64_t> columns;
    for (const ClassColumn& each : classes_) columns.push_back(column(each.column));
    for (const int64_t row : out_.rows) {
      double sum = 0;
      const size_t begin = out_.scores.size();
      for (const int64_t column : columns) {
        out_.scores.push_back(probability(row, column));
        sum += out_.scores.back();
      }
      if (std::abs(sum - 1) > kRounded)
        fail(row, "scores.score",
             cat("the probabilities of all classes add up to 1, and these to ", shortest(sum)));
      const auto its = out_.scores.begin() + static_cast<std::ptrdiff_t>(begin);
      out_.said.push_back(static_cast<uint32_t>(std::max_element(its, out_.scores.end()) - its));
    }
  }

  const std::string& path_;
  const ScoredColumns& flags_;
  const MissingWords none_;
  std::vector<ClassColumn> classes_;
  ScoredTable out_;
  std::set<std::string, std::less<>> positives_;
  int64_t label_ = -1, score_ = -1;
};

}  // namespace

std::vector<std::string> ScoredColumns::columns() const {
  std::vector<std::string> out;
  for (const std::string& column : {label, weight, query}) {
    if (!column.empty()) out.push_back(column);
  }
  if (!has_class_columns(*this)) {
    if (!score.empty()) out.push_back(name_alone(score));
    return out;
  }
  for (const ClassColumn& each : class_columns(score)) out.push_back(each.column);
  return out;
}

ScoredTable read_scores(const std::string& path, const TableReading& reading, const ScoredColumns& flags,
                        const MissingWords& missing, const Messages& messages,
                        const std::optional<Expression>& where) {
  return ScoreReader(path, flags, missing).read(reading, messages, where, missing);
}

}  // namespace espalier
