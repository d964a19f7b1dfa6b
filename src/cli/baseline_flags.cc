#include "cli/baseline_flags.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"
#include "fairness/figure_text.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string at(const ScoredTable& scored, const std::string& file, size_t row) {
  return cat(source_name(file), ", line ", scored.table.line(scored.rows[row]));
}

// Of each row of `now` the place of the same one in `before`.
std::vector<size_t> joined(const ScoredTable& now, const ScoredTable& before, const std::string& file,
                           const std::string& id) {
  std::vector<size_t> out;
  std::map<std::string_view, size_t> places;
  const int64_t key_before = id.empty() ? -1 : before.table.column(id),
                key_now = id.empty() ? -1 : now.table.column(id);
  if (id.empty() && before.table.rows() != now.table.rows()) {
    throw ValueError("baseline.rows",
                     cat("without --id rows are joined by their place, and ", source_name(file), " has ",
                         before.table.rows(), " where there are ", now.table.rows(), " now"),
                     "--id COLUMN");
  }
  std::map<int64_t, size_t> by_place;
  for (size_t row = 0; row < before.rows.size(); ++row) {
    by_place.emplace(before.rows[row], row);
    if (id.empty()) continue;
    const std::string_view key = before.table.cell(before.rows[row], key_before);
    if (!places.emplace(key, row).second)
      throw ValueError("baseline.rows",
                       cat(at(before, file, row), ": the id \"", shortened(key), "\" comes twice"));
  }
  for (const int64_t row : now.rows) {
    if (id.empty()) {
      const auto found = by_place.find(row);
      if (found == by_place.end())
        throw ValueError("baseline.rows", cat(source_name(file), ", line ", before.table.line(row),
                                              ": the row has no label, and now it has one"));
      out.push_back(found->second);
      continue;
    }
    const std::string_view key = now.table.cell(row, key_now);
    const auto found = places.find(key);
    if (found == places.end()) {
      throw ValueError("baseline.rows", cat("line ", now.table.line(row), ": ", source_name(file),
                                            " has no row of the id \"", shortened(key), "\""));
    }
    out.push_back(found->second);
  }
  return out;
}

// What was said of a row, by name.
std::string_view said(const ScoredTable& scored, size_t row, double threshold, Positive positive) {
  if (scored.task == Task::kClasses) return scored.classes[scored.said[row]];
  return says_positive(scored.scores[row], threshold, positive) ? "positive" : "negative";
}
std::string_view truth(const ScoredTable& scored, size_t row) {
  if (scored.task == Task::kClasses) return scored.classes[scored.is[row]];
  return scored.labels[row] ? "positive" : "negative";
}

}  // namespace

void BaselineFlags::add(CLI::App& verb) {
  verb.add_option("--baseline", file,
                  "CSV of the same rows as the model before has scored them: how many are decided otherwise, "
                  "and which slices are right less often")
      ->option_text("FILE");
  verb.add_option("--id", id, "The column that tells which rows are the same; without it their place does")
      ->option_text("COLUMN");
}

std::vector<std::string> BaselineFlags::words() const {
  std::vector<std::string> out;
  if (!file.empty()) out.insert(out.end(), {"--baseline", file});
  if (!id.empty()) out.insert(out.end(), {"--id", id});
  return out;
}

std::vector<SliceChurn> BaselineFlags::churn(const ScoredTable& now, const SliceFlags& slicing,
                                             const TableFlags& reading, const ScoredFlags& scored,
                                             const std::vector<std::string>& missing,
                                             const Results& results) const {
  if (now.task == Task::kRegression || now.task == Task::kRanking)
    throw ValueError("evaluate.task", "--baseline is for decisions, not for numbers");
  const ScoredTable before = read_scores(file, reading, scored, missing, results);
  const std::vector<size_t> places = joined(now, before, file, id);
  const double threshold = slicing.thresholds.empty() ? 0.5 : slicing.thresholds[0];
  const Positive positive = slicing.positive_from == "from" ? Positive::kFrom : Positive::kAbove;
  std::map<std::string_view, uint32_t> codes;
  const auto code = [&](std::string_view name) {
    return codes.emplace(name, static_cast<uint32_t>(codes.size())).first->second;
  };
  std::vector<uint32_t> truths, said_before, said_now;
  for (size_t row = 0; row < now.rows.size(); ++row) {
    if (truth(now, row) != truth(before, places[row])) {
      throw ValueError("baseline.rows", cat(at(before, file, places[row]), ": the label is ",
                                            truth(before, places[row]), ", and now it is ", truth(now, row)));
    }
    truths.push_back(code(truth(now, row)));
    said_before.push_back(code(said(before, places[row], threshold, positive)));
    said_now.push_back(code(said(now, row, threshold, positive)));
  }
  std::vector<SliceChurn> out;
  slicing.with_slicings(now, missing, [&](const auto& slicings, const SliceOptions& options) {
    out = espalier::churn({truths, said_before, said_now, now.weights}, slicings, options);
  });
  return out;
}

std::string text_of(const std::vector<SliceChurn>& all, const Terminal& terminal) {
  std::string lost;
  for (const SliceChurn& one : all) {
    if (!one.lost()) continue;
    lost += cat(lost.empty() ? "" : "; ", one.slice.name, " (accuracy ", number_of(one.now.value), " after ",
                number_of(one.before.value), ", change ", between(interval(one.gain)), ", p ",
                number_of(one.adjusted_p), ")");
  }
  Table table({"against the baseline", "rows", "changed", "95% interval", "before", "now", "change",
               "95% interval", "better", "worse", "p"});
  for (const SliceChurn& one : all) {
    const Ink ink = one.slice.thin ? Ink::kDim : Ink::kPlain;
    table.row({{one.slice.name, ink},
               {one.slice.rows, ink},
               {number_of(one.changed.value), ink},
               {between(interval(one.changed)), ink},
               {number_of(one.before.value), ink},
               {number_of(one.now.value), ink},
               {number_of(one.gain.value), ink},
               {between(interval(one.gain)), ink},
               {one.better, ink},
               {one.worse, ink},
               {number_of(one.adjusted_p), ink}});
  }
  return cat(
      "\n", number_of(all[0].changed.value), " of the decisions changed against the baseline; ",
      lost.empty() ? "no slice lost by more than chance" : cat("lost: ", lost), ".\n", table.text(terminal),
      terminal.paint(Ink::kDim,
                     "better, worse: rows that are right now alone, or were before alone; p: how often "
                     "chance parts them so,\nadjusted by Holm for the slices\n"));
}

Json json_of(const std::vector<SliceChurn>& all) {
  Json out = Json::array();
  const auto figure = [](const Estimate& estimate) {
    return espalier::json_of(Figure{estimate.value, interval(estimate), estimate.rows});
  };
  for (const SliceChurn& one : all) {
    out.push_back({{"slice", one.slice.name},
                   {"values", one.slice.values},
                   {"rows", one.slice.rows},
                   {"thin", one.slice.thin},
                   {"changed", figure(one.changed)},
                   {"accuracy_before", figure(one.before)},
                   {"accuracy", figure(one.now)},
                   {"change", figure(one.gain)},
                   {"better", one.better},
                   {"worse", one.worse},
                   {"p", one.p},
                   {"adjusted_p", espalier::json_of(one.adjusted_p)},
                   {"lost", one.lost()}});
  }
  return out;
}

}  // namespace espalier::cli
