#include <algorithm>

#include "base/format.h"
#include "base/shortest.h"
#include "fairness/page_sections.h"
#include "report/table.h"

namespace espalier {
namespace {

constexpr size_t kShown = 3;

VerdictBanner redacted(VerdictBanner verdict, const PageFacts& facts) {
  for (std::string* text : {&verdict.word, &verdict.sentence, &verdict.next})
    *text = facts.without_hidden(*text);
  for (VerdictItem& item : verdict.items) {
    for (std::string* text : {&item.what, &item.number, &item.limit, &item.note, &item.next})
      *text = facts.without_hidden(*text);
  }
  return verdict;
}

VerdictItem item(std::string what, std::string number, std::string limit) {
  return {.standing = Standing::kUnjudged,
          .what = std::move(what),
          .number = std::move(number),
          .limit = std::move(limit),
          .link = "fairness"};
}

std::vector<VerdictItem> largest_gaps(const PageFacts& facts) {
  std::vector<VerdictItem> out;
  for (const SlicingGap& gap : facts.gaps()) {
    if (out.size() == kShown || !gap.gap.value) break;
    // A rate that two criteria name is one finding.
    const bool said =
        std::ranges::any_of(out, [&](const VerdictItem& item) { return item.what == gap.name(); });
    if (said) continue;
    out.push_back(
        item(gap.name(), gap.text(facts.given().options.level), gap.limit ? shortest(*gap.limit) : ""));
  }
  return out;
}

std::vector<VerdictItem> largest_estimate_gaps(const PageFacts& facts) {
  struct Candidate {
    double size;
    const EstimateGap* gap;
    const SlicingFigures* by;
  };
  std::vector<Candidate> all;
  for (const EstimateGaps& gaps : facts.estimate_gaps().of) {
    for (const EstimateGap& gap : gaps.of) {
      if (gap.difference)
        all.push_back({*gap.difference / facts.scale(SliceMetric(gap.metric)), &gap, gaps.by});
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &Candidate::size);
  std::vector<VerdictItem> out;
  for (size_t i = 0; i < std::min(all.size(), kShown); ++i) {
    const EstimateGap& gap = *all[i].gap;
    std::string number = cat("gap ", significant(*gap.difference, 3), ", ", label(gap.low->slice), " to ",
                             label(gap.high->slice));
    if (gap.interval) {
      number += cat(" (", facts.level(), " interval ", significant(gap.interval->low, 3), " to ",
                    significant(gap.interval->high, 3), ")");
    }
    out.push_back(item(cat(facts.word(SliceMetric(gap.metric)), " by ", all[i].by->name()), number, ""));
  }
  return out;
}

}  // namespace

VerdictBanner verdict_of(const PageFacts& facts) {
  if (facts.options().verdict) return redacted(*facts.options().verdict, facts);
  VerdictBanner out{.standing = Standing::kUnjudged, .word = "Not judged", .sentence = ""};
  out.items = facts.given().has_thresholds() ? largest_gaps(facts) : largest_estimate_gaps(facts);
  if (out.items.empty()) {
    out.sentence = "No gate was asked, and no two slices can be compared.";
    return out;
  }
  out.sentence =
      cat("No gate was asked. The largest gap is ", out.items[0].what, ": ", out.items[0].number, ".");
  out.items.erase(out.items.begin());
  return out;
}

}  // namespace espalier
