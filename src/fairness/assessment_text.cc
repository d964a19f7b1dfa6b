#include "fairness/assessment_text.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/shortened.h"
#include "base/shortest.h"
#include "fairness/criterion_rows.h"
#include "fairness/estimate_text.h"
#include "fairness/figure_text.h"
#include "report/table.h"

namespace espalier {
namespace {

using Json = nlohmann::ordered_json;

std::string side(const ComparedSlices& compared, const CriterionRow& row, size_t group) {
  if (!row.rate || group == Gap::kNoGroup) return "-";
  return cat(values_of(*compared.slices[group]), " ", number_of((*row.rate)(compared.confusions[group])));
}

// The groups of which a rate of the criterion is 0 / 0, so that it has no gap.
std::string undefined_for(const ComparedSlices& compared, const Criterion& criterion) {
  std::vector<size_t> groups;
  for (const Gap& gap :
       gap_of(criterion, compared.groups(), Measure::kDifference, compared.convention).of_rates) {
    for (const size_t group : gap.undefined) {
      if (std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
    }
  }
  if (groups.empty() || groups[0] == Gap::kNoGroup) return "-";
  return cat("0/0 for ", values_of(*compared.slices[groups[0]]),
             groups.size() > 1 ? cat(" and ", groups.size() - 1, " more") : "");
}

std::string gaps_text(const CriterionTables& tables, const CriterionTable& its, double level,
                      const Terminal& terminal) {
  const ComparedSlices& compared = its.compared;
  if (compared.slices.size() < 2)
    return cat("no two slices of ", its.by->name(), " have rows enough to be compared\n");
  Table table({cat("gaps by ", its.by->name()), "difference", percent(level, 0) + " interval", "by chance",
               "p", "ratio", "lowest", "highest"});
  for (const CriterionRow& row : its.rows) {
    table.row({spaced(row.criterion.name), number_of(row.difference), between(row.interval),
               row.by_chance ? number_of(row.by_chance->expected) : "-", number_of(row.adjusted_p),
               number_of(row.ratio),
               row.rate ? side(compared, row, row.gap.low) : undefined_for(compared, row.criterion),
               side(compared, row, row.gap.high)});
  }
  return table.text(terminal) +
         terminal.paint(Ink::kDim,
                        cat("by chance: the mean gap of groups that rows are dealt to at random; p: how "
                            "often one as large is,\nadjusted by Holm for ",
                            tables.tests, " gaps; an interval is of its gap alone\n"));
}

std::string figures_text(const Assessment& assessment, const SlicingFigures& by, size_t threshold,
                         const Terminal& terminal) {
  constexpr std::string_view kShown[] = {"accuracy", "selection_rate", "tpr", "fpr", "auc"};
  Table table({by.name(), "rows", "positives", "accuracy", "selected", "tpr", "fpr", "auc"});
  const auto add = [&](const SliceFigures& slice) {
    const Ink ink = slice.slice.thin ? Ink::kDim : Ink::kPlain;
    std::vector<TableCell> cells{
        {slice.slice.name, ink}, {slice.slice.rows, ink}, {slice.at[threshold].positives().rows, ink}};
    for (const std::string_view name : kShown)
      cells.emplace_back(number_of(SliceMetric(name)(slice, threshold).value), ink);
    table.row(std::move(cells));
  };
  add(assessment.overall);
  for (const SliceFigures& slice : by.slices) add(slice);
  return table.text(terminal) + thin_text(assessment, by, terminal);
}

Json slice_json(const SliceFigures& slice, const Assessment& assessment) {
  Json out = {{"slice", slice.slice.name}, {"values", slice.slice.values},
              {"rows", slice.slice.rows},  {"weight", slice.sums.rows.weight},
              {"thin", slice.slice.thin},  {"metrics", Json::object()},
              {"at", Json::array()}};
  const double level = assessment.options.level;
  for (const std::string& name : slice_metrics(assessment)) {
    const SliceMetric metric(name);
    if (!metric.rate()) out["metrics"][name] = json_of(metric(slice, 0, level));
  }
  for (size_t t = 0; t < assessment.options.thresholds.size(); ++t) {
    constexpr const char* kNames[kOutcomes] = {"true_positives", "false_positives", "true_negatives",
                                               "false_negatives"};
    Json at = {{"threshold", assessment.options.thresholds[t]},
               {"confusion", Json::object()},
               {"rates", Json::object()}};
    for (size_t i = 0; i < kOutcomes; ++i)
      at["confusion"][kNames[i]] = {{"rows", slice.at[t].of[i].rows}, {"weight", slice.at[t].of[i].weight}};
    for (const Rate& rate : rates())
      at["rates"][std::string(rate.name)] = json_of(SliceMetric(rate.name)(slice, t, level));
    out["at"].push_back(std::move(at));
  }
  return out;
}

Json gaps_json(const CriterionTable& table, const Assessment& assessment) {
  const ComparedSlices& compared = table.compared;
  Json out = {{"by", table.by->columns}, {"threshold", assessment.options.thresholds[table.threshold]}};
  out["reference"] =
      compared.has_reference() ? Json(compared.slices[compared.convention.reference]->slice.name) : Json();
  out["criteria"] = Json::object();
  for (const CriterionRow& row : table.rows) {
    const auto name = [&](size_t group) {
      return group == Gap::kNoGroup ? Json() : Json(compared.slices[group]->slice.name);
    };
    out["criteria"][std::string(row.criterion.name)] = {
        {"difference", json_of(row.difference)},
        {"interval", json_of(row.interval)},
        {"by_chance", row.by_chance ? Json(row.by_chance->expected) : Json()},
        {"p", row.by_chance ? Json(row.by_chance->p) : Json()},
        {"adjusted_p", json_of(row.adjusted_p)},
        {"ratio", json_of(row.ratio)},
        {"rate", row.rate ? Json(row.rate->name) : Json()},
        {"lowest", name(row.gap.low)},
        {"highest", name(row.gap.high)}};
  }
  return out;
}

}  // namespace

std::string text_of(const Assessment& assessment, const AssessmentView& view, const Terminal& terminal) {
  if (!assessment.has_thresholds()) return estimate_text(assessment, view, terminal);
  const std::vector<SlicingFigures> everything = {{.columns = {}, .slices = {}}};
  const size_t thresholds = assessment.options.thresholds.size();
  const CriterionTables tables =
      view.metrics.empty() ? criterion_tables(assessment, view) : CriterionTables();
  std::string out;
  for (size_t t = 0; t < thresholds; ++t) {
    const std::string& positive = assessment.options.positive_rows;
    const bool from = assessment.options.positive == Positive::kFrom;
    out += cat(out.empty() ? "" : "\n", "threshold ", shortest(assessment.options.thresholds[t]),
               ": a score ", from ? "from it on" : "above it", " says positive",
               positive.empty() ? "" : cat(", which is ", printable(positive)), "\n");
    out += intervals_text(assessment, view.metrics);
    for (const SlicingFigures& by : assessment.by.empty() ? everything : assessment.by) {
      out += "\n";
      if (view.metrics.empty()) out += figures_text(assessment, by, t, terminal);
      for (const std::string& name : view.metrics) out += metric_text(assessment, by, name, t, terminal);
      if (by.columns.empty() || !view.metrics.empty()) continue;
      const CriterionTable& gaps =
          tables.of[static_cast<size_t>(&by - assessment.by.data()) * thresholds + t];
      out += cat("\n", gaps_text(tables, gaps, assessment.options.level, terminal));
    }
  }
  return out;
}

Json json_of(const Assessment& assessment, const AssessmentView& view) {
  if (!assessment.has_thresholds()) return estimate_json(assessment, view);
  Json out = {{"positive_at_threshold", assessment.options.positive == Positive::kFrom},
              {"interval_level", assessment.options.level},
              {"interval_method", text_of(assessment.options.resampling)},
              {"min_slice", assessment.options.slices.min_rows},
              {"overall", slice_json(assessment.overall, assessment)},
              {"slices", Json::array()},
              {"gaps", Json::array()}};
  for (const SlicingFigures& by : assessment.by) {
    for (const SliceFigures& slice : by.slices) {
      Json one = {{"by", by.columns}};
      one.update(slice_json(slice, assessment));
      out["slices"].push_back(std::move(one));
    }
  }
  const CriterionTables tables = criterion_tables(assessment, view);
  out["tests"] = {{"count", tables.tests}, {"adjusted_by", "Holm"}};
  for (const CriterionTable& table : tables.of) out["gaps"].push_back(gaps_json(table, assessment));
  return out;
}

}  // namespace espalier
