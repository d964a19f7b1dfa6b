#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/listed_names.h"
#include "base/shell_words.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "cli/baseline_flags.h"
#include "cli/check_init.h"
#include "cli/check_run.h"
#include "cli/closer_look.h"
#include "cli/data_verbs.h"
#include "cli/device_flags.h"
#include "cli/lineage_section.h"
#include "cli/rows_section.h"
#include "cli/scored_flags.h"
#include "cli/table_flags.h"
#include "cli/where.h"
#include "evaluate/slice_columns.h"
#include "fairness/rare_slices.h"
#include "fairness/rare_texts.h"
#include "gate/check_page.h"
#include "gate/data_section.h"
#include "gate/gates.h"
#include "gate/reports.h"
#include "gate/verdict.h"
#include "tables/kept_rows.h"

namespace espalier::cli {
namespace {

// The slices and thresholds that gates ask for, besides those of flags.
SliceFlags slicing_of(const SliceFlags& flags, const Gates& gates) {
  SliceFlags out = flags;
  for (const std::vector<std::string>& columns : gates.slicings())
    columns.size() == 1 ? out.slices.push_back(columns[0]) : out.crosses.push_back(cross_of(columns));
  out.thresholds = gates.thresholds();
  for (const Gate& gate : gates.gates) {
    for (const SliceMetric& metric : gate.metrics) out.metrics.push_back(metric.name());
  }
  for (const auto& [name, condition] : gates.slices) {
    if (!out.conditions.emplace(name, condition).second)
      throw ValueError("check.slices", cat("the gates and --slice-where both name slices \"", name, "\""));
  }
  const std::map<std::string, Buckets> given = flags.parted();
  for (const auto& [column, edges] : gates.buckets) {
    const auto flag = given.find(column);
    if (flag != given.end() && flag->second.edges != edges)
      throw ValueError("check.buckets", cat("the gates and --bucket part \"", column, "\" at other edges"));
    if (flag != given.end()) continue;
    std::string list;
    for (const double edge : edges) list += cat(list.empty() ? "" : ",", plain_number(edge));
    out.buckets.push_back(cat(name_in_list(column), "=", list));
  }
  return out;
}

// Gates at another threshold than the model's judge what it does not say.
void warn_of_thresholds(const CheckRun& run, const Gates& gates, const ScoredTable& rows) {
  if (!rows.decided) return;
  const auto found = std::ranges::find_if(gates.gates, [&](const Gate& gate) {
    return gate.threshold != *rows.decided && std::ranges::any_of(gate.metrics, &SliceMetric::rate);
  });
  if (found == gates.gates.end()) return;
  const std::string own = shortest(*rows.decided);
  run.results.warn(
      {cat("the model says ", rows.positive.value, " from a probability of ", own, " on, and gate \"",
           found->name, "\" asks at ", shortest(found->threshold), ": with threshold = ", own, " in ",
           source_name(run.gates), " what the model says is checked")});
}

// Gates count from a class that is known.
void need_positive_of_gates(const Gates& gates, const ScoredTable& rows) {
  if (rows.task != ScoreTask::kTwoClasses || rows.positive.known()) return;
  const auto found =
      std::ranges::find_if(gates.gates, [](const Gate& gate) { return counts_positives(gate); });
  if (found != gates.gates.end())
    throw_no_positive(cat("label \"", rows.label, "\""), rows.classes,
                      cat("gate \"", found->name, "\" counts"));
}

// What both a flag and the gates ask of rows.
std::optional<Expression> both(const std::optional<Expression>& flag,
                               const std::optional<Expression>& gates) {
  if (!flag || !gates) return flag ? flag : gates;
  return Expression(cat("(", flag->text(), ") and (", gates->text(), ")"));
}

// Of the rows of the baseline: those of `now` where it is a model.
ScoredTable baseline_rows(const CheckRun& run, const ScoredTable& now,
                          const std::optional<Expression>& where) {
  if (!is_model_folder(run.baseline)) {
    CheckRun before = run;
    if (run.scores.empty()) {
      before.scored.favourable = run.of_schema.of_label(run.scored.label);
      before.scored.counted = now.positive.value;
    } else {  // the flags say of both files what scores are of
      before.scored.positive = now.positive.value;
      before.scored.favourable.clear();
      before.read_gates = nullptr;
    }
    return rows_of(before, run.baseline, where);
  }
  return score_again(run.baseline, now, run.data,
                     {.strip_label_dots = run.strip_label_dots,
                      .query = run.scored.query,
                      .favourable = run.of_schema.favourable,
                      .positive = run.scored.positive},
                     {}, run.results);
}

void write_to(const std::string& path, const std::string& text) {
  if (!path.empty()) Results{.out = path}.write(text);
}

// A page is read elsewhere than where this program was called, by who may not see what is rare.
class PageCommands {
 public:
  explicit PageCommands(const CloserLook& closer) {
    const auto& [run, slicing, rows, assessment, tables] = closer;
    const auto hide = [&](const std::string& name, const Expression& condition) {
      if (without_rare_texts(condition, rows.table, run.rare) != condition.canonical())
        instead_[name + condition.text()] = name + "...";
    };
    if (run.where) hide("", *run.where);
    for (const auto& [name, condition] : slicing.conditions) hide(name_in_list(name) + ":", condition);
    constexpr std::string_view kOfClass = "recall[";
    for (const std::string& name : names_of_few(assessment, run.rare)) {
      if (!name.starts_with(kOfClass)) continue;
      const std::string of = name.substr(kOfClass.size(), name.size() - kOfClass.size() - 1);
      if (run.scored.score.find(of) != std::string::npos) instead_[run.scored.score] = "...";
    }
  }
  std::string operator()(std::vector<std::string> words) const {
    for (std::string& word : words) {
      if (const auto found = instead_.find(word); found != instead_.end()) word = found->second;
    }
    return cat("espalier ", shell_words(words));
  }

