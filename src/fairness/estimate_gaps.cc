#include "fairness/estimate_gaps.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "evaluate/multiplicity.h"
#include "fairness/rare_slices.h"

namespace espalier {
namespace {

double normal(Philox& random) {
  const double radius = std::sqrt(-2 * std::log1p(-static_cast<double>(random.uniform())));
  return radius * std::cos(2 * std::numbers::pi * static_cast<double>(random.uniform()));
}

// The errors that the values have where all slices are alike.
std::vector<double> errors_of(const std::vector<Estimate>& slices) {
  double part = 0, whole = 0;
  for (const Estimate& slice : slices) {
    part += slice.value.value_or(0) * slice.effective_rows;
    whole += slice.effective_rows;
  }
  const double together = part / whole;
  std::vector<double> out;
  for (const Estimate& slice : slices) {
    if (slice.share) {
      out.push_back(std::sqrt(together * (1 - together) / slice.effective_rows));
    } else if (slice.variance) {
      out.push_back(std::sqrt(*slice.variance));
    } else {
      return {};
    }
  }
  return out;
}

double largest_gap(const std::vector<double>& values, std::optional<size_t> reference) {
  const auto [low, high] = std::ranges::minmax(values);
  return reference ? std::max(values[*reference] - low, high - values[*reference]) : high - low;
}

struct Compared {
  std::vector<const SliceFigures*> slices;
  std::optional<size_t> reference;
};

Compared compared(const SlicingFigures& by, const AssessmentView& view) {
  Compared out;
  const auto reference = view.references.find(by.name());
  for (size_t i = 0; i < by.slices.size(); ++i) {
    const bool is_reference = reference != view.references.end() && reference->second == i;
    if ((by.slices[i].slice.thin || is_fold(by.slices[i].slice)) && !is_reference) continue;
    if (is_reference) out.reference = out.slices.size();
    out.slices.push_back(&by.slices[i]);
  }
  return out;
}

EstimateGap estimate_gap_of(const std::string& name, const Compared& compared, double level,
                            const Permuting& permuting) {
  EstimateGap out{.metric = name};
  const SliceMetric metric(name);
  std::vector<Estimate> estimates;
  std::vector<double> values;
  for (const SliceFigures* slice : compared.slices) {
    estimates.push_back(*std::ranges::find(slice->estimates, name, &Estimate::metric));
    if (!estimates.back().value && !out.undefined) out.undefined = slice;
    values.push_back(estimates.back().value.value_or(0));
  }
  if (out.undefined) return out;
  const auto [least, most] = std::ranges::minmax_element(values);
  size_t low = static_cast<size_t>(least - values.begin()), high = static_cast<size_t>(most - values.begin());
  if (compared.reference) {
    const double base = values[*compared.reference];
    (values[high] - base < base - values[low] ? high : low) = *compared.reference;
  }
  out.low = compared.slices[low], out.high = compared.slices[high];
  const bool turned = compared.reference && high == *compared.reference && low != high;
  const Figure difference = turned ? metric.difference(*out.low, *out.high, 0, level)
                                   : metric.difference(*out.high, *out.low, 0, level);
  out.difference = difference.value;
  out.interval = difference.interval;
  if (values[low] > 0 && estimate_metric(name)->least >= 0)
    out.ratio = turned || !compared.reference ? values[low] / values[high] : values[high] / values[low];
  out.by_chance = by_chance(estimates, std::abs(*out.difference), compared.reference, permuting);
  return out;
}

}  // namespace

std::optional<ByChance> by_chance(const std::vector<Estimate>& slices, double gap,
                                  std::optional<size_t> reference, const Permuting& permuting) {
  constexpr int64_t kEnough = 10;
  const std::vector<double> errors = errors_of(slices);
  if (errors.size() < 2 || std::ranges::max(errors) == 0) return std::nullopt;
  Philox random(permuting.seed, 4);
  std::vector<double> values(errors.size());
  double sum = 0;
  int64_t drawn = 0, as_large = 0;
  while (drawn < permuting.least || (as_large < kEnough && drawn < permuting.most)) {
    for (size_t i = 0; i < errors.size(); ++i) values[i] = errors[i] * normal(random);
    const double one = largest_gap(values, reference);
    sum += one;
    as_large += one >= gap;
    ++drawn;
  }
  return ByChance{sum / static_cast<double>(drawn),
                  static_cast<double>(as_large + 1) / static_cast<double>(drawn + 1)};
}

EstimateGapTables estimate_gaps(const Assessment& assessment, const AssessmentView& view) {
  EstimateGapTables out;
  std::vector<std::string> names;
  for (const Estimate& estimate : assessment.overall.estimates) {
    if (estimate_metric(estimate.metric)->compared) names.push_back(estimate.metric);
  }
  Permuting permuting{.seed = assessment.options.resampling.seed};
  permuting.most = std::max(permuting.least, 200 * static_cast<int64_t>(names.size() * assessment.by.size()));
  for (const SlicingFigures& by : assessment.by) {
    const Compared its = compared(by, view);
    EstimateGaps& gaps = out.of.emplace_back(EstimateGaps{.by = &by, .of = {}});
    if (its.reference) gaps.reference = its.slices[*its.reference];
    if (its.slices.size() < 2) continue;
    for (const std::string& name : names)
      gaps.of.push_back(estimate_gap_of(name, its, assessment.options.level, permuting));
  }
  std::vector<EstimateGap*> tested;
  std::vector<double> p;
  for (EstimateGaps& gaps : out.of) {
    for (EstimateGap& gap : gaps.of) {
      if (!gap.by_chance) continue;
      tested.push_back(&gap);
      p.push_back(gap.by_chance->p);
    }
  }
  const std::vector<double> adjusted = holm(p);
  for (size_t i = 0; i < tested.size(); ++i) tested[i]->adjusted_p = adjusted[i];
  out.tests = tested.size();
  return out;
}

}  // namespace espalier
