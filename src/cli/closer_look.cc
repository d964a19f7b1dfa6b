#include "cli/closer_look.h"

#include <algorithm>
#include <set>

#include "base/format.h"
#include "base/listed_names.h"
#include "base/shortest.h"
#include "evaluate/slice_columns.h"

namespace espalier::cli {
namespace {

// Those of the slices by these columns alone.
SliceFlags slices_by(const SliceFlags& all, const std::vector<std::vector<std::string>>& slicings) {
  SliceFlags out{.min_rows = all.min_rows, .missing = all.missing, .positive_from = all.positive_from};
  std::set<std::string> used;
  for (const std::vector<std::string>& columns : slicings) {
    if (columns.empty()) continue;
    std::vector<std::string>& into = columns.size() == 1 ? out.slices : out.crosses;
    const std::string by = columns.size() == 1 ? columns[0] : cross_of(columns);
    if (!std::ranges::count(into, by)) into.push_back(by);
    used.insert(columns.begin(), columns.end());
  }
  for (const std::string& bucket : all.buckets) {
    if (used.contains(named_part(bucket)->name)) out.buckets.push_back(bucket);
  }
  for (const auto& [name, condition] : all.conditions) {
    if (used.contains(name)) out.conditions.emplace(name, condition);
  }
  return out;
}

// `espalier evaluate` of the same rows, without what that does not know.
std::vector<std::string> evaluated(CheckRun run, const SliceFlags& slicing) {
  run.baseline.clear();
  run.train.clear();
  if (!run.of_schema.any()) run.schema.clear();
  run.slicing = slicing;
  std::vector<std::string> out = check_again(run);
  out[0] = "evaluate";
  return out;
}

std::vector<std::string> look_at_tables(const CheckRun& run, const std::string& learned_from,
                                        const std::optional<Tables>& tables, const Gate& gate) {
  if (!tables) {
    std::vector<std::string> out = check_again(run);
    const bool other = !learned_from.empty() && learned_from != run.data;
    out.insert(out.end(), {"--gates", run.gates, "--train", other ? learned_from : "train.csv"});
    return out;
  }
  const std::string& now = run.scores.empty() ? run.data : run.scores;
  std::vector<std::string> out = {"data", "check", run.train, now};
  if (gate.fault == FaultOf::kDrift) {
    out[1] = "drift";
  } else if (gate.fault == FaultOf::kGroups) {
    out = {"data", "bias", run.train};
  } else if (!tables->options.label.empty()) {
    out.insert(out.end(), {"--label", tables->options.label});
  }
  for (const std::string& word : run.table.words()) out.push_back(word);
  for (const std::string& word : run.scored.missing.words()) out.push_back(word);
  return out;
}

}  // namespace

std::vector<std::string> CloserLook::all() const {
  if (rows.task != ScoreTask::kTwoClasses) {
    CheckRun plain = run;
    if (!slicing.any()) plain.intervals = {};
    return evaluated(plain, slicing);
  }
  SliceFlags shown = run.slicing;
  shown.buckets = slicing.buckets;
  std::vector<std::string> out = evaluated(run, shown);
  out.emplace_back("--worst");
  return out;
}

std::vector<std::string> CloserLook::at(const Gate& gate) const {
  if (gate.where == Where::kData) return look_at_tables(run, rows.learned_from, tables, gate);
  std::vector<std::string> by = gate.columns();
  by.resize(by.size() - gate.given.size());
  const SliceFlags shown = slices_by(slicing, {by, gate.against_columns()});
  if (!shown.any()) return all();
  std::vector<std::string> out = evaluated(run, shown);
  const std::vector<std::string> known = slice_metrics(assessment);
  std::vector<std::string> metrics;
  bool rates = false;
  for (const SliceMetric& metric : gate.metrics) {
    rates = rates || metric.rate();
    if (std::ranges::count(known, metric.name())) metrics.push_back(metric.name());
  }
  if (!metrics.empty()) out.insert(out.end(), {"--metric", names_in_list(metrics)});
  if (rates && rows.task == ScoreTask::kTwoClasses)
    out.insert(out.end(), {"--threshold", shortest(gate.threshold)});
  return out;
}

}  // namespace espalier::cli
