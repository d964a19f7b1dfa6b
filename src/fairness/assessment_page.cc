#include "fairness/assessment_page.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/error.h"
#include "report/choice.h"
#include "report/html_table.h"
#include "report/interval_chart.h"
#include "report/table.h"
#include "report/threshold_panel.h"

namespace espalier {
namespace {

// Of all slicings together; where the page grows too long for that, half as many, and so on.
constexpr size_t kMostSlices = 200;
constexpr size_t kMostNamed = 500, kMostGaps = 60;
constexpr size_t kBytesForThresholds = kMostPageBytes / 3;

class AssessmentPage {
 public:
  AssessmentPage(const Assessment& assessment, const AssessmentPageOptions& options)
      : options_(options), folded_(fold_rare(assessment, options.k)), given_(folded_.assessment) {
    if (options.threshold >= given_.options.thresholds.size()) {
      throw ValueError("page.threshold", cat("the assessment has ", given_.options.thresholds.size(),
                                             " thresholds, and none of number ", options.threshold));
    }
    for (const std::string& name : options.metrics) metrics_.emplace_back(name);
    for (SlicingFigures& by : folded_.assessment.by) {
      std::vector<SliceFigures> sorted;
      for (const size_t i : order(by.slices, [&](const SliceFigures& slice) { return -furthest(slice); }))
        sorted.push_back(std::move(by.slices[i]));
      by.slices = std::move(sorted);
    }
    gaps_ = slicing_gaps(given_, options.threshold, options.criteria);
  }

  std::string html() const {
    for (size_t most = kMostSlices;; most /= 2) {
      const Page page = page_of(std::max<size_t>(most / std::max<size_t>(given_.by.size(), 1), 1));
      size_t bytes = 0;
      for (const PageSection& section : page.sections) bytes += section.body.markup().size();
      if (bytes < kMostPageBytes - kMostPageBytes / 20 || most == 1) return espalier::html(page);
    }
  }

 private:
  double threshold() const { return given_.options.thresholds[options_.threshold]; }
  std::string level() const { return cat(shortest(100 * given_.options.level), " %"); }
  Figure figure(const SliceMetric& metric, const SliceFigures& slice) const {
    return metric(slice, options_.threshold, given_.options.level);
  }
  std::optional<double> from_all(const SliceMetric& metric, const SliceFigures& slice) const {
    const Figure its = figure(metric, slice), of_all = figure(metric, given_.overall);
    if (!its.value || !of_all.value) return std::nullopt;
    return *its.value - *of_all.value;
  }
  double furthest(const SliceFigures& slice) const {
    double out = 0;
    for (const SliceMetric& metric : metrics_) {
      out = std::max(out, std::abs(from_all(metric, slice).value_or(0)));
    }
    return out;
  }
  // By a key; thin slices come after the others and what was folded last.
  template <class Key>
  static std::vector<size_t> order(std::span<const SliceFigures> slices, Key&& key) {
    std::vector<std::tuple<bool, bool, double, size_t>> keys;
    for (const SliceFigures& slice : slices)
      keys.emplace_back(is_fold(slice.slice), slice.slice.thin, key(slice), keys.size());
    std::ranges::sort(keys);
    std::vector<size_t> out;
    for (const auto& each : keys) out.push_back(std::get<3>(each));
    return out;
  }
  std::string grey(const SliceFigures& slice) const {
    if (is_fold(slice.slice)) {
      return cat("folded: ", grouped(folded_.folded.at(slice.slice.name)), " slices, those of fewer than ",
                 options_.k, " rows and larger ones that would give them away by subtraction");
    }
    if (!slice.slice.thin) return "";
    return cat("thin: fewer than ", grouped(given_.options.slices.min_rows), " rows");
  }
  std::string note(const SliceFigures& slice) const {
    const int64_t positives = slice.at[options_.threshold].positives().rows;
    return cat(grouped(slice.slice.rows), " rows, ", grouped(positives), " positives");
  }
  std::string title(const SliceMetric& metric, const Figure& figure) const {
    std::string out = metric.formula();
    out += figure.value ? cat(" = ", fixed(*figure.value, 6)) : ": undefined";
    out += cat(", of ", grouped(figure.rows), " rows");
    if (figure.interval) {
      out += cat(", ", level(), " interval ", fixed(figure.interval->low, 3), " to ",
                 fixed(figure.interval->high, 3));
    }
    return out;
  }

