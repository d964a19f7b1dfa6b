#include "fairness/slicing_gaps.h"

#include <algorithm>
#include <span>
#include <tuple>

#include "base/format.h"
#include "base/shortest.h"
#include "evaluate/multiplicity.h"
#include "fairness/rare_slices.h"
#include "report/table.h"

namespace espalier {

std::string words(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '_', ' ');
  return out;
}

std::string label(const RowSlice& slice) {
  std::string out;
  for (const std::string& value : slice.values) out += cat(out.empty() ? "" : ", ", value);
  return out;
}

std::string SlicingGap::name() const { return cat(words(rate->name), " by ", by->name()); }

std::string SlicingGap::sides() const {
  if (!gap.value) return groups.size() < 2 ? "fewer than two slices to compare" : "undefined";
  return cat(label(groups[gap.low]->slice), " ", fixed(low, 3), " to ", label(groups[gap.high]->slice), " ",
             fixed(high, 3));
}

std::string SlicingGap::text(double level) const {
  if (!gap.value) return sides();
  std::string out = cat("gap ", fixed(*gap.value, 3), ", ", sides());
  if (interval) {
    out += cat(" (", shortest(100 * level), " % interval ", fixed(interval->low, 3), " to ",
               fixed(interval->high, 3), ")");
  }
  return out;
}

std::string SlicingGap::against_limit() const {
  if (!limit || !gap.value) return "";
  const bool straddles = interval && interval->low <= *limit && *limit < interval->high;
  return cat(*gap.value > *limit ? "over" : "within", " the limit ", shortest(*limit),
             straddles ? ", which the interval straddles" : "");
}

namespace {

void adjust(std::vector<SlicingGap>& gaps) {
  std::vector<SlicingGap*> tested;
  std::vector<double> p;
  for (SlicingGap& gap : gaps) {
    if (!gap.by_chance) continue;
    tested.push_back(&gap);
    p.push_back(gap.by_chance->p);
  }
  const std::vector<double> adjusted = holm(p);
  for (size_t i = 0; i < tested.size(); ++i) tested[i]->adjusted_p = adjusted[i];
}

}  // namespace

std::vector<SlicingGap> slicing_gaps(const Assessment& assessment, size_t threshold,
                                     const std::vector<CriterionLimit>& asked) {
  std::vector<SlicingGap> out;
  Permuting permuting{.least = 499, .most = 999, .seed = assessment.options.resampling.seed};
  // So many that an adjusted p can be 0.02; with more of them a page of many slices took its time.
  permuting.most = std::max(permuting.most, 50 * std::ssize(asked) * std::ssize(assessment.by));
  const bool resampled = assessment.options.resampling.method != IntervalMethod::kClosedForm;
  for (const SlicingFigures& by : assessment.by) {
    std::vector<const SliceFigures*> slices;
    std::vector<Confusion> confusions;
    for (const SliceFigures& slice : by.slices) {
      if (slice.slice.thin || is_fold(slice.slice)) continue;
      slices.push_back(&slice);
      confusions.push_back(slice.at[threshold]);
    }
    const Groups groups{confusions, assessment.overall.at[threshold]};
    for (const CriterionLimit& each : asked) {
      const Criterion& its = criterion(each.criterion);
      const CriterionGap found = gap_of(its, groups);
      for (size_t i = 0; i < its.rates.size(); ++i) {
        SlicingGap& gap = out.emplace_back(SlicingGap{.by = &by,
                                                      .criterion = &its,
                                                      .rate = &rate(its.rates[i]),
                                                      .limit = each.limit,
                                                      .groups = slices,
                                                      .gap = found.of_rates[i]});
        if (!gap.gap.value) continue;
        gap.low = *(*gap.rate)(confusions[gap.gap.low]), gap.high = *(*gap.rate)(confusions[gap.gap.high]);
        gap.interval = resampled ? SliceMetric(gap.rate->name)
                                       .difference(*slices[gap.gap.high], *slices[gap.gap.low], threshold,
                                                   assessment.options.level)
                                       .interval
                                 : interval(gap.gap, *gap.rate, groups, assessment.options.level);
      }
      const auto rates = std::span(out).last(its.rates.size());
      std::ranges::max_element(rates, {}, [](const SlicingGap& gap) {
        return gap.gap.value.value_or(-1);
      })->by_chance = by_chance(its, groups, {}, permuting);
    }
  }
  adjust(out);
  std::ranges::stable_sort(out, {}, [](const SlicingGap& gap) {
    const double over = gap.gap.value.value_or(0) - gap.limit.value_or(0);
    return std::tuple(!gap.gap.value, !gap.limit, -over);
  });
  return out;
}

}  // namespace espalier