 private:
  std::map<std::string, std::string> instead_;
};

std::string page_of(const CheckRun& run, const Verdict& verdict, const CloserLook& closer) {
  const auto& [asked, slicing, rows, assessment, tables] = closer;
  const PageCommands command(closer);
  std::vector<NamedFile> files = {{"evaluated", run.scores.empty() ? run.data : run.scores}};
  if (!run.baseline.empty())
    files.push_back({"baseline", run.baseline + (is_model_folder(run.baseline) ? "/model.json" : "")});
  if (!run.train.empty()) files.push_back({"training", run.train});
  if (!run.schema.empty()) files.push_back({"schema", run.schema});
  files.push_back({"gates", run.gates});
  std::vector<PageSection> sections;
  if (tables)
    sections.push_back(data_section(spreads_of(tables->train, tables->now,
                                               {.k = run.rare,
                                                .ignored = tables->options.ignored,
                                                .limits = schema_limits(*tables->options.schema)}),
                                    tables->data));
  if (run.with_rows > 0) sections.push_back(rows_section(rows, run.with_rows));
  sections.push_back(lineage_section(files, run.model));
  return check_page(
      verdict, assessment,
      {.subject =
           cat(run.scores.empty() ? cat(run.model, " on ", source_name(run.data)) : source_name(run.scores),
               asked.where ? cat(", where ", without_rare_texts(*asked.where, rows.table, run.rare)) : ""),
       .next = command(closer.all()),
       .sections = sections,
       .k = run.rare,
       .rows = std::min(run.with_rows, std::ssize(rows.rows)),
       .closer = [&](const Gate& gate) { return command(closer.at(gate)); }});
}

// Behind a page that says what the rows give: what the model says of them. Whoever is to look closer finds on
// the page how; scores have no model at hand.
void suggest_after_page(const CheckRun& run) {
  if (!run.scores.empty()) return;
  std::vector<std::string> next = {"predict", run.model, run.data};
  for (const std::string& word : run.table.words()) next.push_back(word);
  add_device_words(run.device, next);
  run.results.suggest(next);
}

// Holds the page against what the rows give; `anew` checks them.
void verify(const CheckRun& run, const std::string& now, std::vector<std::string> anew) {
  constexpr size_t kShown = 5;
  const std::string page = posix_env().read_file(run.verify);
  std::vector<std::string> differences;
  if (const int64_t there = rows_on(page), asked = rows_on(now); there == asked)
    differences = page_differences(page, now, kShown);
  else
    differences = {cat("the page shows ", there, " rows of the data, and this check ", asked,
                       there ? cat("; --with-rows ", there) : "; no --with-rows", " makes them alike")};
  if (run.results.json) {
    run.results.write_json(
        "check", {{"page", run.verify}, {"verified", differences.empty()}, {"differences", differences}});
  } else {
    std::string text = cat(differences.empty() ? "Verified: " : "Different: ", source_name(run.verify),
                           differences.empty() ? " says what these rows give.\n" : "\n");
    for (const std::string& difference : differences) text += cat("  ", difference, "\n");
    run.results.write(text);
    anew.insert(anew.end(), {"--html", run.verify});
    if (differences.empty())
      suggest_after_page(run);
    else
      run.results.suggest(anew);
  }
  if (!differences.empty()) throw Exit{1};
}

void check(CheckRun run) {
  const std::vector<std::string> inputs = {run.scores, run.data,  run.baseline, run.gates,
                                           run.verify, run.train, run.from,     run.schema};
  run.results.keep(inputs);
  keep_apart({{"--html", run.html},
              {"--junit", run.junit},
              {"--prometheus", run.prometheus},
              {"--csv", run.csv},
              {"--out", run.results.out}});
  for (const std::string* out : {&run.html, &run.junit, &run.prometheus, &run.csv}) {
    if (!out->empty()) Results{.out = *out}.keep(inputs);
  }
  if (run.init) return write_gates(run);
  const Gates gates = read_gates(read_text(run.gates), source_name(run.gates));
  run.read_gates = &gates;
  const SliceFlags slicing = slicing_of(run.slicing, gates);
  const std::optional<Expression> where = both(run.where, gates.where);
  const ScoredTable rows = rows_of(run, run.scores, where);
  check_columns(gates, slicing.conditions, rows.table);
  need_positive_of_gates(gates, rows);
  warn_of_thresholds(run, gates, rows);
  run.results.warn(slicing.unread(rows, rows.missing));
  const Assessment assessment = assessment_of(run, slicing, rows, gates.level);
  check_positive(gates, assessment);
  check_proofs(gates, assessment);
  std::optional<Assessment> baseline;
  std::string turned;
  if (!run.baseline.empty()) {
    const ScoredTable before = baseline_rows(run, rows, where);
    turned = before.turned;
    baseline = assessment_of(run, slicing, before, gates.level);
  }
  const std::optional<Tables> tables = tables_of(run, rows);
  const Verdict verdict = judge(gates, assessment, baseline ? &*baseline : nullptr, date_of(run.today),
                                tables ? &tables->data : nullptr);
  std::vector<std::string> next = check_again(run);
  next.insert(next.end(), {"--gates", run.gates});
  if (run.with_rows > 0) next.insert(next.end(), {"--with-rows", cat(run.with_rows)});
  if (run.rare != kRareRows) next.insert(next.end(), {"--rare", cat(run.rare)});
  CheckRun narrowed = run;
  narrowed.where = where;
  // Who looks closer has no gates that say it.
  if (!run.scores.empty() && rows.positive.because == PositiveBecause::kGates)
    narrowed.scored.positive = rows.positive.value;
  const CloserLook closer{narrowed, slicing, rows, assessment, tables};
  const auto page = [&] { return page_of(run, verdict, closer); };
  if (!run.verify.empty()) return verify(run, page(), next);
  write_to(run.junit, junit_report(verdict));
  write_to(run.prometheus, prometheus_report(verdict));
  write_to(run.csv, slices_csv(assessment));
  if (!run.html.empty()) {
    write_to(run.html, page());
    next.insert(next.end(), {"--verify", run.html});
  } else {
    next.insert(next.end(), {"--html", "report.html"});
  }
  if (run.results.json) {
    nlohmann::ordered_json report = {{"version", 1}, {"verb", "check"}};
    report.update(json_of(verdict));
    if (rows.task == ScoreTask::kTwoClasses) add_positive(report, rows.positive);
    if (!turned.empty()) report["baseline_scores_of"] = turned;
    if (rows.kept) report["where"] = json_of(*rows.kept);
    if (tables) report["not_compared"] = json_of(tables->data.listed());
    run.results.write(json_text(report));
  } else {
    const Terminal terminal = run.results.terminal();
    run.results.write(text_report(verdict, terminal) + (tables ? text(tables->data.listed()) : "") +
                      (rows.kept ? text_of(*rows.kept) : "") +
                      (rows.task == ScoreTask::kTwoClasses
                           ? positive_line(rows.positive, rows.label, rows.classes, terminal)
                           : "") +
                      (run.html.empty() ? "" : cat(source_name(run.html), " is the page, for a browser.\n")));
    run.results.suggest(next);
  }
  if (verdict.ruling != Ruling::kPass) throw Exit{exit_code(verdict.ruling)};
}

// Gates of an EvalConfig are of no rows.
void check_import(const CheckRun& run) {
  std::vector<std::string> others = run.scored.words();
  const std::vector<std::string> slicing = run.slicing.words();
  others.insert(others.end(), slicing.begin(), slicing.end());
  for (const auto& [flag, value] : {std::pair{"MODEL", &run.model},
                                    {"--scores", &run.scores},
                                    {"--baseline", &run.baseline},
                                    {"--train", &run.train}}) {
    if (!value->empty()) others.emplace_back(flag);
  }
  if (!others.empty()) throw CLI::ExcludesError("--from", others[0]);
}

void check_flags_of_check(const CheckRun& run) {
  if (!run.from.empty()) return check_import(run);
  if (run.scores.empty() && (run.model.empty() || run.data.empty()))
    throw CLI::RequiredError("MODEL and DATA, or --scores,");
  if (!run.scores.empty() && !run.model.empty()) throw CLI::ExcludesError("--scores", "a model");
  if (!run.scores.empty() && !run.device.is_cpu()) throw CLI::ExcludesError("--scores", "--device");
  if (!run.scores.empty() && run.all_rows) throw CLI::ExcludesError("--scores", "--all-rows");
  const bool before = is_model_folder(run.baseline);
  if (before && !run.scores.empty()) {
    throw ValueError("baseline.kind", cat("--baseline ", run.baseline,
                                          " is a folder: --scores are held against a file of scores"));
  }
  if (!run.scores.empty() || !(run.baseline.empty() || before)) {
    if (run.scored.label.empty()) throw CLI::RequiredError("--label");
    if (run.scored.score.empty()) throw CLI::RequiredError("--score");
  }
  if (run.scores.empty() && (run.baseline.empty() || before)) run.scored.check_beside_model("check.flags");
  if (!run.scored.positive.empty() && run.scored.task != ScoreTask::kTwoClasses)
    throw CLI::ExcludesError("--positive", "other tasks than two-classes");
  if (!run.scored.positive.empty() && !run.scores.empty() && !run.scored.query.empty())
    throw CLI::ExcludesError("--query", "--positive");
  if (run.with_rows > 0 && run.html.empty() && run.verify.empty())
    throw CLI::RequiresError("--with-rows", "--html or --verify");
  if (run.init && run.results.json)
    throw ValueError("check.init", "--init writes a file of gates, which is TOML and no JSON",
                     "leave out --json");
  if (run.gates.empty() && !run.init)
    throw CLI::RequiredError("--gates FILE, or --init to write a first one,");
}

constexpr const char* kCheckExamples =
    R"(A gate is a limit in a TOML file (docs/gates.md): on a metric of all rows or of
a slice, on the gap between slices, or on faults of the data. The value of the
metric decides a gate. With decide = "proven-over" or "proven-under", its
interval decides. A gate whose limit must be proven (min with "proven-over", max
with "proven-under") is undecided if the interval contains the limit. A gate is
also undecided if there are too few rows, or if the metric is undefined. The
column "rows" counts the rows behind a metric: all rows, positives or negatives;
for a gap, the rows of the slice named first.

Examples:
  espalier check model/ new.csv --init --slice sex,race --out gates.toml
      Write gates from the current metrics, for a person to edit. Without
      --slice, slicing columns are chosen automatically.
  espalier check --init --from eval_config.pbtxt --out gates.toml
      Convert the thresholds of TensorFlow Model Analysis to gates.
  espalier check model/ new.csv --gates gates.toml --html report.html
      Print pass, blocked or undecided, with reasons, and write a report.
  espalier check model/ new.csv --train train.csv --gates gates.toml
      Check the data, too, by the gates on schema, leakage, range, drift and
      groups in gates.toml.
  espalier check model/ new.csv --gates gates.toml --verify report.html
      Verify the report: exit code 1 if it does not match these rows.

Exit codes: 0 pass (with --init: gates written; with --verify: the report
matches), 1 blocked (with --verify: it does not match), 2 usage error or bad
input, 3 undecided, 4 internal error.)";

}  // namespace