  VerdictBanner verdict() const {
    if (options_.verdict) return redacted(*options_.verdict);
    VerdictBanner out{.standing = Standing::kUnjudged, .word = "Not judged", .sentence = ""};
    for (const SlicingGap& gap : gaps_) {
      if (out.items.size() == 3 || !gap.gap.value) break;
      // A rate that two criteria name is one finding.
      const bool said =
          std::ranges::any_of(out.items, [&](const VerdictItem& item) { return item.what == gap.name(); });
      if (said) continue;
      out.items.push_back({.standing = Standing::kUnjudged,
                           .what = gap.name(),
                           .number = gap.text(given_.options.level),
                           .limit = gap.limit ? shortest(*gap.limit) : "",
                           .link = "fairness"});
    }
    out.sentence = out.items.empty() ? "No gate was asked, and no two slices can be compared."
                                     : cat("No gate was asked. The largest gap is ", out.items[0].what, ": ",
                                           out.items[0].number, ".");
    if (!out.items.empty()) out.items.erase(out.items.begin());
    return out;
  }
  VerdictBanner redacted(VerdictBanner verdict) const {
    for (std::string* text : {&verdict.word, &verdict.sentence, &verdict.next})
      *text = without_names(*text, folded_.hidden);
    for (VerdictItem& item : verdict.items) {
      for (std::string* text : {&item.what, &item.number, &item.limit, &item.next})
        *text = without_names(*text, folded_.hidden);
    }
    return verdict;
  }
  Page page_of(size_t most) const {
    Page out{.title = options_.title,
             .subtitle = cat(options_.subject, options_.subject.empty() ? "" : ": ",
                             grouped(given_.overall.slice.rows), " rows, threshold ", shortest(threshold())),
             .verdict = verdict(),
             .sections = {{"slices", "Slices", slices(most)}, {"fairness", "Fairness", fairness(most)}}};
    if (!given_.overall.histogram.empty())
      out.sections.push_back({"thresholds", "Thresholds", thresholds(most)});
    out.sections.insert(out.sections.end(), options_.sections.begin(), options_.sections.end());
    out.sections.push_back({"definitions", "What the numbers mean", definitions()});
    out.footer = "Made by Espalier from counts: no row is in this file, and it asks no network for anything.";
    return out;
  }

  std::span<const SliceFigures> shown(const SlicingFigures& by, size_t most) const {
    return std::span(by.slices).first(std::min(most, by.slices.size()));
  }
  Html rest(const SlicingFigures& by, size_t most) const {
    if (by.slices.size() <= most) return {};
    const size_t more = by.slices.size() - most;
    std::string names;
    for (size_t i = 0; i < std::min(more, kMostNamed); ++i) {
      names += cat(i == 0 ? "" : "; ", label(by.slices[most + i].slice));
    }
    if (more > kMostNamed) names += cat("; and ", grouped(static_cast<int64_t>(more - kMostNamed)), " more");
    return element("details",
                   element("summary", cat(grouped(static_cast<int64_t>(more)),
                                          " more slices, nearer to all rows, thin or folded, by name")) +
                       element("p", names));
  }

