#include "fairness/estimate_text.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "fairness/estimate_gaps.h"
#include "fairness/figure_text.h"
#include "report/table.h"

namespace espalier {
namespace {

using Json = nlohmann::ordered_json;

// Those that are compared and of no single class.
std::vector<std::string> shown_metrics(const Assessment& assessment) {
  std::vector<std::string> out;
  for (const Estimate& estimate : assessment.overall.estimates) {
    const EstimateMetric* metric = estimate_metric(estimate.metric);
    if (metric->compared && metric->name == estimate.metric) out.push_back(estimate.metric);
  }
  return out;
}

std::string estimates_text(const Assessment& assessment, const SlicingFigures& by, const Terminal& terminal) {
  const std::vector<std::string> shown = shown_metrics(assessment);
  std::vector<std::string> header = {by.name(), "rows"};
  for (const std::string& name : shown) header.push_back(spaced(name));
  Table table(header);
  const auto add = [&](const SliceFigures& slice) {
    const Ink ink = slice.slice.thin ? Ink::kDim : Ink::kPlain;
    std::vector<TableCell> cells{{slice.slice.name, ink}, {slice.slice.rows, ink}};
    for (const std::string& name : shown)
      cells.emplace_back(number_of(SliceMetric(name)(slice, 0).value), ink);
    table.row(std::move(cells));
  };
  add(assessment.overall);
  for (const SliceFigures& slice : by.slices) add(slice);
  return table.text(terminal) + thin_text(assessment, by, terminal);
}

std::string overall_text(const Assessment& assessment, const Terminal& terminal) {
  const double level = assessment.options.level;
  const std::vector<Estimate>& all = assessment.overall.estimates;
  Table table({"all rows", "value", percent(level, 0) + " interval",
               cat("of ", estimate_metric(all[0].metric)->counted)});
  for (const Estimate& estimate : all) {
    const Figure figure = SliceMetric(estimate.metric)(assessment.overall, 0, level);
    table.row({spaced(estimate.metric), number_of(figure.value), between(figure.interval), figure.rows});
  }
  return table.text(terminal);
}

std::string estimate_side(const SliceFigures* slice, const std::string& metric) {
  return slice ? cat(values_of(*slice), " ", number_of(SliceMetric(metric)(*slice, 0).value)) : "-";
}

std::string estimate_gaps_text(const EstimateGaps& gaps, size_t tests, double level,
                               const Terminal& terminal) {
  if (gaps.of.empty()) return cat("no two slices of ", gaps.by->name(), " have rows enough to be compared\n");
  Table table({cat("gaps by ", gaps.by->name()), "difference", percent(level, 0) + " interval", "by chance",
               "p", "ratio", gaps.reference ? "lower" : "lowest", gaps.reference ? "higher" : "highest"});
  for (const EstimateGap& gap : gaps.of) {
    table.row({spaced(gap.metric), number_of(gap.difference), between(gap.interval),
               gap.by_chance ? number_of(gap.by_chance->expected) : "-", number_of(gap.adjusted_p),
               number_of(gap.ratio),
               gap.undefined ? cat("undefined for ", values_of(*gap.undefined))
                             : estimate_side(gap.low, gap.metric),
               estimate_side(gap.high, gap.metric)});
  }
  return table.text(terminal) +
         terminal.paint(Ink::kDim,
                        cat("by chance: the mean gap of slices that are alike but for the error of "
                            "each; p: how often one as large is,\nadjusted by Holm for ",
                            tests, " gaps; an interval is of its gap alone\n"));
}

Json estimates_json(const SliceFigures& slice, const Assessment& assessment) {
  Json out = {{"slice", slice.slice.name}, {"values", slice.slice.values},
              {"rows", slice.slice.rows},  {"weight", slice.sums.rows.weight},
              {"thin", slice.slice.thin},  {"metrics", Json::object()}};
  for (const std::string& name : slice_metrics(assessment))
    out["metrics"][name] = json_of(SliceMetric(name)(slice, 0, assessment.options.level));
  if (slice.matrix.empty()) return out;
  out["confusion"] = Json::array();
  const auto classes = static_cast<std::ptrdiff_t>(std::lround(std::sqrt(slice.matrix.size())));
  for (auto row = slice.matrix.begin(); row != slice.matrix.end(); row += classes)
    out["confusion"].push_back(std::vector<int64_t>(row, row + classes));
  return out;
}

Json estimate_gaps_json(const EstimateGaps& gaps) {
  const auto name = [](const SliceFigures* slice) { return slice ? Json(slice->slice.name) : Json(); };
  Json out = {{"by", gaps.by->columns}, {"reference", name(gaps.reference)}, {"metrics", Json::object()}};
  for (const EstimateGap& gap : gaps.of) {
    out["metrics"][gap.metric] = {{"difference", json_of(gap.difference)},
                                  {"interval", json_of(gap.interval)},
                                  {"by_chance", gap.by_chance ? Json(gap.by_chance->expected) : Json()},
                                  {"p", gap.by_chance ? Json(gap.by_chance->p) : Json()},
                                  {"adjusted_p", json_of(gap.adjusted_p)},
                                  {"ratio", json_of(gap.ratio)},
                                  {"lowest", name(gap.low)},
                                  {"highest", name(gap.high)}};
  }
  return out;
}

}  // namespace

std::string estimate_text(const Assessment& assessment, const AssessmentView& view,
                          const Terminal& terminal) {
  std::string out = intervals_text(assessment, view.metrics) + overall_text(assessment, terminal);
  const EstimateGapTables gaps = view.metrics.empty() ? estimate_gaps(assessment, view) : EstimateGapTables();
  for (size_t i = 0; i < assessment.by.size(); ++i) {
    const SlicingFigures& by = assessment.by[i];
    out += "\n";
    for (const std::string& name : view.metrics) out += metric_text(assessment, by, name, 0, terminal);
    if (!view.metrics.empty()) continue;
    out += estimates_text(assessment, by, terminal);
    out += cat("\n", estimate_gaps_text(gaps.of[i], gaps.tests, assessment.options.level, terminal));
  }
  return out;
}

Json estimate_json(const Assessment& assessment, const AssessmentView& view) {
  Json out = {{"interval_level", assessment.options.level},
              {"interval_method", text_of(assessment.options.resampling)},
              {"min_slice", assessment.options.slices.min_rows},
              {"overall", estimates_json(assessment.overall, assessment)},
              {"slices", Json::array()},
              {"gaps", Json::array()}};
  for (const SlicingFigures& by : assessment.by) {
    for (const SliceFigures& slice : by.slices) {
      Json one = {{"by", by.columns}};
      one.update(estimates_json(slice, assessment));
      out["slices"].push_back(std::move(one));
    }
  }
  const EstimateGapTables gaps = estimate_gaps(assessment, view);
  out["tests"] = {{"count", gaps.tests}, {"adjusted_by", "Holm"}};
  for (const EstimateGaps& each : gaps.of) out["gaps"].push_back(estimate_gaps_json(each));
  return out;
}

}  // namespace espalier
