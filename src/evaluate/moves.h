// How far two models predict other numbers of the same rows.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "evaluate/estimate.h"
#include "evaluate/slices.h"

namespace espalier {

// Predictions of numbers, and what is true: columns of one length.
struct PredictedTwice {
  std::span<const double> truths, before, now;
  std::span<const double> weights = {};  // none: 1
  double moved_by = 0;                   // a prediction has moved when it differs by more
};

// A figure of both models, and now - before of the same rows, whose variance is of that difference.
struct PairedChange {
  Estimate before, now, change;
};
struct SliceMoves {
  RowSlice slice;
  Estimate moved;          // the share of rows whose prediction moved, with Wilson's interval
  Estimate move, size;     // the means of now - before and of |now - before|, with Student's t
  PairedChange mae, rmse;  // by linearisation, with Student's t: of mae the paired t test's interval
  double p = 1;            // chance_of_zero() of mae's change
  std::optional<double> adjusted_p = {};  // holm() over slices that are compared()

  bool compared() const { return !slice.thin && mae.change.value; }
  // Whether it is further off than before by more than chance.
  bool lost() const { return adjusted_p && *adjusted_p <= 0.05 && *mae.change.value > 0; }
};
// All rows first, then the slices of each slicing. Raises as slice_by() and NumberRows do.
std::vector<SliceMoves> moves(const PredictedTwice& rows,
                              const std::vector<std::vector<const CategoryColumn*>>& slicings,
                              const SliceOptions& options = {});

}  // namespace espalier
