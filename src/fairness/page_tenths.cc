#include "base/format.h"
#include "fairness/page_sections.h"
#include "report/interval_chart.h"
#include "report/table.h"

namespace espalier {
namespace {

const SliceMetric& said() {
  static const SliceMetric metric("mean_prediction");
  return metric;
}
const SliceMetric& is() {
  static const SliceMetric metric("mean_label");
  return metric;
}

Html tenths_chart(const PageFacts& facts, const SlicingFigures& tenths) {
  const SliceMetric error("mean_error");
  IntervalChart chart{.caption = cat("mean error = ", facts.formula(error),
                                     ", from the lowest predictions to the highest; at 0 they are right on "
                                     "average"),
                      .of_rows = "tenth of the predictions",
                      .of_values = cat("value, ", facts.level()),
                      .rows = {},
                      .line = 0,
                      .line_name = "0"};
  for (const SliceFigures& tenth : tenths.slices) {
    const Figure its = facts.figure(error, tenth);
    std::optional<Span> around;
    if (its.interval) around = {its.interval->low, its.interval->high};
    chart.rows.push_back({.name = label(tenth.slice),
                          .note = cat(grouped(tenth.slice.rows), " rows, predicted ",
                                      significant(*facts.figure(said(), tenth).value, 3), ", true ",
                                      significant(*facts.figure(is(), tenth).value, 3)),
                          .value = its.value,
                          .interval = around,
                          .title = facts.title(error, its)});
  }
  return drawn(chart);
}

Html tenths_table(const PageFacts& facts, const SlicingFigures& tenths) {
  HtmlTable table{.id = "tenths-figures",
                  .caption = "Predicted and true by tenth of the predictions",
                  .columns = {{"tenth"}, {"rows", "", true}}};
  const auto columns = [&](const std::string& name, bool interval) {
    table.columns.push_back({name, "", true});
    if (interval) {
      table.columns.push_back({"low", cat("lower end of the interval of the ", name), true});
      table.columns.push_back({"high", cat("upper end of the interval of the ", name), true});
    }
  };
  columns("mean prediction", false);
  columns("mean label", true);
  columns("mean error", true);
  columns("mae", true);
  for (const SliceFigures& tenth : tenths.slices) {
    std::vector<HtmlCell> row = {{.content = label(tenth.slice)},
                                 count_cell(tenth.slice.rows),
                                 number_cell(facts.figure(said(), tenth).value)};
    for (const char* metric : {"mean_label", "mean_error", "mae"}) {
      const Figure its = facts.figure(SliceMetric(metric), tenth);
      row.push_back(number_cell(its.value));
      for (HtmlCell& end : interval_cells(its.interval)) row.push_back(std::move(end));
    }
    table.rows.push_back(row);
  }
  return drawn(table);
}

}  // namespace

Html tenths_section(const PageFacts& facts) {
  const std::optional<SlicingFigures>& tenths = facts.given().tenths;
  if (!tenths) return {};
  for (const SliceFigures& tenth : tenths->slices) {
    if (tenth.slice.rows < facts.options().k) return {};
  }
  return element("p",
                 "Rows by what was predicted of them, in ten parts of as many rows; equal predictions are in "
                 "one part.") +
         tenths_chart(facts, *tenths) +
         element("details", element("summary", "The tenths as a table") + tenths_table(facts, *tenths));
}

}  // namespace espalier
