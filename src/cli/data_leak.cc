// espalier data leak: what tells a model the answer before it is asked.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/listed_names.h"
#include "cli/data_verbs.h"
#include "cli/missing_flag.h"
#include "cli/table_flags.h"
#include "data/label_dots.h"
#include "report/table.h"
#include "tables/loaded_table_model.h"
#include "tables/missing_choice.h"
#include "tables/table_reading.h"
#include "validate/leaks.h"

namespace espalier::cli {
namespace {

struct LeakRun {
  std::string file, test;
  LeakOptions options;
  bool strip_label_dots = false;
  TableReading table;
  MissingChoice missing;
  Results results;
};

std::string kind_of(const LeakFinding& finding) {
  std::string out(kLeakKinds[static_cast<size_t>(finding.kind)]);
  std::ranges::replace(out, '_', ' ');
  return out;
}

nlohmann::ordered_json leaks_json(const std::vector<LeakFinding>& findings) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const LeakFinding& finding : findings) {
    out.push_back({{"kind", kLeakKinds[static_cast<size_t>(finding.kind)]},
                   {"severity", finding.warning ? "warning" : "note"},
                   {"column", finding.column.empty() ? nlohmann::ordered_json()
                                                     : nlohmann::ordered_json(finding.column)},
                   {"rows", finding.rows},
                   {"of", finding.of},
                   {"text", finding.text}});
  }
  return out;
}

std::string leaks_text(const LeakRun& run, const CsvTable& table, const std::vector<LeakFinding>& findings,
                       int64_t warnings, const Terminal& terminal) {
  const bool few = table.rows() < kRowsForLeaks;
  std::string out = warnings == 0 ? cat(few ? "Too few rows to say: " : "No leak: ", table.rows(), " rows, ",
                                        table.columns(), " columns",
                                        run.test.empty() ? "" : cat(", and ", source_name(run.test)), ".\n")
                                  : cat(warnings == 1 ? "Leak: " : "Leaks: ", findings[0].text,
                                        warnings > 1 ? cat("; and ", warnings - 1, " more") : "", ".\n");
  if (findings.empty()) return out;
  Table shown({"kind", "finding"});
  for (const LeakFinding& finding : findings)
    shown.row({cat(kind_of(finding), finding.warning ? "" : " (a note)"), finding.text});
  return cat(out, "\n", shown.text(terminal));
}

// What to do about the first finding.
std::vector<std::string> next_of_leaks(const LeakRun& run, const std::vector<LeakFinding>& findings) {
  const std::string& label = run.options.label;
  const bool shared = !findings.empty() && findings[0].warning &&
                      (findings[0].kind == LeakKind::kOverlap || findings[0].kind == LeakKind::kNearOverlap);
  std::vector<std::string> out = {"train", "--data", run.file};
  if (shared) {
    const std::string stem = std::filesystem::path(run.file).stem().string();
    out = {"data",
           "split",
           run.file,
           "--train",
           free_name(stem + "-train.csv"),
           "--test",
           free_name(stem + "-test.csv")};
  } else if (label.empty()) {
    out = {"data", "stats", run.file};
  }
  if (out[0] == "train" && !run.test.empty()) out.insert(out.end(), {"--test", run.test});
  if (!label.empty()) out.insert(out.end(), {"--label", label});
  std::vector<std::string> ignored;
  for (const LeakFinding& finding : findings) {
    if (finding.kind == LeakKind::kLabel || finding.kind == LeakKind::kFutureColumn)
      ignored.push_back(finding.column);
  }
  if (!shared && !label.empty() && !ignored.empty())
    out.insert(out.end(), {"--ignore", names_in_list(ignored)});
  for (const std::string& word : run.table.words()) out.push_back(word);
  for (const std::string& word : run.missing.words_for(out)) out.push_back(word);
  if (!shared && run.strip_label_dots && !label.empty()) out.emplace_back("--strip-label-dots");
  return out;
}

void leak(const LeakRun& run) {
  run.results.keep({run.file, run.test, run.missing.schema});
  CsvTable table = run.table.read(run.file, {}, run.results);
  LeakOptions options = run.options;
  options.missing = run.missing.read();
  if (options.label == "last") options.label = table.names().back();
  std::optional<CsvTable> test;
  if (!run.test.empty())
    test = run.table.beside(table.numbers().point).read(run.test, table.names(), run.results);
  if (run.strip_label_dots) {
    table = without_label_dots(table, options.label);
    if (test) test = without_label_dots(*test, options.label);
  }
  if (!options.time.empty()) warn_of_dates(run.results, table, options.time, options.missing);
  if (!options.time.empty() && !test)
    warn_of_no_dates(run.results, table, options.time, options.missing, "the rows of --test");
  const std::vector<LeakFinding> findings = find_leaks(table, test ? &*test : nullptr, options);
  const int64_t warnings = std::ranges::count_if(findings, &LeakFinding::warning);
  if (run.results.json) {
    run.results.write_json("data leak", {{"file", run.file},
                                         {"rows", table.rows()},
                                         {"leaks", warnings},
                                         {"undecided", table.rows() < kRowsForLeaks},
                                         {"findings", leaks_json(findings)},
                                         {"warnings", *run.results.warned}});
  } else {
    const Terminal terminal = run.results.terminal();
    run.results.write(leaks_text(run, table, findings, warnings, terminal));
    run.results.suggest(next_of_leaks(run, findings));
  }
  if (warnings > 0) throw Exit{1};
  if (table.rows() < kRowsForLeaks) throw Exit{3};
}

constexpr const char* kLeakExamples =
    R"(Finds columns that predict the label by themselves, duplicate rows, rows that
differ in one column only, test rows that are also training rows, dates later
than the time of their row, and test rows from before the end of the training
rows. Notes report what is no leak but worth a look. No cell is printed.

Examples:
  espalier data leak train.csv --label income --test test.csv
  espalier data leak orders.csv --label late --time placed

Exit codes: 0 no leak, 1 a leak was found, 2 usage error or bad input, 3 no leak
was found, but there are fewer than 20 training rows.)";

}  // namespace

void add_data_leak(CLI::App& data) {
  auto run = std::make_shared<LeakRun>();
  CLI::App* verb = data.add_subcommand("leak", "Find label leakage, duplicate rows and future data");
  verb->add_option("file", run->file, "Training rows: CSV, JSON Lines or TFRecord (- for standard input)")
      ->option_text("FILE")
      ->required();
  verb->add_option("--label", run->options.label, "Label column, or `last`")
      ->option_text("COLUMN")
      ->transform(a_column());
  verb->add_option("--test", run->test, "Test rows, with the same columns")->option_text("FILE");
  verb->add_option("--time", run->options.time,
                   "Column with the time of each row, at which its label would be predicted")
      ->option_text("COLUMN")
      ->transform(a_column());
  verb->add_flag("--strip-label-dots", run->strip_label_dots,
                 "With --label: strip a trailing dot from labels: read \"x.\" as \"x\"")
      ->needs("--label");
  add_table_reading(*verb, run->table);
  add_missing_with_schema(*verb, run->missing);
  run->results.add_json(*verb);
  run->results.add_out(*verb);
  verb->footer(kLeakExamples);
  verb->callback([run] { leak(*run); });
}

}  // namespace espalier::cli
