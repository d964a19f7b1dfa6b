#include "cli/check_init.h"

#include <algorithm>
#include <cstdio>

#include "base/env.h"
#include "base/format.h"
#include "base/listed_names.h"
#include "base/shell_words.h"
#include "cli/slice_choice.h"
#include "espalier/error.h"
#include "gate/eval_config.h"
#include "gate/gates.h"
#include "gate/verdict.h"
#include "validate/metadata_files.h"

namespace espalier::cli {
namespace {

// Those of an EvalConfig.
void import_gates(const CheckRun& run) {
  EvalConfigGates gates;
  try {
    gates = gates_of(parse_eval_config(posix_env().read_file(run.from)));
  } catch (const FormatError& error) {
    throw FormatError(error.rule(), cat(source_name(run.from), ": ", error.message()), error.fix());
  } catch (const UnsupportedError& error) {
    throw UnsupportedError(error.rule(), cat(source_name(run.from), ": ", error.message()), error.fix());
  }
  run.results.write(gates.text);
  run.results.say_written();
  for (const std::string& note : gates.notes)
    std::fputs(cat("note: not in the gates: ", note, "\n").c_str(), stderr);
  std::fputs(cat(gates.gates, gates.gates == 1 ? " gate\n" : " gates\n").c_str(), stderr);
  std::vector<std::string> next = {"check", "--scores", "scores.csv"};
  const auto add = [&](const char* flag, const std::string& column, const char* otherwise) {
    const std::string& word = column.empty() ? otherwise : column;
    if (!word.empty()) next.insert(next.end(), {flag, word});
  };
  add("--label", gates.label, "label");
  add("--score", gates.score, "score");
  add("--weight", gates.weight, "");
  if (gates.ask_baseline) next.insert(next.end(), {"--baseline", "before.csv"});
  next.insert(next.end(), {"--gates", run.results.out});
  run.results.suggest_with_file(next, "gates.toml");
}

}  // namespace

void write_gates(CheckRun run) {
  if (run.results.out != "-" && posix_env().exists(run.results.out)) {
    throw ValueError("check.exists",
                     cat(run.results.out, " is there already, with limits that somebody chose"),
                     "--gates holds the model against it; --out names another file");
  }
  if (!run.from.empty()) return import_gates(run);
  const ScoredTable rows = rows_of(run, run.scores, run.where);
  if (rows.task == ScoreTask::kTwoClasses && !rows.positive.known())
    throw_no_positive(cat("label \"", rows.label, "\""), rows.classes, "gates count");
  std::vector<std::string> remarks;
  if (!run.slicing.any()) {
    std::vector<std::string> others = run.scored.columns();
    others.push_back(rows.label);
    const ChosenSlices chosen = choose_slices(rows.table, rows.rows, others);
    run.slicing.slices = chosen.flags.slices;
    run.slicing.buckets = chosen.flags.buckets;
    for (const std::string& reason : chosen.reasons) remarks.push_back(cat("Slices by ", reason, "."));
    const std::string words = shell_words(chosen.flags.words());
    std::fputs((words.empty() ? std::string("note: no column parts the rows into groups of 30 or more: the "
                                            "gates are of all rows; --slice parts them\n")
                              : cat("note: no slices were named: these are chosen, ", words, "\n"))
                   .c_str(),
               stderr);
    for (const std::string& reason : chosen.reasons) std::fputs(cat("note: ", reason, "\n").c_str(), stderr);
  }
  const std::optional<Tables> tables = tables_of(run, rows);
  if (rows.decided) run.slicing.thresholds = {*rows.decided};
  run.results.warn(run.slicing.unread(rows, rows.missing));
  const Assessment assessment = assessment_of(run, run.slicing, rows, kLevel);
  const DataAnswer* data = tables ? &tables->data : nullptr;
  Gates of = {.where = run.where, .slices = run.slicing.conditions};
  for (const auto& [column, parts] : run.slicing.parted()) {
    if (!parts.tones) of.buckets.emplace(column, parts.edges);
  }
  of.positive = rows.positive.value;
  const std::string text = gates_of(assessment, of, data, remarks);
  run.results.write(text);
  run.results.say_written();
  const Verdict today = judge(read_gates(text, "gates"), assessment, nullptr, date_of(run.today), data);
  const Verdict::Counts counts = today.counts();
  if (counts.blocked + counts.undecided > 0) {
    std::fputs(
        cat("note: of these ", today.results.size(), " gates ", counts.blocked, " would block today and ",
            counts.undecided, " be undecided: their limits are a start, for a person to change\n")
            .c_str(),
        stderr);
  }
  // What the gates hold.
  run.where.reset();
  std::erase_if(run.slicing.buckets,
                [&](const std::string& bucket) { return of.buckets.contains(named_part(bucket)->name); });
  std::vector<std::string> next = check_again(run);
  next.insert(next.end(), {"--gates", run.results.out});
  next.insert(next.end(), {"--html", "report.html"});
  run.results.suggest_with_file(next, "gates.toml");
}

}  // namespace espalier::cli