  Html slices(size_t most) const {
    Html out =
        element("p",
                "Dots are values and lines the intervals that hold the true ones; the furthest from all "
                "rows come first. Grey slices have too few rows to say much.");
    for (size_t i = 0; i < given_.by.size(); ++i) {
      const SlicingFigures& by = given_.by[i];
      const std::string id = cat("slices-", i + 1);
      std::vector<ChoicePanel> panels;
      for (const SliceMetric& metric : metrics_)
        panels.push_back({words(metric.name()), dots(metric, by, most)});
      out += element("section", {{"id", id}, {"aria-label", by.name()}},
                     element("h3", element("a", {{"href", cat("#", id)}, {"class", "deep"}}, by.name())) +
                         choice(cat(id, "-metric"), "Metric:", panels) +
                         element("details", element("summary", "All figures as a table") +
                                                figures(cat(id, "-figures"), by, most)) +
                         rest(by, most));
    }
    return out;
  }
  Html dots(const SliceMetric& metric, const SlicingFigures& by, size_t most) const {
    const Figure of_all = figure(metric, given_.overall);
    IntervalChart chart{.caption = cat(words(metric.name()), " = ", metric.formula()),
                        .of_rows = by.name(),
                        .of_values = cat("value, ", level()),
                        .rows = {},
                        .line = of_all.value,
                        .line_name = of_all.value ? cat("all rows ", fixed(*of_all.value, 3)) : ""};
    const std::span<const SliceFigures> slices = shown(by, most);
    const auto key = [&](const SliceFigures& slice) {
      return -std::abs(from_all(metric, slice).value_or(0));
    };
    for (const size_t i : order(slices, key)) {
      const SliceFigures& slice = slices[i];
      const Figure its = figure(metric, slice);
      std::optional<Span> around;
      if (its.interval) around = {its.interval->low, its.interval->high};
      chart.rows.push_back(
          {label(slice.slice), note(slice), its.value, around, title(metric, its), grey(slice)});
    }
    return drawn(chart);
  }
  static HtmlCell cell(std::optional<double> value, int digits = 3) {
    return {.content = value ? fixed(*value, digits) : "-", .number = value, .text = value ? "" : " "};
  }
  static HtmlCell cell(int64_t count) {
    return {.content = grouped(count), .number = static_cast<double>(count)};
  }
  Html figures(const std::string& id, const SlicingFigures& by, size_t most) const {
    HtmlTable table{.id = id,
                    .caption = cat("Every figure by ", by.name()),
                    .columns = {{by.name()},
                                {"metric"},
                                {"value", "", true},
                                {"low", "lower end of the interval", true},
                                {"high", "upper end of the interval", true},
                                {"of rows", "that the metric counts", true},
                                {"from all rows", "value - value of all rows", true}}};
    for (const SliceFigures& slice : shown(by, most)) {
      for (const SliceMetric& metric : metrics_) {
        const Figure its = figure(metric, slice);
        std::optional<double> low, high;
        if (its.interval) low = its.interval->low, high = its.interval->high;
        HtmlCell value = cell(its.value);
        value.title = title(metric, its);
        const std::string style = grey(slice).empty() ? "" : "grey";
        table.rows.push_back({{.content = label(slice.slice), .title = grey(slice), .style = style},
                              {.content = words(metric.name())},
                              value,
                              cell(low),
                              cell(high),
                              cell(its.rows),
                              cell(from_all(metric, slice))});
      }
    }
    return drawn(table);
  }

