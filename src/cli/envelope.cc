#include "cli/envelope.h"

#include <algorithm>
#include <functional>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "fairness/figure_text.h"
#include "report/table.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

// What says in a few numbers how good a model of any task is; no task has all of them.
constexpr std::string_view kMetrics[] = {"accuracy", "auc", "macro_f1", "log_loss", "mae", "rmse", "r2"};

std::vector<SliceMetric> metrics_of(const Assessment& assessment) {
  const std::vector<std::string> known = slice_metrics(assessment);
  std::vector<SliceMetric> out;
  for (const std::string_view name : kMetrics) {
    if (std::ranges::count(known, name)) out.emplace_back(name);
  }
  return out;
}

}  // namespace

Envelope envelope_of(const ColumnReport& report, const ScoredTable& scored, double threshold) {
  Envelope out{.rows = report.rows, .outside = std::ranges::count(report.outside, 1)};
  for (const ColumnReport::Column& column : report.columns) {
    if (column.beyond) out.columns.push_back({column.name, column.beyond, cat("outside ", column.range)});
    if (column.unmet)
      out.columns.push_back({column.name, column.unmet, "with a value that no training row had"});
  }
  std::ranges::stable_sort(out.columns, std::greater(), &Envelope::Column::rows);
  if (out.outside == 0) return out;
  const CategoryColumn side{"rows", {"inside", "outside"}, {report.outside.begin(), report.outside.end()}};
  out.assessment = scored.assess({{&side}}, {.thresholds = {threshold}});
  return out;
}

std::string text_of(const Envelope& envelope, const Terminal& terminal) {
  constexpr size_t kNamed = 5;
  if (envelope.outside == 0) return "";
  std::string out =
      cat("\n", envelope.outside, " of ", envelope.rows, envelope.outside == 1 ? " rows lies" : " rows lie",
          " outside of what the model was trained on\n");
  for (size_t i = 0; i < std::min(kNamed, envelope.columns.size()); ++i) {
    const Envelope::Column& column = envelope.columns[i];
    out += cat("  ", column.name, ": ", column.rows, column.rows == 1 ? " row " : " rows ", column.why, "\n");
  }
  if (envelope.columns.size() > kNamed)
    out += cat("  and ", counted(envelope.columns.size() - kNamed, "more column"), "\n");
  if (envelope.outside == envelope.rows) return out;  // the figures are those of all rows
  const std::vector<SliceMetric> metrics = metrics_of(*envelope.assessment);
  std::vector<std::string> head = {"rows that lie", "rows"};
  for (const SliceMetric& metric : metrics) {
    head.push_back(spaced(metric.name()));
    if (metric.has_interval(*envelope.assessment)) head.push_back(percent(kLevel, 0) + " interval");
  }
  Table table(head);
  for (const SliceFigures& slice : envelope.assessment->by[0].slices) {
    std::vector<TableCell> cells = {values_of(slice), slice.slice.rows};
    for (const SliceMetric& metric : metrics) {
      const Figure figure = metric(slice, 0);
      cells.emplace_back(number_of(figure.value));
      if (metric.has_interval(*envelope.assessment)) cells.emplace_back(between(figure.interval));
    }
    table.row(std::move(cells));
  }
  return out + table.text(terminal);
}

Json json_of(const Envelope& envelope) {
  Json out = {{"rows", envelope.rows}, {"outside", envelope.outside}, {"columns", Json::array()}};
  for (const Envelope::Column& column : envelope.columns)
    out["columns"].push_back({{"column", column.name}, {"rows", column.rows}, {"why", column.why}});
  out["slices"] = Json::array();
  if (!envelope.assessment) return out;
  for (const SliceFigures& slice : envelope.assessment->by[0].slices) {
    Json figures = Json::object();
    for (const SliceMetric& metric : metrics_of(*envelope.assessment))
      figures[metric.name()] = json_of(metric(slice, 0));
    out["slices"].push_back(
        {{"slice", values_of(slice)}, {"rows", slice.slice.rows}, {"figures", std::move(figures)}});
  }
  return out;
}

}  // namespace espalier::cli
