#include "evaluate/thresholds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "base/shortest.h"
#include "base/thread_pool.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr size_t kMostThresholds = std::numeric_limits<uint16_t>::max();

}  // namespace

PassedThresholds pass_thresholds(const ScoredRows& rows, std::span<const double> thresholds,
                                 Positive positive) {
  if (thresholds.empty() || thresholds.size() > kMostThresholds) {
    throw ValueError("evaluate.thresholds",
                     cat("from 1 to ", kMostThresholds, " thresholds, got ", thresholds.size()));
  }
  for (size_t i = 0; i < thresholds.size(); ++i) {
    if (std::isnan(thresholds[i]) || (i > 0 && !(thresholds[i - 1] < thresholds[i]))) {
      throw ValueError("evaluate.thresholds",
                       cat("thresholds ascend: threshold ", i, " is ", shortest(thresholds[i]),
                           i == 0 ? "" : " after ", i == 0 ? "" : shortest(thresholds[i - 1])));
    }
  }
  PassedThresholds out{thresholds.size(), std::vector<uint16_t>(rows.size())};
  for_each_range(rows.size(), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const auto first_above = std::ranges::partition_point(
          thresholds, [&](double threshold) { return says_positive(rows.score(row), threshold, positive); });
      out.of_row[row] = static_cast<uint16_t>(first_above - thresholds.begin());
    }
  });
  return out;
}

std::vector<LabelTallies> tallies(const ScoredRows& rows, const PassedThresholds& passed,
                                  const Slicing& slicing) {
  const size_t bins = passed.thresholds + 1;
  std::vector<LabelTallies> out(slicing.slices.size() * bins);
  for (size_t row = 0; row < rows.size(); ++row) {
    const uint32_t slice = slicing.of_row[row];
    if (slice == Slicing::kNone) continue;
    out[slice * bins + passed.of_row[row]][rows.positive(row)].add(rows.weight(row));
  }
  return out;
}

std::vector<Confusion> confusions(std::span<const LabelTallies> by_passed) {
  const size_t thresholds = by_passed.size() - 1;
  std::vector<Confusion> out(thresholds);
  // Each sum adds up its own rows: what is left after a subtraction would be no true 0.
  LabelTallies said, unsaid;
  for (size_t i = 0; i < thresholds; ++i) {
    out[i][kTrueNegative] = unsaid[0] += by_passed[i][0];
    out[i][kFalseNegative] = unsaid[1] += by_passed[i][1];
  }
  for (size_t i = thresholds; i-- > 0;) {
    out[i][kFalsePositive] = said[0] += by_passed[i + 1][0];
    out[i][kTruePositive] = said[1] += by_passed[i + 1][1];
  }
  return out;
}

std::vector<Confusion> confusions(const ScoredRows& rows, const PassedThresholds& passed,
                                  const Slicing& slicing) {
  const size_t bins = passed.thresholds + 1;
  const std::vector<LabelTallies> by_passed = tallies(rows, passed, slicing);
  std::vector<Confusion> out;
  for (size_t slice = 0; slice < slicing.slices.size(); ++slice) {
    const std::vector<Confusion> of_slice = confusions(std::span(by_passed).subspan(slice * bins, bins));
    out.insert(out.end(), of_slice.begin(), of_slice.end());
  }
  return out;
}

}  // namespace espalier
