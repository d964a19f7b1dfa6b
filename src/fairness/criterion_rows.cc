#include "fairness/criterion_rows.h"

#include <algorithm>
#include <cmath>

#include "evaluate/multiplicity.h"

namespace espalier {
namespace {

CriterionRow row_of(const Criterion& criterion, const ComparedSlices& compared, size_t threshold,
                    double level) {
  const Groups groups = compared.groups();
  const CriterionGap gap = gap_of(criterion, groups, Measure::kDifference, compared.convention);
  CriterionRow out{.criterion = criterion,
                   .difference = gap.value,
                   .ratio = gap_of(criterion, groups, Measure::kRatio, compared.convention).value};
  if (!gap.value) return out;
  const auto worst =
      std::ranges::max_element(gap.of_rates, {}, [](const Gap& one) { return std::abs(*one.value); });
  out.gap = *worst;
  out.rate = &rate(criterion.rates[static_cast<size_t>(worst - gap.of_rates.begin())]);
  const SliceFigures *low = compared.slices[out.gap.low], *high = compared.slices[out.gap.high];
  if (*out.gap.value < 0) std::swap(low, high);
  out.interval = SliceMetric(out.rate->name).difference(*high, *low, threshold, level).interval;
  return out;
}

}  // namespace

ComparedSlices::ComparedSlices(const Assessment& assessment, const SlicingFigures& by, size_t threshold,
                               const AssessmentView& view)
    : overall(assessment.overall.at[threshold]) {
  const auto reference = view.references.find(by.name());
  for (size_t i = 0; i < by.slices.size(); ++i) {
    const bool is_reference = reference != view.references.end() && reference->second == i;
    if (by.slices[i].slice.thin && !is_reference) continue;
    if (is_reference) convention = {.against = Against::kReference, .reference = slices.size()};
    slices.push_back(&by.slices[i]);
    confusions.push_back(by.slices[i].at[threshold]);
  }
}

CriterionTables criterion_tables(const Assessment& assessment, const AssessmentView& view) {
  CriterionTables out;
  const size_t thresholds = assessment.options.thresholds.size();
  const auto family = static_cast<int64_t>(criteria().size() * thresholds * assessment.by.size());
  Permuting permuting{.seed = assessment.options.resampling.seed};
  permuting.most = std::max(permuting.least, 200 * family);
  std::vector<CriterionRow*> tested;
  for (const SlicingFigures& by : assessment.by) {
    for (size_t t = 0; t < thresholds; ++t) {
      CriterionTable& table =
          out.of.emplace_back(CriterionTable{t, &by, ComparedSlices(assessment, by, t, view), {}});
      for (const Criterion& criterion : criteria()) {
        CriterionRow& row =
            table.rows.emplace_back(row_of(criterion, table.compared, t, assessment.options.level));
        row.by_chance = by_chance(criterion, table.compared.groups(), table.compared.convention, permuting);
      }
    }
  }
  std::vector<double> p;
  for (CriterionTable& table : out.of) {
    for (CriterionRow& row : table.rows) {
      if (!row.by_chance) continue;
      tested.push_back(&row);
      p.push_back(row.by_chance->p);
    }
  }
  const std::vector<double> adjusted = holm(p);
  for (size_t i = 0; i < tested.size(); ++i) tested[i]->adjusted_p = adjusted[i];
  out.tests = tested.size();
  return out;
}

}  // namespace espalier
