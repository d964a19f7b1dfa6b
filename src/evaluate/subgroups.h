// What scores say of a slice against the rows outside of it, and how far they are from shares.
#pragma once

#include <span>
#include <vector>

#include "evaluate/estimate.h"
#include "evaluate/scored_rows.h"
#include "evaluate/slices.h"

namespace espalier {

// calibration_error, bpsn_auc, bnsp_auc.
const std::vector<EstimateMetric>& score_estimate_metrics();

// The expected calibration error of each slice, in ten bins of equal width that hold their upper edge, as in
// scikit-learn's calibration_curve: Naeini, Cooper, Hauskrecht, Obtaining well calibrated probabilities using
// Bayesian binning, 2015. It is never below 0, so that few rows raise it. REQUIRES: scores in [0, 1]; the
// slices are of these rows.
std::vector<Estimate> calibration_errors(const ScoredRows& rows, const Slicing& slicing);

// Of each slice the AUC of positives outside of it and its negatives (background positive, subgroup
// negative), and of negatives outside of it and its positives, with DeLong's variance: Borkan and others,
// Nuanced metrics for measuring unintended bias with real data for text classification, 2019. Two slices
// share what is outside of both, which moves both the same way: an interval of their difference is too wide
// rather than too narrow. `order` is order_by_score's. REQUIRES: all three are of the same rows.
struct BackgroundAucs {
  Estimate bpsn, bnsp;
};
std::vector<BackgroundAucs> background_aucs(const ScoredRows& rows, std::span<const uint32_t> order,
                                            const Slicing& slicing);

}  // namespace espalier
