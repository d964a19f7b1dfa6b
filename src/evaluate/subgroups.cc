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
  double squares = 0;                     // of influences

  double error() const {
    double out = 0;
    for (const double each : excess) out += std::abs(each);
    return out / rows.weight;
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
    its.rows.add(rows.weight(row));
    its.excess[bin_of(rows.score(row))] += rows.weight(row) * (rows.score(row) - rows.positive(row));
  }
  std::vector<double> errors;
  for (const Bins& its : all) errors.push_back(its.error());
  for (size_t row = 0; row < rows.size(); ++row) {
    const uint32_t slice = slicing.of_row[row];
    if (slice == Slicing::kNone) continue;
    const double excess = rows.score(row) - rows.positive(row);
    const bool over = all[slice].excess[bin_of(rows.score(row))] > 0;
    const double pull = rows.weight(row) * ((over ? excess : -excess) - errors[slice]);
    all[slice].squares += pull * pull;
  }
  std::vector<Estimate> out;
  for (size_t i = 0; i < all.size(); ++i) {
    Estimate& one = out.emplace_back(Estimate{.metric = "calibration_error"});
    one.rows = all[i].rows.rows;
    one.effective_rows = all[i].rows.effective_rows();
    if (!(all[i].rows.weight > 0)) continue;
    one.value = errors[i];
    one.variance = linear_variance(all[i].squares, all[i].rows);
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
