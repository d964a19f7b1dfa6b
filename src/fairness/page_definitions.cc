#include "base/format.h"
#include "base/shortest.h"
#include "fairness/page_sections.h"

namespace espalier {
namespace {

std::string interval_of(const PageFacts& facts, const SliceMetric& metric) {
  const Resampling& resampling = facts.given().options.resampling;
  const EstimateMetric* estimate = estimate_metric(metric.name());
  const bool drawn = !estimate || !facts.given().has_thresholds();
  if (drawn && resampling.method != IntervalMethod::kClosedForm) return text_of(resampling);
  if (metric.rate() && metric.rate()->is_proportion()) return "Wilson";
  if (metric.name() == "auc") return "DeLong";
  if (!estimate) return "none";
  for (const Estimate& its : facts.given().overall.estimates) {
    if (its.metric == metric.name() && its.share) return "Wilson";
  }
  return "Student's t, by linearisation";
}

std::string of_gaps(const PageFacts& facts) {
  if (facts.given().options.resampling.method != IntervalMethod::kClosedForm) return "of the same draws";
  return facts.given().has_thresholds() ? "Newcombe's" : "Newcombe's of shares, else Welch's";
}

}  // namespace

Html definitions_section(const PageFacts& facts) {
  const Assessment& given = facts.given();
  HtmlTable table{.id = "metrics", .caption = "Metrics", .columns = {{"metric"}, {"formula"}, {"interval"}}};
  for (const SliceMetric& metric : facts.metrics()) {
    table.rows.push_back({{.content = facts.word(metric)},
                          {.content = facts.formula(metric)},
                          {.content = interval_of(facts, metric)}});
  }
  Html out;
  const auto fact = [&](const std::string& text) { out += element("li", text); };
  if (given.has_thresholds()) {
    fact(cat(
        "TP, FP, TN, FN: rows that are said positive or negative, rightly (T) or wrongly (F). A row is said "
        "positive where its score is ",
        given.options.positive == Positive::kFrom ? "at or above" : "above", " ", shortest(facts.threshold()),
        "."));
  } else if (given.overall.matrix.empty()) {
    fact("p is what was predicted, y what is true, w what a row counts.");
  }
  fact(cat("Intervals hold the true number in ", facts.level(), " of such samples; of gaps they are ",
           of_gaps(facts),
           ". They are not adjusted for looking at many slices. "
           "Rows of different weights count as Kish's effective number."));
  fact("A metric that divides by 0 is undefined and never taken for 0.");
  fact(given.options.slices.missing == MissingGroup::kSlice
           ? "Rows without a value are a slice of their own, (missing)."
           : "Rows without a value are in no slice.");
  fact(cat("Slices of fewer than ", grouped(given.options.slices.min_rows), " rows are thin."));
  const auto hidden = static_cast<int64_t>(facts.hidden_slices());
  fact(cat("Slices of fewer than ", facts.options().k, " rows are not named but folded into ", kRareName,
           ", with as many larger ones as it takes that no subtraction brings them back: ", grouped(hidden),
           hidden == 1 ? " slice here." : " slices here."));
  std::string gone;
  for (const std::string& by : facts.left_out()) gone += cat(gone.empty() ? "" : "; ", by);
  if (!gone.empty()) fact(cat("Nothing is left to show of slices by ", gone, "."));
  if (const size_t classes = facts.hidden_classes())
    fact(cat("So are classes of so few rows: ", classes, classes == 1 ? " class here." : " classes here."));
  return drawn(table) + element("ul", out);
}

}  // namespace espalier
