#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/shortest.h"
#include "cli/baseline_flags.h"
#include "cli/device_flags.h"
#include "cli/envelope.h"
#include "cli/flip_flags.h"
#include "cli/given_flags.h"
#include "cli/individual_flags.h"
#include "cli/interval_flags.h"
#include "cli/schema_slices.h"
#include "cli/scored_flags.h"
#include "cli/slice_choice.h"
#include "cli/strategy_flags.h"
#include "cli/table_flags.h"
#include "cli/train_images.h"
#include "cli/where.h"
#include "cli/worst_flags.h"
#include "fairness/assessment_text.h"
#include "gate/gates.h"
#include "report/table.h"
#include "tables/kept_rows.h"
#include "tables/learned_rows.h"
#include "tables/loaded_table_model.h"
#include "tables/provenance.h"
#include "tables/scored_table.h"
#include "tables/scores.h"
#include "tables/table_reading.h"
#include "validate/schema_parts.h"

namespace espalier::cli {
namespace {

struct EvaluateRun {
  std::string model, data;
  std::string scores, schema;
  SlicingSchema of_schema = {};
  ScoredColumns scored;
  SliceFlags slicing;
  IntervalFlags intervals;
  WorstFlags worst;
  FlipFlags flips;
  IndividualFlags individual;
  GivenFlags given;
  BaselineFlags baseline;
  bool strip_label_dots = false, all_rows = false;
  std::vector<double> thresholds = {};
  std::optional<Expression> where = {};
  TableReading table;
  DevicePlan device;
  DistributePlan distribute;
  Results results;
  const CLI::App* verb = nullptr;
};

// The one that decides; none where several are compared.
std::optional<double> threshold_of(const EvaluateRun& run) {
  return run.thresholds.size() == 1 ? std::optional(run.thresholds[0]) : std::nullopt;
}
// --threshold with those that were given, or nothing.
std::vector<std::string> threshold_words(const EvaluateRun& run) {
  std::string all;
  for (const double threshold : run.thresholds) all += cat(all.empty() ? "" : ",", shortest(threshold));
  return all.empty() ? std::vector<std::string>{} : std::vector<std::string>{"--threshold", all};
}

// What makes gates of these scores and slices, or holds those that are there against them.
std::vector<std::string> gate_words(const EvaluateRun& run) {
  const std::string gates = run.scores == "-"
                                ? "gates.toml"
                                : cat(std::filesystem::path(run.scores).stem().string(), "-gates.toml");
  const bool there = posix_env().exists(gates);
  std::vector<std::string> out = {"check", "--scores", run.scores};
  const auto add = [&](const std::vector<std::string>& words) {
    out.insert(out.end(), words.begin(), words.end());
  };
  add(run.scored.words());
  if (run.strip_label_dots) add({"--strip-label-dots"});
  add(run.table.words());
  add(run.intervals.words());
  if (!run.schema.empty()) add({"--schema", run.schema});
  if (there) {
    add({"--gates", gates});
    return out;
  }
  if (run.where) add({"--where", run.where->text()});
  SliceFlags slicing = run.slicing;
  slicing.references.clear();
  add(slicing.words());
  add({"--init", "--out", gates});
  return out;
}

// All rows at each threshold.
std::string thresholds_text(const Assessment& assessment, const Terminal& terminal) {
  constexpr std::string_view kShown[] = {"accuracy", "selection_rate", "tpr", "fpr", "precision", "f1"};
  Table table({"threshold", "accuracy", "selected", "tpr", "fpr", "precision", "f1"});
  for (size_t t = 0; t < assessment.options.thresholds.size(); ++t) {
    std::vector<TableCell> cells = {shortest(assessment.options.thresholds[t])};
    for (const std::string_view name : kShown) {
      const std::optional<double> value = SliceMetric(name)(assessment.overall, t).value;
      cells.emplace_back(value ? fixed(*value, 4) : "-");
    }
    table.row(std::move(cells));
  }
  return table.text(terminal);
}
// The table of several thresholds, and below it what is said of each with slices.
std::string assessed_text(const EvaluateRun& run, const Assessment& assessment, const AssessmentView& view,
                          const Terminal& terminal) {
  if (run.thresholds.size() < 2) return text_of(assessment, view, terminal);
  const bool more = run.slicing.any() || !view.metrics.empty();
  return thresholds_text(assessment, terminal) + (more ? cat("\n", text_of(assessment, view, terminal)) : "");
}

AssessmentView view_of(const SliceFlags& slicing, const Assessment& assessment) {
  const std::vector<std::string> known = slice_metrics(assessment);
  for (const std::string& name : slicing.metrics) {
    if (!std::ranges::count(known, SliceMetric(name).name()))
      throw_unknown("evaluate.metric", "metric", name, known);
  }
  return {.metrics = slicing.metrics, .references = slicing.reference_groups(assessment)};
}

WorstOptions worst_options(const EvaluateRun& run, double threshold) {
  WorstOptions out{.threshold = threshold,
                   .most = static_cast<size_t>(run.worst.most),
                   .depth = static_cast<size_t>(run.worst.depth),
                   .min_rows = run.slicing.min_rows,
                   .seed = run.intervals.seed};
  if (run.worst.any() && !run.slicing.metrics.empty()) out.metric = run.slicing.metrics[0];
  if (run.slicing.positive_from == "above") out.positive = Positive::kAbove;
  return out;
}

// What expressions are about, for people and in JSON.
std::string conditions_text(const EvaluateRun& run, const std::optional<KeptRows>& kept) {
  std::string out = kept ? text_of(*kept) : "";
  for (const auto& [name, condition] : run.slicing.conditions)
    out += cat(name, "=yes: ", condition.canonical(), "\n");
  return out;
}
void add_conditions(nlohmann::ordered_json& body, const EvaluateRun& run,
                    const std::optional<KeptRows>& kept) {
  if (kept) body["where"] = json_of(*kept);
  for (const auto& [name, condition] : run.slicing.conditions)
    body["conditions"][name] = condition.canonical();
}

// How many rows there are, before what is said of them.
std::string counted_rows_text(const EvaluateRun& run, const ScoredTable& scored, const Assessment& assessment,
                              const Terminal& terminal) {
  constexpr size_t kTableClasses = 20;
  if (!assessment.has_thresholds()) {
    if (scored.task == ScoreTask::kRanking)
      return cat(scored.rows.size(), " rows of ", std::ranges::max(scored.queries) + 1, " queries\n");
    const bool matrix = scored.task == ScoreTask::kClasses && scored.classes.size() <= kTableClasses;
    return cat(
        scored.rows.size(), " rows\n",
        matrix ? cat(confusion_matrix(assessment.overall.matrix, scored.classes, terminal), "\n") : "");
  }
  return cat(scored.rows.size(), " rows, of which ", assessment.overall.at[0].positives().rows, " are ",
             scored.positive.value, run.thresholds.size() > 1 ? "\n" : "; ");
}

// Columns of the label and of scores, and those that `predict` writes beside those of the rows.
std::vector<std::string> no_inputs(const EvaluateRun& run, const CsvTable& table) {
  std::vector<std::string> out = run.scored.columns();
  for (const std::string& name : table.names()) {
    if (name == "prediction" || name == "outside" || name.starts_with(kProbabilityOf)) out.push_back(name);
  }
  return out;
}

void evaluate_scores(const EvaluateRun& run) {
  run.results.keep({run.scores, run.baseline.from, run.schema});
  const MissingWords missing = with_domains(run.scored.missing.all(), run.of_schema.schema);
  const ScoredTable scored = read_scores(run.scores, run.table, run.scored, missing, run.results, run.where);
  SliceFlags slicing = run.slicing;
  slicing.thresholds = run.thresholds;
  run.results.warn(slicing.advice(scored, missing));
  const Assessment assessment = slicing.assess(scored, missing, {.resampling = run.intervals.resampling()});
  const AssessmentView view = view_of(slicing, assessment);
  const std::vector<std::string> others = no_inputs(run, scored.table);
  const WorstOptions options = worst_options(run, run.thresholds.empty() ? 0.5 : run.thresholds[0]);
  WorstSlices worst;
  if (run.worst.any()) worst = run.worst.find(scored, others, missing, options, run.results);
  GivenGaps given;
  if (run.given.any()) given = run.given.find(assessment, view, scored, slicing, missing);
  std::optional<IndividualFairness> individual;
  if (run.individual.on) {
    individual = run.individual.find(scored, others, assessment);
  }
  AgainstBaseline against;
  if (run.baseline.any())
    against = run.baseline.compare_scores(scored, slicing, run.table, run.scored, missing, run.results);
  if (run.results.json) {
    nlohmann::ordered_json body = {
        {"scores", run.scores}, {"label", run.scored.label}, {"score", run.scored.score}};
    if (!run.scored.query.empty()) body["query"] = run.scored.query;
    if (assessment.has_thresholds()) add_positive(body, scored.positive);
    if (scored.task == ScoreTask::kClasses) body["classes"] = scored.classes;
    add_conditions(body, run, scored.kept);
    body.update(json_of(assessment, view));
    if (run.given.any()) body["conditional"] = json_of(given);
    if (run.worst.any()) body["worst"] = json_of(worst, options);
    if (individual) body["individual"] = json_of(*individual);
    if (run.baseline.any()) body["baseline"] = json_of(against);
    body["warnings"] = *run.results.warned;
    return run.results.write_json("evaluate", body);
  }
  const Terminal terminal = run.results.terminal();
  run.results.write(cat(
      conditions_text(run, scored.kept), counted_rows_text(run, scored, assessment, terminal),
      assessed_text(run, assessment, view, terminal), text_of(given, terminal),
      run.worst.any() ? text_of(worst, options, terminal) : "",
      individual ? text_of(*individual, terminal) : "", run.baseline.any() ? text_of(against, terminal) : "",
      assessment.has_thresholds() ? positive_line(scored.positive, scored.label, scored.classes, terminal)
                                  : ""));
  if (run.slicing.any() && !run.slicing.metrics.empty()) return run.results.suggest(gate_words(run));
  std::vector<std::string> next = {"evaluate", "--scores", run.scores};
  const auto add = [&](const std::vector<std::string>& words) {
    next.insert(next.end(), words.begin(), words.end());
  };
  add(run.scored.words());
  if (run.strip_label_dots) add({"--strip-label-dots"});
  add(threshold_words(run));
  if (run.where) add({"--where", run.where->text()});
  if (!run.schema.empty()) add({"--schema", run.schema});
  for (const auto& words : {run.table.words(), run.slicing.words(), run.given.words(), run.intervals.words(),
                            run.worst.words(), run.individual.words(), run.baseline.words()})
    add(words);
  if (!run.slicing.any()) {
    const SliceFlags chosen = choose_slices(scored.table, scored.rows, others).flags;
    add(chosen.words());
  } else {
    add({"--metric",
         assessment.has_thresholds() ? "true_positive_rate" : assessment.overall.estimates[0].metric});
  }
  run.results.suggest(next);
}

void add_thresholds(CLI::App& verb, std::vector<double>& thresholds) {
  verb.add_option_function<std::string>(
          "--threshold",
          [&thresholds](const std::string& text) {
            std::set<double> all;
            for (const std::string& word : comma_separated({text})) {
              double value = 0;
              if (!CLI::detail::lexical_cast(word, value) || !(value >= 0 && value <= 1))
                throw CLI::ValidationError(
                    "--threshold",
                    cat("\"", word, "\" is no number from 0 to 1",
                        text == word ? "" : ": commas part several, the decimal sign is a point"));
              all.insert(value);
            }
            thresholds.assign(all.begin(), all.end());
          },
          "Two classes: predict the positive class at this probability or above; several thresholds, "
          "comma-separated, are compared (default: the threshold of the model, if it has one, else predict "
          "the more likely class; with --scores 0.5)")
      ->option_text("X,...");
}

// What is asked counts from one of two classes: raises where nothing says which.
void need_positive(const EvaluateRun& run, const LoadedTableModel& saved) {
  const std::vector<std::string>& metrics = run.slicing.metrics;
  const bool worst = run.worst.any() && std::ranges::any_of(metrics, [](const std::string& name) {
                       return counts_positives(SliceMetric(name), 0.5);
                     });
  const std::pair<bool, const char*> asked[] = {{!run.thresholds.empty(), "--threshold is of"},
                                                {run.slicing.any(), "figures of slices count"},
                                                {!run.scored.query.empty(), "--query ranks by"},
                                                {run.individual.on, "--individual counts"},
                                                {worst, "this --metric counts"}};
  for (const auto& [is_asked, who] : asked) {
    if (is_asked) saved.need_positive(who);
  }
}

void evaluate(const EvaluateRun& run) {
  if (!run.scores.empty()) return evaluate_scores(run);
  run.results.keep({run.data, run.baseline.from, run.schema});
  check_order(run.model, run.data);
  if (!posix_env().exists(cat(run.model, "/", kColumnsFile))) {
    LoadedModel model = load_model(run.model);
    if (takes_images(model)) {
      check_image_flags(*run.verb, run.model, "evaluate.images",
                        {"--all-rows", "--json", "--out", "--threads", "--strategy", "--devices", "--device",
                         "--plugin", "--memory-growth", "--memory-fraction", "--matmul-precision"});
      return evaluate_images(model, run.model, run.data, run.all_rows, run.results);
    }
  }
  LoadedTableModel saved = LoadedTableModel::load(run.model, threshold_of(run));
  const ScoringOptions counted{.favourable = run.of_schema.favourable, .positive = run.scored.positive};
  saved.count_from(counted.said(saved.columns.label()), run.model, threshold_of(run).has_value(),
                   "--threshold X, of the class that is to be positive");
  need_positive(run, saved);
  for (const double threshold : run.thresholds) check_decision(saved.columns, {.threshold = threshold});
  const CsvTable table = saved.read(run.table, run.data, run.results);
  const ColumnProgram columns =
      run.strip_label_dots ? saved.columns.with_strip_label_dots(true) : saved.columns;
  std::vector<int64_t> rows =
      rows_to_evaluate(saved, run.model, table, run.data,
                       labelled_test_rows(columns, table, run.data, run.results), run.all_rows, run.results);
  std::optional<KeptRows> kept;
  if (run.where) kept = keep_rows(*run.where, table, rows, missing_words_of(columns));
  const Tensor labels = read_labels(columns, table, run.data, rows);
  ColumnReport report;
  const Tensor inputs = read_inputs(columns, table, run.data, rows, &report);
  if (!run.all_rows) warn_of_learned_rows(saved, run.model, run.data, inputs, run.results);
  run.results.warn(warnings_of(report));
  const Predictions predictions = predict_rows(saved.model, columns, inputs, saved.decision, run.results);
  run.results.warn(cut_warning(predictions.cuts(), columns, labels.size(0)));
  const Scores scores = score(columns, predictions, labels);
  const bool two = columns.classes().size() == 2;
  const bool known = saved.positive.known();
  const int64_t positive = predictions.positive;
  const std::vector<FlippedColumn> flips = run.flips.any()
                                               ? run.flips.flip(saved, table, rows, inputs, predictions)
                                               : std::vector<FlippedColumn>();
  const double threshold = saved.decision.threshold.value_or(0.5);
  const WorstOptions options = worst_options(run, threshold);
  ScoredTable scored = scored_by(saved, table, rows, predictions, labels);
  const Envelope envelope = envelope_of(report, scored, threshold);
  AgainstBaseline against;
  if (run.baseline.any()) {
    const ScoredTable before = score_again(run.baseline.from, scored, run.data,
                                           {.strip_label_dots = run.strip_label_dots,
                                            .favourable = run.of_schema.favourable,
                                            .positive = run.scored.positive},
                                           threshold_of(run), run.results);
    against = run.baseline.compare(scored, before, run.slicing, scored.missing);
  }
  WorstSlices worst;
  if (run.worst.any())
    worst = run.worst.find(scored, {columns.label()}, scored.missing, options, run.results);
  std::optional<Assessment> assessment;
  const bool several = run.thresholds.size() > 1;
  const bool ranking = !run.scored.query.empty();
  if (ranking) scored.rank_by(run.scored.query, source_name(run.data));
  if (run.slicing.any() || several || ranking) {
    if (std::ranges::count(run.slicing.slices, columns.label()))
      run.results.warn({cat("slices by \"", columns.label(),
                            "\" are by the label itself: groups of it differ by what they are")});
    SliceFlags slicing = run.slicing;
    slicing.thresholds = several ? run.thresholds : std::vector{threshold};
    run.results.warn(slicing.advice(scored, scored.missing));
    assessment = slicing.assess(scored, scored.missing, {.resampling = run.intervals.resampling()});
  }
  AssessmentView view;
  if (assessment) view = view_of(run.slicing, *assessment);
  GivenGaps given;
  if (run.given.any()) given = run.given.find(*assessment, view, scored, run.slicing, scored.missing);
  std::optional<IndividualFairness> individual;
  if (run.individual.on)
    individual = run.individual.find(saved, inputs, predictions, labels, assessment ? &*assessment : nullptr);
  const BestThreshold best = known ? best_threshold(predictions, labels, positive) : BestThreshold();
  if (run.results.json) {
    nlohmann::ordered_json body = {{"model", run.model}, {"data", run.data}, {"label", columns.label()}};
    add_conditions(body, run, kept);
    body.update(json_of(scores, columns));
    if (!columns.classification()) body["cut"] = predictions.cuts();
    if (two) {
      add_positive(body, saved.positive);
      if (saved.decision.threshold) body["threshold"] = *saved.decision.threshold;
      if (best.f1 >= 0) body["best_of_these_rows"] = {{"threshold", best.threshold}, {"f1", best.f1}};
    }
    if (ranking) body["query"] = run.scored.query;
    if (assessment) body.update(json_of(*assessment, view));
    if (run.given.any()) body["conditional"] = json_of(given);
    if (run.worst.any()) body["worst"] = json_of(worst, options);
    if (run.flips.any()) body["flips"] = json_of(flips);
    if (individual) body["individual"] = json_of(*individual);
    if (run.baseline.any()) body["baseline"] = json_of(against);
    body["envelope"] = json_of(envelope);
    body["warnings"] = *run.results.warned;
    return run.results.write_json("evaluate", body);
  }
  const Terminal terminal = run.results.terminal();
  std::string text = conditions_text(run, kept) + report_of(scores, columns, terminal);
  if (two) text += positive_line(saved.positive, columns.label(), columns.classes(), terminal);
  if (saved.decision.threshold) text += text_of(saved.decision, columns) + "\n";
  if (known)
    text += better_text(columns, positive, scores, best, "was chosen on these very rows: check it on others");
  if (assessment) text += cat("\n", assessed_text(run, *assessment, view, terminal));
  text += text_of(given, terminal);
  if (run.worst.any()) text += text_of(worst, options, terminal);
  if (run.flips.any()) text += text_of(flips, terminal);
  if (individual) text += text_of(*individual, terminal);
  if (run.baseline.any()) text += text_of(against, terminal);
  text += text_of(envelope, terminal);
  run.results.write(text);
  std::vector<std::string> next = check_words(run.model, run.data);
  if (run.strip_label_dots) next.emplace_back("--strip-label-dots");
  if (run.all_rows) next.emplace_back("--all-rows");
  if (run.where) next.insert(next.end(), {"--where", run.where->text()});
  if (run.baseline.any()) next.insert(next.end(), {"--baseline", run.baseline.from});
  if (!run.schema.empty()) next.insert(next.end(), {"--schema", run.schema});
  SliceFlags slicing = run.slicing;
  slicing.references.clear();
  for (const auto& words : {slicing.words(), run.scored.words(), run.intervals.words(), run.table.words()})
    next.insert(next.end(), words.begin(), words.end());
  // First gates count a class that is known.
  if (two && !known) next = {"info", run.model};
  run.results.suggest(next);
}

void check_baseline(const EvaluateRun& run) {
  const bool of_model = run.scores.empty();
  if (!run.baseline.any() && !run.baseline.words().empty())
    throw CLI::RequiresError("--id and --moved-by", "--baseline");
  if (of_model && !run.baseline.id.empty()) throw CLI::RequiresError("--id", "--scores");
  if (run.baseline.any() && run.thresholds.size() > 1)
    throw CLI::ExcludesError("--baseline", "several thresholds");
  if (run.baseline.any() && of_model != is_model_folder(run.baseline.from)) {
    throw ValueError(
        "baseline.kind",
        cat("--baseline ", run.baseline.from, of_model ? " is no folder of a model" : " is a folder",
            ": a model is held against a model, and --scores against a file of scores"));
  }
}

void check_flags_of_evaluate(const EvaluateRun& run) {
  check_baseline(run);
  const bool of_file = !run.scores.empty();
  if (!run.scored.query.empty() && (!run.thresholds.empty() || (of_file && !run.scored.positive.empty())))
    throw CLI::ExcludesError("--query", of_file ? "--threshold and --positive" : "--threshold");
  if (!run.scored.query.empty() && run.scored.task == ScoreTask::kClasses)
    throw CLI::ExcludesError("--query", "--task classes");
  if (run.given.any() && !run.slicing.any()) throw CLI::RequiresError("--given", "--slice");
  if (run.scores.empty()) {
    if (run.model.empty() || run.data.empty()) throw CLI::RequiredError("MODEL and DATA, or --scores,");
    run.scored.check_beside_model("evaluate.flags");
    if (!run.slicing.any() && run.scored.query.empty() && !run.worst.any() && !run.intervals.words().empty())
      throw CLI::RequiresError("--interval, --replicates and --seed", "--slice or --worst");
    const bool assessed = run.slicing.any() || !run.scored.query.empty() || run.thresholds.size() > 1;
    if (!assessed && !run.worst.any() && !run.slicing.metrics.empty())
      throw CLI::RequiresError("--metric", "--slice, --cross, --bucket, --slice-where or --worst");
    if (!run.slicing.any() && !run.slicing.references.empty())
      throw CLI::RequiresError("--reference-group", "--slice, --cross, --bucket or --slice-where");
    return;
  }
  if (!run.model.empty()) throw CLI::ExcludesError("--scores", "a model");
  if (run.all_rows) throw CLI::ExcludesError("--scores", "--all-rows");
  if (run.flips.any()) throw CLI::RequiredError("--flip needs a model: MODEL and DATA");
  if (run.distribute != DistributePlan()) throw CLI::ExcludesError("--scores", "--strategy and --devices");
  if (run.scored.label.empty()) throw CLI::RequiredError("--label");
  if (run.scored.score.empty()) throw CLI::RequiredError("--score");
  if (run.scored.task != ScoreTask::kTwoClasses && !(run.thresholds.empty() && run.scored.positive.empty()))
    throw CLI::ExcludesError("--threshold and --positive", "other tasks than two-classes");
}

constexpr const char* kEvaluateExamples =
    R"(A slice is a group of rows with the same value of a column. For each slice,
`evaluate` prints its metrics and the gaps between slices, with 95% confidence
intervals. For two classes, the gaps are those of fairness criteria:
demographic parity, equal opportunity, equalised odds, predictive parity and
others.

Examples:
  espalier evaluate model/ new.csv
      Print the metrics of a model on labelled rows.
  espalier evaluate model/ new.csv --slice sex,race --cross sex*race
      Print the metrics of each slice, too.
  espalier evaluate --scores scores.csv --label y --score p --slice sex
      Evaluate the scores in column p, whatever model wrote them.
  espalier evaluate model/ new.csv --bucket age=25,45,65 --metric recall
      Compare the recall of slices by age in a chart with 95% intervals.
  espalier evaluate model/ new.csv --slice sex --metric f1 --interval bootstrap
      Use bootstrap intervals, for a metric without a closed form.
  espalier evaluate model/ new.csv --worst --flip sex
      Find the worst slices, and the decisions that depend on sex.
  espalier evaluate model/ new.csv --baseline model-of-may/ --slice sex
      Find predictions that differ from an earlier model, and slices that got
      worse.
  espalier evaluate model/ new.csv --where 'age >= 40 and city is not missing'
      Evaluate only these rows.

Exit codes: 0 done, 2 usage error or bad input, 4 internal error.)";

}  // namespace