  Html fairness(size_t most) const {
    Html out = gap_chart() + element("h3", "Slices and metrics") +
               element("p", "Colours and arrows tell how far a value is from that of all rows.") +
               heat_legend("all rows");
    for (size_t i = 0; i < given_.by.size(); ++i) out += heat_map(cat("heat-", i + 1), given_.by[i], most);
    return out;
  }
  Html gap_chart() const {
    IntervalChart chart{.caption =
                            "The rate of the highest slice less that of the lowest, and its interval, which "
                            "does not know that these two were chosen for lying furthest apart. Thin and "
                            "folded slices are left out.",
                        .of_rows = "criterion",
                        .of_values = cat("gap, ", level()),
                        .rows = {}};
    HtmlTable table{.id = "gaps",
                    .caption = "Gaps by criterion",
                    .columns = {{"criterion"},
                                {"slices by"},
                                {"rate"},
                                {"gap", "highest - lowest", true},
                                {"low", "lower end of the interval", true},
                                {"high", "upper end of the interval", true},
                                {"limit", "", true},
                                {"lowest"},
                                {"highest"},
                                {"of rows", "that both rates count", true}}};
    for (const SlicingGap& gap : gaps_) {
      std::optional<Span> around;
      std::optional<double> low, high;
      if (gap.interval)
        around = {gap.interval->low, gap.interval->high}, low = around->low, high = around->high;
      const std::string formula = gap.rate->formula();
      const std::string state = gap.against_limit();
      int64_t rows = 0;
      std::string lowest = "-", highest = "-";
      if (gap.gap.value) {
        const SliceMetric metric(gap.rate->name);
        for (const size_t group : {gap.gap.low, gap.gap.high})
          rows += figure(metric, *gap.groups[group]).rows;
        lowest = label(gap.groups[gap.gap.low]->slice), highest = label(gap.groups[gap.gap.high]->slice);
      }
      if (chart.rows.size() < kMostGaps) {
        chart.rows.push_back(
            {.name = cat(words(gap.criterion->name), ", ", gap.by->name(), ": ", words(gap.rate->name)),
             .note = cat(gap.sides(), state.empty() ? "" : "; ", state),
             .value = gap.gap.value,
             .interval = around,
             .title = cat(formula, ", of ", grouped(rows), " rows"),
             .limit = gap.limit});
      }
      HtmlCell value = cell(gap.gap.value);
      value.title = formula;
      table.rows.push_back({{.content = words(gap.criterion->name)},
                            {.content = gap.by->name()},
                            {.content = words(gap.rate->name)},
                            value,
                            cell(low),
                            cell(high),
                            cell(gap.limit),
                            {.content = lowest},
                            {.content = highest},
                            cell(rows)});
    }
    return element("h3", "Gaps by criterion") + drawn(chart) +
           element("details",
                   element("summary", cat("All ", gaps_.size(), " gaps as a table")) + drawn(table));
  }
  Html heat_map(const std::string& id, const SlicingFigures& by, size_t most) const {
    HtmlTable table{.id = id,
                    .caption = cat("Slices by ", by.name()),
                    .columns = {{by.name()}, {"rows", "", true}, {"positives", "", true}}};
    for (const SliceMetric& metric : metrics_)
      table.columns.push_back({words(metric.name()), metric.formula(), true});
    const auto add = [&](const SliceFigures& slice, const std::string& name) {
      const std::string why = grey(slice);
      const int64_t positives = slice.at[options_.threshold].positives().rows;
      std::vector<HtmlCell> row{{.content = why.empty() ? Html(name) : Html(name) + element("small", why),
                                 .text = name,
                                 .style = why.empty() ? "" : "grey"},
                                cell(slice.slice.rows),
                                cell(positives)};
      for (const SliceMetric& metric : metrics_) {
        const Figure its = figure(metric, slice);
        HtmlCell each = cell(its.value);
        each.title = title(metric, its);
        each.style = why.empty() ? heat(from_all(metric, slice).value_or(0)) : "grey";
        row.push_back(each);
      }
      table.rows.push_back(row);
    };
    add(given_.overall, "all rows");
    for (const SliceFigures& slice : shown(by, most)) add(slice, label(slice.slice));
    return drawn(table) + rest(by, most);
  }

