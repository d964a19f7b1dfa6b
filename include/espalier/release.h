// What a model's scores are worth, over all rows and in groups of them, and whether that passes the gates of
// a release: `espalier evaluate --scores` and `espalier check --scores`, from a program.
//
//     const BinaryScores scores{.scores = probabilities, .labels = labels};
//     const CsvTable people = read_csv("people.csv");  // the same rows
//     const Evaluation evaluation = evaluate_scores(scores, {.columns = people, .slices = {"sex"}});
//     std::cout << evaluation.text() << *evaluation.figure("recall", "sex=Female").value;
//
//     const ReleaseVerdict verdict = ReleaseGates::load("gates.toml").judge(scores, {.columns = people});
//     std::cout << verdict.sentence() << "\n";
//     return verdict.exit_code();
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "espalier/columns.h"
#include "espalier/csv.h"
#include "espalier/error.h"

namespace espalier {

// What a model said of rows. All columns are of one length; `weights` say what each row counts, at least 0,
// none: 1.
struct BinaryScores {
  std::vector<double> scores;   // probabilities of the positive class, or numbers larger for likelier ones
  std::vector<uint8_t> labels;  // 1 for positives, 0 for negatives
  std::vector<double> weights = {};
  // What those rows are: the class, "yes", or with its column, "paid=yes", which gates' `positive` is held
  // against. The default is a word for people and names no class: such rows are of the gates' `positive`.
  std::string positive = "positive";
};
struct ClassScores {
  std::vector<std::string> classes;
  std::vector<uint32_t> labels;            // places in `classes`
  std::vector<double> probabilities = {};  // [rows, classes], each row adding up to 1
  std::vector<uint32_t> said = {};         // places in `classes`; none: the first of the likeliest
  std::vector<double> weights = {};
};
struct NumberScores {
  std::vector<double> predictions, truths;
  std::vector<double> weights = {};
};
// Rows that answer queries: the higher its score the earlier a row comes.
struct QueryScores {
  std::vector<double> scores;
  std::vector<double> gains;      // what a row is worth to its query, from 0 on
  std::vector<uint32_t> queries;  // equal for rows of one query
  std::vector<double> weights = {};
};
using ModelScores = std::variant<BinaryScores, ClassScores, NumberScores, QueryScores>;

// Which groups of rows are looked at, and how.
struct EvaluationOptions {
  // Of the rows, in their order: what slices are by.
  std::optional<CsvTable> columns = {};
  // Names of columns or conditions, and crosses of them: "sex", "sex*age"; in quotes where they hold one of ,
  // = * : or a quote, which is doubled.
  std::vector<std::string> slices = {};
  // Ascending edges at which columns of numbers are parted: {"age", {25, 45}} gives (-inf,25), [25,45),
  // [45,inf), and (missing) of cells without a number.
  std::map<std::string, std::vector<double>> buckets = {};
  // Slices "yes" and "no" by what is true of a row: {"senior", "age >= 60"}; docs/expressions.md.
  std::map<std::string, std::string> conditions = {};
  // From which score on a row of two classes is said to be positive; ascending.
  std::vector<double> thresholds = {0.5};
  // Whether only a score above the threshold says positive, as in TensorFlow Model Analysis.
  bool above = false;
  // Slices of fewer rows are thin, and lead no gap.
  int64_t min_slice = 30;
  // Whether rows without a value are a slice of their own, "sex=(missing)"; else they are in none.
  bool missing_group = true;
  // Cells that hold no value.
  std::vector<std::string> missing = ColumnOptions{}.missing;
  // Intervals from so many Poisson bootstrap replicates, of queries those of whole queries; 0: closed forms
  // (Wilson, Newcombe, DeLong, linearisation).
  int64_t bootstrap = 0;
  uint64_t seed = 0;
};

// A number with its interval of 95 %, and how many rows it counts: of a rate those of its denominator.
struct EvaluatedFigure {
  std::optional<double> value = {};           // none where it is undefined, 0 / 0
  std::optional<double> low = {}, high = {};  // none where no interval is known
  int64_t rows = 0;
};

// Immutable; copies share.
class Evaluation {
 public:
  // "overall", "sex=Female", "sex=Female, age=[25,45)".
  std::vector<std::string> slices() const;
  // "accuracy", "true_positive_rate", "auc", ...; of one class "recall[setosa]".
  std::vector<std::string> metrics() const;
  // By any name or alias of the metric. Raises ValueError with the nearest names: evaluate.metric,
  // evaluate.slice, evaluate.threshold for one that was not asked for; none given is the first.
  EvaluatedFigure figure(std::string_view metric, std::string_view slice = "overall",
                         std::optional<double> threshold = {}, Location at = Location::here()) const;
  // Tables for people: the figures of each slice, and how far groups lie apart by the criteria of fairness.
  std::string text() const;
  // docs/formats.md: what `evaluate --json` says of slices.
  std::string json() const;
  // A line for each figure of each slice.
  std::string csv() const;

