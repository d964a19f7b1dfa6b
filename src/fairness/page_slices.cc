#include <algorithm>

#include "base/format.h"
#include "fairness/page_sections.h"
#include "report/choice.h"
#include "report/interval_chart.h"
#include "report/swatches.h"
#include "report/table.h"

namespace espalier {
namespace {

Html slice_dots(const PageFacts& facts, const SliceMetric& metric, const SlicingFigures& by, size_t most) {
  const Figure of_all = facts.figure(metric, facts.given().overall);
  IntervalChart chart{.caption = cat(facts.word(metric), " = ", facts.formula(metric)),
                      .of_rows = by.name(),
                      .of_values = cat("value, ", facts.level()),
                      .rows = {},
                      .line = of_all.value,
                      .line_name = of_all.value ? cat("all rows ", significant(*of_all.value, 3)) : ""};
  const std::span<const SliceFigures> slices = facts.shown(by, most);
  for (const size_t i : facts.order(slices, metric)) {
    const SliceFigures& slice = slices[i];
    const Figure its = facts.figure(metric, slice);
    std::optional<Span> around;
    if (its.interval) around = {its.interval->low, its.interval->high};
    chart.rows.push_back({label(slice.slice),
                          facts.note(slice),
                          its.value,
                          around,
                          facts.title(metric, its),
                          facts.grey(slice),
                          {},
                          slice.slice.swatches});
  }
  return drawn(chart);
}

Html figures(const PageFacts& facts, const std::string& id, const SlicingFigures& by, size_t most) {
  HtmlTable table{.id = id,
                  .caption = cat("Every figure by ", by.name()),
                  .columns = {{by.name()},
                              {"metric"},
                              {"value", "", true},
                              {"low", "lower end of the interval", true},
                              {"high", "upper end of the interval", true},
                              {"of rows", "that the metric counts", true},
                              {"from all rows", "value - value of all rows", true}}};
  for (const SliceFigures& slice : facts.shown(by, most)) {
    for (const SliceMetric& metric : facts.metrics()) {
      const Figure its = facts.figure(metric, slice);
      const std::vector<HtmlCell> ends = interval_cells(its.interval);
      HtmlCell value = number_cell(its.value);
      value.title = facts.title(metric, its);
      const std::string why = facts.grey(slice);
      table.rows.push_back({{.content = label(slice.slice) + swatches(slice.slice.swatches),
                             .text = label(slice.slice),
                             .title = why,
                             .style = why.empty() ? "" : "grey"},
                            {.content = facts.word(metric)},
                            value,
                            ends[0],
                            ends[1],
                            count_cell(its.rows),
                            number_cell(facts.from_all(metric, slice))});
    }
  }
  return drawn(table);
}

}  // namespace

Html slices_section(const PageFacts& facts, size_t most) {
  Html out = element("p",
                     "Dots are values and lines the intervals that hold the true ones; the furthest from all "
                     "rows come first. Grey slices have too few rows to say much.");
  const std::vector<SlicingFigures>& all = facts.given().by;
  for (size_t i = 0; i < all.size(); ++i) {
    const SlicingFigures& by = all[i];
    const std::string id = cat("slices-", i + 1);
    std::vector<ChoicePanel> panels;
    for (const SliceMetric& metric : facts.metrics())
      panels.push_back({facts.word(metric), slice_dots(facts, metric, by, most)});
    const auto coloured = [](const SliceFigures& slice) { return !slice.slice.swatches.empty(); };
    const bool tones = std::ranges::any_of(by.slices, coloured);
    out += element("section", {{"id", id}, {"aria-label", by.name()}},
                   element("h3", element("a", {{"href", cat("#", id)}, {"class", "deep"}}, by.name())) +
                       (tones ? element("p", "Tones stay in their own order.") : Html()) +
                       choice(cat(id, "-metric"), "Metric:", panels) +
                       element("details", element("summary", "All figures as a table") +
                                              figures(facts, cat(id, "-figures"), by, most)) +
                       facts.rest(by, most));
  }
  return out;
}

}  // namespace espalier
