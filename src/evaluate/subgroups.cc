#include "evaluate/subgroups.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "evaluate/ranking.h"

namespace espalier {
namespace {

constexpr size_t kBins = 10;

size_t bin_of(double score) {
  // Products of tenths are no tenths, quotients are.
  size_t bin = std::min(static_cast<size_t>(score * kBins), kBins - 1);
  if (bin > 0 && score <= static_cast<double>(bin) / kBins) --bin;
  return bin;
}

struct Bins {
  Tally rows;
  std::array<double, kBins> excess = {};  // scores less labels
  // Sums of squared weights times excesses, and times their squares.
  std::array<double, kBins> pulls = {};
  double squares = 0;

  double error() const {
    double out = 0;
    for (const double each : excess) out += std::abs(each);
    return out / rows.weight;
  }
  // Of influences, w (|excess| - error) with the sign of the excess of the row's bin.
  double influences() const {
    const double mean = error();
    double out = squares + mean * mean * rows.squares;
    for (size_t bin = 0; bin < kBins; ++bin) out -= (excess[bin] > 0 ? 2 : -2) * mean * pulls[bin];
    return std::max(out, 0.0);
  }
};

Estimate area(const char* metric, const std::optional<Auc>& auc, int64_t rows) {
  Estimate out{.metric = metric};
  if (auc) out.value = auc->area, out.variance = auc->variance;
  out.rows = rows;
  out.effective_rows = std::numeric_limits<double>::infinity();
  return out;
}

}  // namespace

const std::vector<EstimateMetric>& score_estimate_metrics() {
  static const std::vector<EstimateMetric> table{
      {"calibration_error",
       {"expected_calibration_error", "ece"},
       "sum over ten bins of scores |sum(w (p - y))| / sum(w)",
       0,
       1},
      {"bpsn_auc", {}, "the AUC of positives outside of the slice and its negatives", 0, 1},
      {"bnsp_auc", {}, "the AUC of negatives outside of the slice and its positives", 0, 1},
  };
  return table;
}

std::vector<Estimate> calibration_errors(const ScoredRows& rows, const Slicing& slicing) {
  std::vector<Bins> all(slicing.slices.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    if (slicing.of_row[row] == Slicing::kNone) continue;
    Bins& its = all[slicing.of_row[row]];
    const size_t bin = bin_of(rows.score(row));
    const double weight = rows.weight(row), excess = weight * (rows.score(row) - rows.positive(row));
    its.rows.add(weight);
    its.excess[bin] += excess;
    its.pulls[bin] += weight * excess;
    its.squares += excess * excess;
  }
  std::vector<Estimate> out;
  for (const Bins& its : all) {
    Estimate& one = out.emplace_back(Estimate{.metric = "calibration_error"});
    one.rows = its.rows.rows;
    one.effective_rows = its.rows.effective_rows();
    if (!(its.rows.weight > 0)) continue;
    one.value = its.error();
    one.variance = linear_variance(its.influences(), its.rows);
  }
  return out;
}

std::vector<BackgroundAucs> background_aucs(const ScoredRows& rows, std::span<const uint32_t> order,
                                            const Slicing& slicing) {
  std::vector<BackgroundAucs> out;
  for (uint32_t slice = 0; slice < slicing.slices.size(); ++slice) {
    const auto against = [&](const char* metric, bool positives_inside) {
      Slicing mixed = overall(rows.size());
      int64_t count = 0;
      for (size_t row = 0; row < rows.size(); ++row) {
        const bool inside = slicing.of_row[row] == slice;
        const bool taken = inside == (rows.positive(row) == positives_inside);
        mixed.of_row[row] = taken ? 0 : Slicing::kNone;
        count += taken;
      }
      return area(metric, aucs(rows, order, mixed)[0], count);
    };
    out.push_back({against("bpsn_auc", false), against("bnsp_auc", true)});
  }
  return out;
}

}  // namespace espalier