  struct State;
  explicit Evaluation(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<const State> state_;
};

// Raises ValueError: evaluate.rows for columns of another length, evaluate.score, evaluate.label,
// evaluate.probability, evaluate.weight for the first row of no use; evaluate.slice for slices without
// columns, of more than 50 values or of a condition with the name of a column; evaluate.bucket,
// evaluate.thresholds, csv.column, expression.*, evaluate.interval for a bootstrap of less than 0 replicates.
Evaluation evaluate_scores(const ModelScores& scores, const EvaluationOptions& options = {},
                           Location at = Location::here());

enum class Ruling { kPass, kUndecided, kBlocked };
// "pass", "undecided", "blocked".
std::string_view name(Ruling ruling);

// What gates are held against beside the scores; slices, buckets and conditions are those that the gates
// name.
struct ReleaseOptions {
  std::optional<CsvTable> columns = {};      // of the rows, in their order
  std::optional<ModelScores> baseline = {};  // of the same rows by the model before: what changes are against
  // What the model learned from, for gates on data; `label` is its column there and in `columns`.
  std::optional<CsvTable> training = {};
  std::string label = {};
  std::vector<std::string> groups = {};  // columns of `training` that say who a row is about
  std::set<std::string> read =
      {};  // columns that the model reads: too few values there leave a gate undecided
  std::optional<std::chrono::year_month_day> today = {};  // that waivers are held against; none: the clock's
  bool above = false;                                     // as of EvaluationOptions, and those below
  int64_t min_slice = 30;
  bool missing_group = true;
  std::vector<std::string> missing = ColumnOptions{}.missing;
  int64_t bootstrap = 0;
  uint64_t seed = 0;
};

// Whether a release passes its gates, and why not. Immutable; copies share.
class ReleaseVerdict {
 public:
  Ruling ruling() const;
  // 0 pass, 1 blocked, 3 undecided.
  int exit_code() const;
  // "Blocked: true positive rate for sex=Female is 0.53 against 0.61 (gap 0.09, ...)."
  const std::string& sentence() const;
  // For people, then docs/gates.md: JSON (version 1), JUnit XML, Prometheus text, every figure of every slice
  // as CSV.
  std::string text() const;
  std::string json() const;
  std::string junit() const;
  std::string prometheus() const;
  std::string csv() const;
  // One self-contained HTML file about `subject`, without a row of the data; values of fewer than `rare` rows
  // are not named.
  std::string page(const std::string& subject, int64_t rare = 10) const;

  struct State;
  explicit ReleaseVerdict(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<const State> state_;
};

// The gates of a release, as a person writes them: docs/gates.md. Immutable; copies share.
class ReleaseGates {
 public:
  // Raises IoError, and FormatError with file, line and column: gates.*, expression.*.
  static ReleaseGates load(const std::string& file, Location at = Location::here());
  // `source` is what errors call the text.
  static ReleaseGates parse(const std::string& toml, const std::string& source = "gates",
                            Location at = Location::here());
  // Raises what evaluate_scores() does; csv.column, with the place of the gate, for a column that it names
  // and `columns` lacks; gates.positive where the gates count from another class than the scores, or the rows
  // are not of two; positive.differs where the baseline does; gates.options for a proof that no interval can
  // give; where.rows where the gates' condition leaves no row. Without a baseline or training rows the gates
  // that ask for them are undecided, as are those on data of too few rows.
  ReleaseVerdict judge(const ModelScores& scores, const ReleaseOptions& options = {},
                       Location at = Location::here()) const;

 private:
  struct State;
  explicit ReleaseGates(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace espalier