  Html thresholds(size_t most) const {
    std::vector<PanelRate> rates;
    for (const SliceMetric& metric : metrics_) {
      if (!metric.rate() || !metric.rate()->is_proportion()) continue;
      rates.push_back({words(metric.name()), metric.formula(), metric.rate()->fraction.part,
                       metric.rate()->fraction.whole});
    }
    std::vector<ChoicePanel> panels;
    const size_t bytes = kBytesForThresholds / std::max<size_t>(given_.by.size(), 1);
    for (size_t i = 0; i < given_.by.size(); ++i) {
      const SlicingFigures& by = given_.by[i];
      Html panel;
      for (size_t count = most; count > 0; count /= 2) {
        panel = threshold_panel(cat("thresholds-", i + 1), by, rates, count);
        if (panel.markup().size() < bytes) break;
      }
      panels.push_back({by.name(), panel});
    }
    return element(
               "p",
               cat("Move a threshold and the rates follow, from counts of scores in thousandths. A row is "
                   "positive where its score is ",
                   says(),
                   " the threshold. Positives stand above the axis "
                   "and negatives below, each against its highest bar.")) +
           element("noscript", element("p", "This part needs scripts.")) +
           element("div", {{"class", "scripted"}}, choice("thresholds-by", "Slices by:", panels));
  }
  Html threshold_panel(const std::string& id, const SlicingFigures& by, const std::vector<PanelRate>& rates,
                       size_t most) const {
    ThresholdPanel panel{.id = id,
                         .caption = cat("Rates by ", by.name(), " at thresholds of your choice"),
                         .slices = {},
                         .rates = rates,
                         .threshold = threshold(),
                         .level = given_.options.level,
                         .width = normal_width(given_.options.level)};
    for (const SliceFigures& slice : shown(by, most)) {
      PanelSlice& its =
          panel.slices.emplace_back(PanelSlice{label(slice.slice), note(slice), grey(slice), {}});
      for (const LabelTallies& tallies : slice.histogram) {
        auto& bin = its.bins.emplace_back();
        for (const size_t label : {0, 1})
          bin[label] = {tallies[label].rows, tallies[label].weight, tallies[label].squares};
      }
    }
    return drawn(panel) + rest(by, most);
  }

  const char* says() const { return given_.options.positive == Positive::kFrom ? "at or above" : "above"; }
  Html definitions() const {
    HtmlTable table{
        .id = "metrics", .caption = "Metrics", .columns = {{"metric"}, {"formula"}, {"interval"}}};
    for (const SliceMetric& metric : metrics_) {
      const bool share = metric.rate() && metric.rate()->is_proportion();
      table.rows.push_back({{.content = words(metric.name())},
                            {.content = metric.formula()},
                            {.content = share                    ? "Wilson"
                                        : metric.name() == "auc" ? "DeLong"
                                                                 : "none"}});
    }
    const AssessmentOptions& its = given_.options;
    Html facts;
    const auto fact = [&](const std::string& text) { facts += element("li", text); };
    fact(cat(
        "TP, FP, TN, FN: rows that are said positive or negative, rightly (T) or wrongly (F). A row is said "
        "positive where its score is ",
        says(), " ", shortest(threshold()), "."));
    fact(cat(
        "Intervals hold the true number in ", level(),
        " of such samples; of gaps they are Newcombe's. They are not adjusted for looking at many slices. "
        "Rows of different weights count as Kish's effective number."));
    fact("A metric that divides by 0 is undefined and never taken for 0.");
    fact(its.slices.missing == MissingGroup::kSlice
             ? "Rows without a value are a slice of their own, (missing)."
             : "Rows without a value are in no slice.");
    fact(cat("Slices of fewer than ", grouped(its.slices.min_rows), " rows are thin."));
    const auto hidden = static_cast<int64_t>(folded_.hidden.size());
    fact(cat("Slices of fewer than ", options_.k, " rows are not named but folded into ", kRareName,
             ", with as many larger ones as it takes that no subtraction brings them back: ", grouped(hidden),
             hidden == 1 ? " slice here." : " slices here."));
    std::string gone;
    for (const std::string& by : folded_.left_out) gone += cat(gone.empty() ? "" : "; ", by);
    if (!gone.empty()) fact(cat("Nothing is left to show of slices by ", gone, "."));
    return drawn(table) + element("ul", facts);
  }

  const AssessmentPageOptions& options_;
  FoldedAssessment folded_;
  const Assessment& given_;
  std::vector<SliceMetric> metrics_;
  std::vector<SlicingGap> gaps_;
};

}  // namespace

std::string assessment_page(const Assessment& assessment, const AssessmentPageOptions& options) {
  return AssessmentPage(assessment, options).html();
}

}  // namespace espalier
