#include <algorithm>

#include "base/format.h"
#include "fairness/page_sections.h"
#include "report/interval_chart.h"
#include "report/table.h"

namespace espalier {
namespace {

constexpr size_t kMostGaps = 60;

// The two slices of a gap, and how many rows their rates count.
struct NamedSides {
  std::string lowest = "-", highest = "-";
  int64_t rows = 0;
};
NamedSides sides_of(const PageFacts& facts, const SlicingGap& gap) {
  if (!gap.gap.value) return {};
  const SliceMetric metric(gap.rate->name);
  const SliceFigures &low = *gap.groups[gap.gap.low], &high = *gap.groups[gap.gap.high];
  return {label(low.slice), label(high.slice),
          facts.figure(metric, low).rows + facts.figure(metric, high).rows};
}

Html gaps_chart(const PageFacts& facts) {
  IntervalChart chart{.caption =
                          "The rate of the highest slice less that of the lowest, and its interval, which "
                          "does not know that these two were chosen for lying furthest apart. Thin and "
                          "folded slices are left out.",
                      .of_rows = "criterion",
                      .of_values = cat("gap, ", facts.level()),
                      .rows = {}};
  for (const SlicingGap& gap : facts.gaps()) {
    if (chart.rows.size() == kMostGaps) break;
    std::optional<Span> around;
    if (gap.interval) around = {gap.interval->low, gap.interval->high};
    const std::string state = gap.against_limit();
    chart.rows.push_back(
        {.name = cat(words(gap.criterion->name), ", ", gap.by->name(), ": ", words(gap.rate->name)),
         .note = cat(gap.sides(), state.empty() ? "" : "; ", state),
         .value = gap.gap.value,
         .interval = around,
         .title = cat(gap.rate->formula(), ", of ", grouped(sides_of(facts, gap).rows), " rows"),
         .limit = gap.limit});
  }
  return drawn(chart);
}

Html gaps_table(const PageFacts& facts) {
  const auto tests =
      std::ranges::count_if(facts.gaps(), [](const SlicingGap& gap) { return gap.by_chance.has_value(); });
  HtmlTable table{.id = "gaps",
                  .caption = cat("Gaps by criterion; p is adjusted by Holm for ", tests, " gaps"),
                  .columns = {{"criterion"},
                              {"slices by"},
                              {"rate"},
                              {"gap", "highest - lowest", true},
                              {"low", "lower end of the interval", true},
                              {"high", "upper end of the interval", true},
                              {"by chance", "the mean gap of slices that rows are dealt to at random", true},
                              {"p", "how often that is as large, of the criterion's rates together", true},
                              {"limit", "", true},
                              {"lowest"},
                              {"highest"},
                              {"of rows", "that both rates count", true}}};
  for (const SlicingGap& gap : facts.gaps()) {
    const NamedSides sides = sides_of(facts, gap);
    const std::vector<HtmlCell> ends = interval_cells(gap.interval);
    HtmlCell value = number_cell(gap.gap.value);
    value.title = gap.rate->formula();
    table.rows.push_back({{.content = words(gap.criterion->name)},
                          {.content = gap.by->name()},
                          {.content = words(gap.rate->name)},
                          value,
                          ends[0],
                          ends[1],
                          number_cell(gap.by_chance ? std::optional(gap.by_chance->expected) : std::nullopt),
                          number_cell(gap.adjusted_p),
                          number_cell(gap.limit),
                          {.content = sides.lowest},
                          {.content = sides.highest},
                          count_cell(sides.rows)});
  }
  return drawn(table);
}

Html criteria_html(const PageFacts& facts) {
  return element("h3", "Gaps by criterion") + gaps_chart(facts) +
         element("details", element("summary", cat("All ", facts.gaps().size(), " gaps as a table")) +
                                gaps_table(facts));
}

}  // namespace

Html fairness_section(const PageFacts& facts, size_t most) {
  return (facts.given().has_thresholds() ? criteria_html(facts) : estimate_gaps_html(facts)) +
         heat_maps(facts, most);
}

}  // namespace espalier
