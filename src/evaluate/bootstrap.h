// Poisson's bootstrap of all slices at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "evaluate/replicates.h"
#include "evaluate/score_cells.h"

namespace espalier {

// So many cells tell the order of scores to 1 part in 60,000 of an AUC's variance.
inline constexpr size_t kBootstrapCells = 256;

// [slicings, slices, replicates]. Rows of one weight are counted by cell: the sum of n of Poisson's numbers
// of mean 1 is one of mean n; each slicing is drawn for itself. Rows of different weights are drawn one by
// one, for all slicings together. The same seed gives the same replicates with any number of threads.
// REQUIRES: the cells of each slicing are of these rows.
std::vector<std::vector<std::vector<Replicate>>> bootstrap(const ScoredRows& rows,
                                                           const std::vector<ScoreCells>& slicings,
                                                           size_t replicates, uint64_t seed);

}  // namespace espalier
