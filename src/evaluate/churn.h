// What two models decide differently of the same rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "evaluate/estimate.h"
#include "evaluate/slices.h"

namespace espalier {

// Decisions, and what is true: columns of one length, places among the same classes.
struct DecidedTwice {
  std::span<const uint32_t> truths, before, now;
  std::span<const double> weights = {};  // none: 1
};

struct SliceChurn {
  RowSlice slice;
  Estimate changed;               // the share of rows that are decided otherwise, with Wilson's interval
  Estimate before, now;           // accuracies
  Estimate gain;                  // now - before of the same rows, with Student's t of their differences
  int64_t better = 0, worse = 0;  // rows that are right now alone, and that were right before alone
  // How often chance makes rows so unequally better and worse: McNemar, Note on the sampling error of the
  // difference between correlated proportions, 1947, by the binomial law; weights do not count.
  double p = 1;
  std::optional<double> adjusted_p = {};  // holm() over slices that are compared()

  bool compared() const { return !slice.thin && gain.value; }
  // Whether it is less right than before by more than chance.
  bool lost() const { return adjusted_p && *adjusted_p <= 0.05 && *gain.value < 0; }
};
// All rows first, then the slices of each slicing. Raises as slice_by() does, and ValueError[evaluate.rows]
// for columns of different lengths, evaluate.weight.
std::vector<SliceChurn> churn(const DecidedTwice& rows,
                              const std::vector<std::vector<const CategoryColumn*>>& slicings,
                              const SliceOptions& options = {});

// The two-sided chance that so many of `better + worse` equal coins, or fewer, fall on the rarer side.
double sign_test(int64_t better, int64_t worse);

}  // namespace espalier