void add_check(CLI::App& app) {
  auto run = std::make_shared<CheckRun>();
  CLI::App* verb = app.add_subcommand("check", "Check a model (or scored rows) against release gates");
  verb->add_option("model", run->model,
                   "Model folder, as written by `espalier train` for a table (image models are not checked)")
      ->option_text("FOLDER");
  verb->add_option("data", run->data, "Labelled rows: CSV, JSON Lines or TFRecord (- for standard input)")
      ->option_text("FILE");
  verb->add_option("--scores", run->scores,
                   "Check this table of rows that any model has scored, instead of MODEL and DATA (- for "
                   "standard input)")
      ->option_text("FILE");
  verb->add_option("--gates", run->gates,
                   "TOML file of the gates to check (docs/gates.md); required without --init")
      ->option_text("FILE");
  CLI::Option* init = verb->add_flag("--init", run->init,
                                     "Write a first gates file from the current metrics, and check nothing");
  verb->add_option("--from", run->from,
                   "With --init: convert the thresholds of an EvalConfig of TensorFlow Model Analysis, TFMA "
                   "(text, binary or JSON), to gates")
      ->option_text("FILE")
      ->needs(init);
  verb->add_option(
          "--baseline", run->baseline,
          "Earlier model, or a table of the same rows scored by the earlier model, for gates on changes")
      ->option_text("MODEL|FILE");
  verb->add_option("--train", run->train,
                   "Training rows to compare the evaluated rows with, for gates on data")
      ->option_text("FILE");
  verb->add_flag("--strip-label-dots", run->strip_label_dots,
                 "Strip a trailing dot from labels: read \"x.\" as \"x\"");
  add_all_rows(*verb, run->all_rows);
  verb->add_option(
          "--today", run->today,
          "Date, as 2031-12-31, on which waivers in the gates file (exceptions with an expiry date) must "
          "still be valid")
      ->option_text("DATE [today]");
  verb->option_defaults()->group("Scored rows (--scores, or a table as --baseline)");
  add_scored_columns(*verb, run->scored);
  add_task(*verb, run->scored);
  for (const char* of_models_too : {"--positive", "--query"})
    verb->get_option(of_models_too)->group("Options");
  verb->option_defaults()->group("Slices");
  add_where(*verb, run->where);
  run->slicing.add_slices(*verb);
  add_schema(*verb, run->schema);
  verb->add_option("--environment", run->environment,
                   "With --schema and --train: environment of the evaluated rows in the schema, e.g. SERVING")
      ->option_text("NAME")
      ->needs("--schema", "--train");
  run->intervals.add(*verb);
  verb->option_defaults()->group("Table format");
  add_table_reading(*verb, run->table);
  verb->option_defaults()->group("Output");
  CLI::Option* html =
      verb->add_option("--html", run->html, "Write an HTML report of the verdict and every slice");
  html->option_text("FILE")->check(a_name());
  verb->add_option(
          "--verify", run->verify,
          "Verify that a report written by --html matches these rows and gates, instead of checking the "
          "gates: exit code 0 if it does, 1 if not (not with --html)")
      ->option_text("FILE")
      ->excludes(html);
  verb->add_option(
          "--with-rows", run->with_rows,
          "With --html: show the N rows with the largest errors in the report, with a notice that it "
          "holds personal data. With --verify: the N of the report")
      ->check(number_from(int64_t{1}, int64_t{1000}))
      ->option_text("N");
  verb->add_option("--rare", run->rare, "In the report, do not name slices and values with fewer than K rows")
      ->check(number_from(int64_t{1}, int64_t{1} << 40))
      ->option_text("K [10]");
  verb->add_option("--junit", run->junit, "Write the verdict as JUnit XML")
      ->option_text("FILE")
      ->check(a_name());
  verb->add_option("--prometheus", run->prometheus, "Write the verdict as Prometheus metrics")
      ->option_text("FILE")
      ->check(a_name());
  verb->add_option("--csv", run->csv, "Write every metric of every slice as CSV")
      ->option_text("FILE")
      ->check(a_name());
  run->results.add_json(*verb);
  run->results.add_out(*verb);
  verb->option_defaults()->group("Execution");
  add_device(*verb, run->device);
  add_threads(*verb);
  verb->footer(kCheckExamples);
  verb->callback([run] {
    run->of_schema = SlicingSchema::read(run->schema, run->train.empty());
    run->of_schema.fill(run->slicing);
    if (!run->scores.empty()) run->of_schema.fill(run->scored);
    run->scored.strip_label_dots = run->strip_label_dots;
    check_flags_of_check(*run);
    const OnDevice device(run->device);
    check(*run);
  });
}

}  // namespace espalier::cli
