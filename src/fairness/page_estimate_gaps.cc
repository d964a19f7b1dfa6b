#include <algorithm>

#include "base/format.h"
#include "fairness/page_sections.h"
#include "report/choice.h"
#include "report/interval_chart.h"
#include "report/table.h"

namespace espalier {
namespace {

struct Row {
  const SlicingFigures* by;
  const EstimateGap* gap;
};

std::vector<Row> rows_of(const PageFacts& facts) {
  std::vector<Row> out;
  for (const EstimateGaps& gaps : facts.estimate_gaps().of) {
    for (const EstimateGap& gap : gaps.of) out.push_back({gaps.by, &gap});
  }
  return out;
}

std::string sides(const PageFacts& facts, const EstimateGap& gap) {
  if (!gap.difference) return cat("undefined for ", label(gap.undefined->slice));
  const auto side = [&](const SliceFigures& slice) {
    return cat(label(slice.slice), " ", significant(*facts.figure(SliceMetric(gap.metric), slice).value, 3));
  };
  return cat(side(*gap.low), " to ", side(*gap.high));
}

// Each metric has its own unit, and so its own axis.
Html estimate_gaps_chart(const PageFacts& facts, const std::string& metric, const std::vector<Row>& rows) {
  IntervalChart chart{.caption =
                          "The value of the highest slice less that of the lowest, and its interval, which "
                          "does not know that these two were chosen for lying furthest apart. Thin and "
                          "folded slices are left out.",
                      .of_rows = "slices by",
                      .of_values = cat("gap, ", facts.level()),
                      .rows = {}};
  for (const Row& row : rows) {
    if (row.gap->metric != metric) continue;
    std::optional<Span> around;
    if (row.gap->interval) around = {row.gap->interval->low, row.gap->interval->high};
    chart.rows.push_back({.name = row.by->name(),
                          .note = sides(facts, *row.gap),
                          .value = row.gap->difference,
                          .interval = around,
                          .title = facts.formula(SliceMetric(metric))});
  }
  return drawn(chart);
}

Html estimate_gaps_table(const PageFacts& facts, const std::vector<Row>& rows) {
  HtmlTable table{
      .id = "gaps",
      .caption = cat("Gaps by metric; p is adjusted by Holm for ", facts.estimate_gaps().tests, " gaps"),
      .columns = {{"metric"},
                  {"slices by"},
                  {"gap", "highest - lowest", true},
                  {"low", "lower end of the interval", true},
                  {"high", "upper end of the interval", true},
                  {"by chance", "the mean gap of slices that are alike", true},
                  {"p", "how often slices that are alike have as large a gap", true},
                  {"lowest"},
                  {"highest"}}};
  for (const auto& [by, gap] : rows) {
    const std::vector<HtmlCell> ends = interval_cells(gap->interval);
    table.rows.push_back(
        {{.content = facts.word(SliceMetric(gap->metric))},
         {.content = by->name()},
         number_cell(gap->difference),
         ends[0],
         ends[1],
         number_cell(gap->by_chance ? std::optional(gap->by_chance->expected) : std::nullopt),
         number_cell(gap->adjusted_p),
         {.content = gap->low ? label(gap->low->slice) : "-"},
         {.content = gap->high ? label(gap->high->slice) : "-"}});
  }
  return drawn(table);
}

}  // namespace

Html estimate_gaps_html(const PageFacts& facts) {
  const Html title = element("h3", "Gaps by metric");
  const std::vector<Row> rows = rows_of(facts);
  if (rows.empty()) return title + element("p", "No two slices have rows enough to be compared.");
  std::vector<ChoicePanel> panels;
  for (const Row& row : rows) {
    const std::string name = facts.word(SliceMetric(row.gap->metric));
    if (std::ranges::count(panels, name, &ChoicePanel::name)) continue;
    panels.push_back({name, estimate_gaps_chart(facts, row.gap->metric, rows)});
  }
  return title + choice("gaps-metric", "Metric:", panels) +
         element("details", element("summary", cat("All ", rows.size(), " gaps as a table")) +
                                estimate_gaps_table(facts, rows));
}

}  // namespace espalier
