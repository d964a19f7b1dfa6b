#include "base/format.h"
#include "fairness/page_sections.h"
#include "report/swatches.h"

namespace espalier {
namespace {

Html heat_map(const PageFacts& facts, const std::string& id, const SlicingFigures& by, size_t most) {
  const bool decides = facts.given().has_thresholds();
  HtmlTable table{
      .id = id, .caption = cat("Slices by ", by.name()), .columns = {{by.name()}, {"rows", "", true}}};
  if (decides) table.columns.push_back({"positives", "", true});
  for (const SliceMetric& metric : facts.metrics())
    table.columns.push_back({facts.word(metric), facts.formula(metric), true});
  const auto add = [&](const SliceFigures& slice, const std::string& name) {
    const std::string why = facts.grey(slice);
    const Html drawn_name = Html(name) + swatches(slice.slice.swatches);
    std::vector<HtmlCell> row{{.content = why.empty() ? drawn_name : drawn_name + element("small", why),
                               .text = name,
                               .style = why.empty() ? "" : "grey"},
                              count_cell(slice.slice.rows)};
    if (decides) row.push_back(count_cell(slice.at[facts.options().threshold].positives().rows));
    for (const SliceMetric& metric : facts.metrics()) {
      const Figure its = facts.figure(metric, slice);
      HtmlCell each = number_cell(its.value);
      each.title = facts.title(metric, its);
      each.style = why.empty() ? heat(facts.distance(metric, slice)) : "grey";
      row.push_back(each);
    }
    table.rows.push_back(row);
  };
  add(facts.given().overall, "all rows");
  for (const SliceFigures& slice : facts.shown(by, most)) add(slice, label(slice.slice));
  return drawn(table) + facts.rest(by, most);
}

}  // namespace

Html heat_maps(const PageFacts& facts, size_t most) {
  std::string says = "Colours and arrows tell how far a value is from that of all rows.";
  if (!facts.given().has_thresholds()) {
    says +=
        " Of what is no share and no R2 they tell how large the difference is against the value of all rows, "
        "of a mean error against the mean absolute error.";
  }
  Html out = element("h3", "Slices and metrics") + element("p", says) + heat_legend("all rows");
  const std::vector<SlicingFigures>& by = facts.given().by;
  for (size_t i = 0; i < by.size(); ++i) out += heat_map(facts, cat("heat-", i + 1), by[i], most);
  return out;
}

}  // namespace espalier
