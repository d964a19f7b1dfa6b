#include <algorithm>

#include "base/format.h"
#include "fairness/page_sections.h"
#include "report/choice.h"
#include "report/threshold_panel.h"

namespace espalier {
namespace {

constexpr size_t kMostBytes = kMostPageBytes / 3;

std::vector<PanelRate> rates_of(const PageFacts& facts) {
  std::vector<PanelRate> out;
  for (const SliceMetric& metric : facts.metrics()) {
    if (!metric.rate() || !metric.rate()->is_proportion()) continue;
    out.push_back(
        {facts.word(metric), metric.formula(), metric.rate()->fraction.part, metric.rate()->fraction.whole});
  }
  return out;
}

Html panel_of(const PageFacts& facts, const std::string& id, const SlicingFigures& by,
              const std::vector<PanelRate>& rates, size_t most) {
  const double level = facts.given().options.level;
  ThresholdPanel panel{.id = id,
                       .caption = cat("Rates by ", by.name(), " at thresholds of your choice"),
                       .slices = {},
                       .rates = rates,
                       .threshold = facts.threshold(),
                       .level = level,
                       .width = normal_width(level)};
  for (const SliceFigures& slice : facts.shown(by, most)) {
    PanelSlice& its =
        panel.slices.emplace_back(PanelSlice{label(slice.slice), facts.note(slice), facts.grey(slice), {}});
    for (const LabelTallies& tallies : slice.histogram) {
      auto& bin = its.bins.emplace_back();
      for (const size_t label : {0, 1})
        bin[label] = {tallies[label].rows, tallies[label].weight, tallies[label].squares};
    }
  }
  return drawn(panel) + facts.rest(by, most);
}

}  // namespace

Html thresholds_section(const PageFacts& facts, size_t most) {
  const std::vector<PanelRate> rates = rates_of(facts);
  const std::vector<SlicingFigures>& all = facts.given().by;
  std::vector<ChoicePanel> panels;
  const size_t bytes = kMostBytes / std::max<size_t>(all.size(), 1);
  for (size_t i = 0; i < all.size(); ++i) {
    Html panel;
    for (size_t count = most; count > 0; count /= 2) {
      panel = panel_of(facts, cat("thresholds-", i + 1), all[i], rates, count);
      if (panel.markup().size() < bytes) break;
    }
    panels.push_back({all[i].name(), panel});
  }
  const bool closed = facts.given().options.resampling.method == IntervalMethod::kClosedForm;
  return element("p",
                 cat("Move a threshold and the rates follow, from counts of scores in thousandths. A row is "
                     "positive where its score is ",
                     facts.given().options.positive == Positive::kFrom ? "at or above" : "above",
                     " the threshold. Positives stand above the axis "
                     "and negatives below, each against its highest bar.",
                     closed ? "" : " Intervals of this part are Wilson's.")) +
         element("noscript", element("p", "This part needs scripts.")) +
         element("div", {{"class", "scripted"}}, choice("thresholds-by", "Slices by:", panels));
}

}  // namespace espalier