void add_evaluate(CLI::App& app) {
  auto run = std::make_shared<EvaluateRun>();
  CLI::App* verb = app.add_subcommand("evaluate", "Evaluate a model or scored rows");
  run->verb = verb;
  verb->add_option("model", run->model, "Model folder, as written by `espalier train`")
      ->option_text("FOLDER");
  verb->add_option("data", run->data,
                   "Labelled rows: CSV, JSON Lines or TFRecord (- for standard input). For an image model: a "
                   "folder with one sub-folder of JPEG and PNG files per class, a folder of IDX files, or a "
                   "CSV of square images, one per row, with the label in the last column")
      ->option_text("FILE|FOLDER");
  verb->add_option("--scores", run->scores,
                   "Evaluate this table of rows that any model has scored, instead of MODEL and DATA (- for "
                   "standard input)")
      ->option_text("FILE");
  verb->add_flag("--strip-label-dots", run->strip_label_dots,
                 "Strip a trailing dot from labels: read \"x.\" as \"x\"");
  add_all_rows(*verb, run->all_rows);
  add_thresholds(*verb, run->thresholds);
  verb->option_defaults()->group("Scored rows (--scores)");
  add_scored_columns(*verb, run->scored);
  add_task(*verb, run->scored);
  for (const char* of_models_too : {"--positive", "--query"})
    verb->get_option(of_models_too)->group("Options");
  verb->option_defaults()->group("Baseline");
  run->baseline.add(*verb);
  verb->option_defaults()->group("Slices");
  add_where(*verb, run->where);
  run->slicing.add(*verb);
  run->given.add(*verb);
  add_schema(*verb, run->schema);
  run->intervals.add(*verb);
  run->worst.add(*verb);
  run->flips.add(*verb);
  run->individual.add(*verb);
  verb->option_defaults()->group("Table format");
  add_table_reading(*verb, run->table);
  verb->option_defaults()->group("Output");
  run->results.add_json(*verb);
  run->results.add_out(*verb);
  verb->option_defaults()->group("Execution");
  add_strategy(*verb, run->distribute, &run->device);
  add_device(*verb, run->device);
  add_deterministic(*verb);
  add_threads(*verb);
  verb->footer(kEvaluateExamples);
  verb->callback([run, verb] {
    const OnDevice device(prepare_device(run->device, run->distribute, verb->count("--device") > 0));
    by_strategy(run->distribute, {run->data, run->scores, run->baseline.from, run->schema}, [&] {
      run->of_schema = SlicingSchema::read(run->schema, true);
      run->of_schema.fill(run->slicing);
      if (!run->scores.empty()) run->of_schema.fill(run->scored);
      run->scored.strip_label_dots = run->strip_label_dots;
      check_flags_of_evaluate(*run);
      evaluate(*run);
    });
  });
}

}  // namespace espalier::cli
