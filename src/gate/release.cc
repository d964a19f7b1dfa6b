#include "espalier/release.h"

#include <algorithm>
#include <numeric>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/shortest.h"
#include "data/positive_class.h"
#include "data/table_truths.h"
#include "evaluate/slice_columns.h"
#include "fairness/assessment_text.h"
#include "gate/check_page.h"
#include "gate/data_section.h"
#include "gate/model_scores.h"
#include "gate/reports.h"
#include "gate/schema_faults.h"

namespace espalier {
namespace {

// What evaluations and releases ask of the same kind.
template <class Options>
AssessmentOptions assessment_options(const Options& options, const ModelScores& scores) {
  if (options.bootstrap < 0)
    throw ValueError("evaluate.interval", cat("bootstrap is ", options.bootstrap, ", less than 0"));
  AssessmentOptions out;
  out.positive = options.above ? Positive::kAbove : Positive::kFrom;
  out.positive_rows = positive_of(scores);
  out.slices = {.missing = options.missing_group ? MissingGroup::kSlice : MissingGroup::kLeftOut,
                .min_rows = options.min_slice};
  if (options.bootstrap > 0)
    out.resampling = {.method = IntervalMethod::kBootstrap,
                      .replicates = static_cast<size_t>(options.bootstrap),
                      .seed = options.seed};
  return out;
}

// The rows of the scores in a table; one without columns where none was given.
std::vector<int64_t> rows_in(const std::optional<CsvTable>& columns, const ModelScores& scores) {
  const auto rows = static_cast<int64_t>(row_count(scores));
  if (columns && columns->rows() != rows) {
    throw ValueError("evaluate.rows",
                     cat("the scores are of ", rows, " rows, and `columns` has ", columns->rows()));
  }
  std::vector<int64_t> out(static_cast<size_t>(rows));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

const CsvTable& columns_or_error(const std::optional<CsvTable>& columns, const std::string& why) {
  if (!columns)
    throw ValueError("evaluate.slice", cat("`columns` is not given, and ", why), "give the rows' columns");
  return *columns;
}

struct Parts {
  std::vector<std::string> slicings;
  std::map<std::string, Buckets> buckets;
  std::map<std::string, Expression> conditions;
};

Assessment assessed(const ModelScores& scores, const std::optional<CsvTable>& columns,
                    const std::vector<int64_t>& rows, const Parts& parts, const MissingWords& missing,
                    const AssessmentOptions& options) {
  if (parts.slicings.empty()) return assess_any(rows_of(scores), {}, options);
  const CsvTable& table = columns_or_error(columns, cat("slices are by ", parts.slicings[0]));
  SliceColumns by_name(table, rows, missing, parts.buckets, parts.conditions);
  std::vector<std::vector<const CategoryColumn*>> slicings;
  for (const std::string& slicing : parts.slicings) slicings.push_back(by_name.by(slicing));
  return assess_any(rows_of(scores), slicings, options);
}

// Each bucketed column and condition that no slicing names parts the rows by itself.
Parts with_unnamed(Parts parts) {
  const auto add = [&](const std::string& name) {
    const bool named = std::ranges::any_of(parts.slicings, [&](const std::string& slicing) {
      return std::ranges::count(factors_of(slicing), name) > 0;
    });
    if (!named) parts.slicings.push_back(cross_of({name}));
  };
  for (const auto& [name, buckets] : parts.buckets) add(name);
  for (const auto& [name, condition] : parts.conditions) add(name);
  return parts;
}

Parts parts_of(const EvaluationOptions& options) {
  Parts out{.slicings = options.slices, .buckets = {}, .conditions = {}};
  for (const auto& [name, edges] : options.buckets) out.buckets[name].edges = edges;
  for (const auto& [name, condition] : options.conditions)
    out.conditions.emplace(name, Expression(condition));
  return with_unnamed(std::move(out));
}

// Columns before crosses of them.
Parts parts_of(const Gates& gates) {
  Parts out{.slicings = {}, .buckets = {}, .conditions = gates.slices};
  for (const auto& [name, edges] : gates.buckets) out.buckets[name].edges = edges;
  std::vector<std::string> crosses;
  for (const std::vector<std::string>& columns : gates.slicings())
    (columns.size() == 1 ? out.slicings : crosses).push_back(cross_of(columns));
  out.slicings.insert(out.slicings.end(), crosses.begin(), crosses.end());
  return with_unnamed(std::move(out));
}

}  // namespace

struct Evaluation::State {
  Assessment assessment;
};

Evaluation evaluate_scores(const ModelScores& given, const EvaluationOptions& options, Location at) {
  const CallScope scope(at);
  const ModelScores scores = with_classes_said(given);
  AssessmentOptions assessment = assessment_options(options, scores);
  if (std::holds_alternative<BinaryScores>(scores))
    assessment.thresholds = options.thresholds;
  else
    assessment.thresholds.clear();
  return Evaluation(std::make_shared<const Evaluation::State>(
      Evaluation::State{assessed(scores, options.columns, rows_in(options.columns, scores), parts_of(options),
                                 options.missing, assessment)}));
}

std::vector<std::string> Evaluation::slices() const {
  std::vector<std::string> out{std::string(kAllRows)};
  for (const SlicingFigures& slicing : state_->assessment.by) {
    for (const SliceFigures& slice : slicing.slices) out.push_back(slice.slice.name);
  }
  return out;
}

std::vector<std::string> Evaluation::metrics() const { return slice_metrics(state_->assessment); }

EvaluatedFigure Evaluation::figure(std::string_view metric, std::string_view slice,
                                   std::optional<double> threshold, Location at) const {
  const CallScope scope(at);
  const Assessment& all = state_->assessment;
  std::vector<std::string> known = metrics();
  std::optional<SliceMetric> asked;
  try {
    asked.emplace(metric);
  } catch (const ValueError&) {
  }
  if (!asked || !std::ranges::count(known, asked->name())) {
    for (const Rate& rate : rates()) {
      if (all.has_thresholds()) known.insert(known.end(), rate.aliases.begin(), rate.aliases.end());
    }
    throw_unknown("evaluate.metric", "metric", metric, known);
  }
  const std::vector<double>& thresholds = all.options.thresholds;
  size_t place = 0;
  if (threshold) {
    const auto found = std::ranges::find(thresholds, *threshold);
    if (found == thresholds.end())
      throw ValueError("evaluate.threshold",
                       cat(shortest(*threshold), " is none of the thresholds asked for"));
    place = static_cast<size_t>(found - thresholds.begin());
  }
  const SliceFigures* of = slice == kAllRows ? &all.overall : nullptr;
  for (const SlicingFigures& slicing : all.by) {
    const auto found = std::ranges::find(
        slicing.slices, slice, [](const SliceFigures& each) { return std::string_view(each.slice.name); });
    if (!of && found != slicing.slices.end()) of = &*found;
  }
  if (!of) throw_unknown("evaluate.slice", "slice", slice, slices());
  const Figure figure = (*asked)(*of, place);
  EvaluatedFigure out{.value = figure.value, .low = {}, .high = {}, .rows = figure.rows};
  if (figure.interval) {
    out.low = figure.interval->low;
    out.high = figure.interval->high;
  }
  return out;
}

std::string Evaluation::text() const { return text_of(state_->assessment, {}, {}); }
std::string Evaluation::json() const { return json_of(state_->assessment, {}).dump(2); }
std::string Evaluation::csv() const { return slices_csv(state_->assessment); }

struct ReleaseGates::State {
  Gates gates;
};

ReleaseGates ReleaseGates::load(const std::string& file, Location at) {
  const CallScope scope(at);
  return parse(posix_env().read_file(file), file);
}

ReleaseGates ReleaseGates::parse(const std::string& toml, const std::string& source, Location at) {
  const CallScope scope(at);
  return ReleaseGates(std::make_shared<const State>(State{read_gates(toml, source)}));
}

namespace {

// The training rows, with what is wrong with it and with the rows.
struct TrainedOn {
  DataFaultOptions options;
  DataAnswer data;
};

std::optional<TrainedOn> trained_on(const ReleaseOptions& options) {
  if (!options.training) return std::nullopt;
  const CsvTable& now = columns_or_error(options.columns, "gates on data are of the rows");
  TrainedOn out;
  out.options.label = options.label;
  out.options.groups = options.groups;
  out.options.read = options.read;
  out.options.missing = options.missing;
  out.data = ask_data(*options.training, &now, out.options);
  out.options.schema = infer_train_schema(*options.training, out.options);  // for the lines of a page
  return out;
}

}  // namespace

struct ReleaseVerdict::State {
  Verdict verdict;
  Assessment assessment;
  std::optional<CsvTable> training, columns;
  std::optional<TrainedOn> trained;
  std::vector<std::string> missing;
  std::string positive = {};  // of two classes
  bool positive_by_gates = false;
};

namespace {

// The class of "paid=yes"; "" where nothing but a word for people was given.
std::string class_of(const ModelScores& scores, const std::string& label) {
  const std::string rows = positive_of(scores);
  if (rows == BinaryScores().positive) return "";
  if (!label.empty() && rows.starts_with(label + "=")) return rows.substr(label.size() + 1);
  return label.empty() && rows.find('=') != rows.npos ? rows.substr(rows.find('=') + 1) : rows;
}

// The one class that gates, scores and baseline count from; scores that name none are of the gates'.
std::string class_counted(const Gates& gates, const ModelScores& scores, const ReleaseOptions& options) {
  const std::string now = class_of(scores, options.label), asked = gates.positive_of(options.label);
  if (!now.empty() && !asked.empty() && !same_label(now, asked)) {
    throw ValueError("gates.positive",
                     cat("the gates count from \"", asked, "\", and the scores are of \"", now, "\""));
  }
  const std::string before = options.baseline ? class_of(*options.baseline, options.label) : "";
  const std::string& counted = now.empty() ? asked : now;
  if (!counted.empty() && !before.empty() && !same_label(counted, before)) {
    throw ValueError("positive.differs",
                     cat(now.empty() ? "the gates count from \"" : "the scores are of \"", counted,
                         "\", and the scores of the baseline are of \"", before, "\""));
  }
  return counted;
}

}  // namespace

ReleaseVerdict ReleaseGates::judge(const ModelScores& given, const ReleaseOptions& options,
                                   Location at) const {
  const CallScope scope(at);
  const Gates& gates = state_->gates;
  const Parts parts = parts_of(gates);
  const ModelScores all = with_classes_said(given);
  std::vector<int64_t> rows = rows_in(options.columns, all);
  if (options.baseline) rows_in(options.columns, *options.baseline);
  if (options.columns) check_columns(gates, gates.slices, *options.columns);
  if (gates.where)
    keep_rows(*gates.where, columns_or_error(options.columns, "the gates are of rows by a condition"), rows,
              options.missing);
  const auto assess_rows = [&](const ModelScores& of) {
    const ModelScores scores = gates.where ? rows_taken(of, rows) : of;
    AssessmentOptions assessment = assessment_options(options, scores);
    assessment.level = gates.level;
    assessment.histograms = true;
    if (std::holds_alternative<BinaryScores>(scores))
      assessment.thresholds = gates.thresholds();
    else
      assessment.thresholds.clear();
    return assessed(scores, options.columns, rows, parts, options.missing, assessment);
  };
  const std::string counted = class_counted(gates, all, options);
  ReleaseVerdict::State out{.verdict = {},
                            .assessment = assess_rows(all),
                            .training = options.training,
                            .columns = options.columns,
                            .trained = trained_on(options),
                            .missing = options.missing};
  out.positive = counted;
  out.positive_by_gates = !gates.positive_of(options.label).empty();
  check_positive(gates, out.assessment);
  check_proofs(gates, out.assessment);
  std::optional<Assessment> baseline;
  if (options.baseline) baseline = assess_rows(with_classes_said(*options.baseline));
  const std::chrono::year_month_day today =
      options.today.value_or(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  out.verdict = espalier::judge(gates, out.assessment, baseline ? &*baseline : nullptr, today,
                                out.trained ? &out.trained->data : nullptr);
  return ReleaseVerdict(std::make_shared<const ReleaseVerdict::State>(std::move(out)));
}

Ruling ReleaseVerdict::ruling() const { return state_->verdict.ruling; }
int ReleaseVerdict::exit_code() const { return espalier::exit_code(ruling()); }
const std::string& ReleaseVerdict::sentence() const { return state_->verdict.sentence; }
std::string ReleaseVerdict::text() const { return text_report(state_->verdict, {}); }
std::string ReleaseVerdict::json() const {
  nlohmann::ordered_json out = json_of(state_->verdict);
  if (state_->assessment.has_thresholds()) {
    const std::string& positive = state_->positive;
    out["positive"] = positive.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(positive);
    out["positive_because"] = nullptr;
    if (!positive.empty()) out["positive_because"] = state_->positive_by_gates ? "gates" : "scores";
  }
  if (state_->trained) out["not_compared"] = json_of(state_->trained->data.listed());
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}
std::string ReleaseVerdict::junit() const { return junit_report(state_->verdict); }
std::string ReleaseVerdict::prometheus() const { return prometheus_report(state_->verdict); }
std::string ReleaseVerdict::csv() const { return slices_csv(state_->assessment); }

std::string ReleaseVerdict::page(const std::string& subject, int64_t rare) const {
  CheckPage about{.subject = subject, .next = "", .sections = {}, .k = rare, .rows = 0, .closer = {}};
  if (state_->trained) {
    const DataSpreads spreads = spreads_of(*state_->training, *state_->columns,
                                           {.k = rare,
                                            .ignored = state_->trained->options.ignored,
                                            .missing = state_->missing,
                                            .limits = schema_limits(*state_->trained->options.schema)});
    about.sections.push_back(data_section(spreads, state_->trained->data));
  }
  return check_page(state_->verdict, state_->assessment, about);
}

}  // namespace espalier
