#include "evaluate/jackknife.h"

namespace espalier {

std::vector<std::vector<Replicate>> jackknife(const ScoredRows& rows, const ScoreCells& slicing,
                                              std::span<const uint8_t> buckets) {
  constexpr size_t kLanes = kJackknifeBuckets;
  std::vector<double> inside(2 * kLanes * slicing.cells.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    const uint32_t cell = slicing.of_row[row];
    if (cell == ScoreCells::kNone) continue;
    inside[(2 * size_t{cell} + rows.positive(row)) * kLanes + buckets[row]] += rows.weight(row);
  }
  // Each sum adds up its own rows: what is left after a subtraction would be no true 0.
  std::vector<double> others(inside.size());
  for (size_t begin = 0; begin < inside.size(); begin += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      for (size_t other = 0; other < kLanes; ++other)
        others[begin + lane] += other == lane ? 0 : inside[begin + other];
    }
  }
  std::vector<std::vector<Replicate>> out(slicing.begins.size() - 1);
  for (size_t slice = 0; slice < out.size(); ++slice) {
    const auto cells = slicing.of_slice(slice);
    const auto weights =
        std::span(others).subspan(2 * kLanes * slicing.begins[slice], 2 * kLanes * cells.size());
    const auto replicates = replicates_of<kLanes>(cells, slicing.thresholds, weights);
    out[slice].assign(replicates.begin(), replicates.end());
  }
  return out;
}

}  // namespace espalier
