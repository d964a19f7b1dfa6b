// The jackknife that leaves out buckets of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evaluate/replicates.h"
#include "evaluate/score_cells.h"

namespace espalier {

// Slices of at most so many rows are exact.
inline constexpr size_t kJackknifeCells = 1024;

// [slices, buckets]: each slice without the rows of a bucket. REQUIRES: the cells and buckets are of these
// rows, buckets lie below kJackknifeBuckets.
std::vector<std::vector<Replicate>> jackknife(const ScoredRows& rows, const ScoreCells& slicing,
                                              std::span<const uint8_t> buckets);

}  // namespace espalier
