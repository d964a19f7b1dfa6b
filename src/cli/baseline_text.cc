#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/baseline_flags.h"
#include "fairness/figure_text.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

// "lost: overall (accuracy 0.9 now and 0.95 before, ...)".
template <class Slice, class Figures>
std::string lost_text(const std::vector<Slice>& all, const char* metric, Figures figures) {
  std::string out;
  for (const Slice& one : all) {
    if (!one.lost()) continue;
    const PairedChange its = figures(one);
    out += cat(out.empty() ? "lost: " : "; ", one.slice.name, " (", metric, " ", number_of(its.now.value),
               " now and ", number_of(its.before.value), " before, change ", between(interval(its.change)),
               ", p ", number_of(one.adjusted_p), ")");
  }
  return out.empty() ? "no slice lost by more than chance" : out;
}

std::string churn_text(const std::vector<SliceChurn>& all, const Terminal& terminal) {
  Table table({"against the baseline", "rows", "changed", "95 % interval", "before", "now", "change",
               "95 % interval", "better", "worse", "p"});
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
  const auto accuracy = [](const SliceChurn& one) { return PairedChange{one.before, one.now, one.gain}; };
  return cat(
      "\n", number_of(all[0].changed.value), " of the decisions changed against the baseline; ",
      lost_text(all, "accuracy", accuracy), ".\n", table.text(terminal),
      terminal.paint(Ink::kDim,
                     "better, worse: rows that are right now alone, or were before alone; p: how often "
                     "chance parts them so,\nadjusted by Holm for the slices\n"));
}

std::string moves_text(const std::vector<SliceMoves>& all, const Terminal& terminal) {
  Table table({"against the baseline", "rows", "moved", "mean", "mean size", "mae before", "mae", "change",
               "95 % interval", "p", "rmse before", "rmse", "change", "95 % interval"});
  for (const SliceMoves& one : all) {
    const Ink ink = one.slice.thin ? Ink::kDim : Ink::kPlain;
    table.row({{one.slice.name, ink},
               {one.slice.rows, ink},
               {number_of(one.moved.value), ink},
               {number_of(one.move.value), ink},
               {number_of(one.size.value), ink},
               {number_of(one.mae.before.value), ink},
               {number_of(one.mae.now.value), ink},
               {number_of(one.mae.change.value), ink},
               {between(interval(one.mae.change)), ink},
               {number_of(one.adjusted_p), ink},
               {number_of(one.rmse.before.value), ink},
               {number_of(one.rmse.now.value), ink},
               {number_of(one.rmse.change.value), ink},
               {between(interval(one.rmse.change)), ink}});
  }
  return cat("\n", number_of(all[0].moved.value), " of the predictions moved against the baseline, by ",
             number_of(all[0].size.value), " on average; ",
             lost_text(all, "mae", [](const SliceMoves& one) { return one.mae; }), ".\n",
             table.text(terminal),
             terminal.paint(Ink::kDim,
                            "mean, mean size: of how far predictions moved, and of that without its sign; p: "
                            "how often chance changes\nthe mae so much, adjusted by Holm for the slices\n"));
}

Json slice_json(const RowSlice& slice) {
  return {{"slice", slice.name}, {"values", slice.values}, {"rows", slice.rows}, {"thin", slice.thin}};
}
Json figure_json(const Estimate& estimate) {
  return espalier::json_of(Figure{estimate.value, interval(estimate), estimate.rows});
}

Json baseline_json(const SliceChurn& one) {
  Json out = slice_json(one.slice);
  out.update({{"changed", figure_json(one.changed)},
              {"accuracy_before", figure_json(one.before)},
              {"accuracy", figure_json(one.now)},
              {"change", figure_json(one.gain)},
              {"better", one.better},
              {"worse", one.worse}});
  return out;
}
Json baseline_json(const SliceMoves& one) {
  Json out = slice_json(one.slice);
  out.update({{"moved", figure_json(one.moved)},
              {"mean_move", figure_json(one.move)},
              {"mean_move_size", figure_json(one.size)}});
  for (const auto& [name, change] : {std::pair("mae", &one.mae), std::pair("rmse", &one.rmse)}) {
    out[cat(name, "_before")] = figure_json(change->before);
    out[name] = figure_json(change->now);
    out[cat(name, "_change")] = figure_json(change->change);
  }
  return out;
}
template <class Slice>
void add_json(Json& out, const std::vector<Slice>& all) {
  for (const Slice& one : all) {
    Json json = baseline_json(one);
    json["p"] = one.p;
    json["adjusted_p"] = espalier::json_of(one.adjusted_p);
    json["lost"] = one.lost();
    out.push_back(std::move(json));
  }
}

}  // namespace

std::string text_of(const AgainstBaseline& all, const Terminal& terminal) {
  return all.moves.empty() ? churn_text(all.churn, terminal) : moves_text(all.moves, terminal);
}

Json json_of(const AgainstBaseline& all) {
  Json out = Json::array();
  add_json(out, all.churn);
  add_json(out, all.moves);
  return out;
}

}  // namespace espalier::cli
