#include "evaluate/bootstrap.h"

#include <algorithm>
#include <map>

#include "base/thread_pool.h"
#include "evaluate/poisson.h"

namespace espalier {
namespace {

constexpr size_t kLanes = kReplicateLanes;

bool same_weights(const ScoredRows& rows) {
  for (size_t row = 1; row < rows.size(); ++row) {
    if (rows.weight(row) != rows.weight(0)) return false;
  }
  return true;
}

// What the cells of a slicing weigh in four replicates: [cells, 2 labels, lanes].
using CellWeights = std::vector<double>;

class Drawing {
 public:
  Drawing(const ScoredRows& rows, const std::vector<ScoreCells>& slicings, uint64_t seed)
      : rows_(rows), slicings_(slicings), seed_(seed), by_cell_(same_weights(rows)) {
    if (!by_cell_) return;
    for (const ScoreCells& slicing : slicings) {
      for (const ScoreCell& cell : slicing.cells) {
        for (const ScoreSums& sums : cell.of)
          law_of_.push_back(&laws_.try_emplace(sums.rows.rows, sums.rows.rows).first->second);
      }
    }
  }
  Drawing(const Drawing&) = delete;

  std::vector<CellWeights> weights(size_t block) const {
    std::vector<CellWeights> out;
    for (const ScoreCells& slicing : slicings_) out.emplace_back(2 * kLanes * slicing.cells.size());
    by_cell_ ? draw_cells(out, block) : draw_rows(out, block);
    return out;
  }

 private:
  void draw_cells(std::vector<CellWeights>& out, size_t block) const {
    uint64_t unit = 0;
    for (CellWeights& weights : out) {
      for (size_t i = 0; i < weights.size(); i += kLanes, ++unit) {
        const auto bits = draw(seed_, unit, block, DrawStream::kOfCells);
        for (size_t lane = 0; lane < kLanes; ++lane)
          weights[i + lane] = static_cast<double>((*law_of_[unit])(bits[lane])) * rows_.weight(0);
      }
    }
  }
  void draw_rows(std::vector<CellWeights>& out, size_t block) const {
    const Poisson once(1);
    for (size_t row = 0; row < rows_.size(); ++row) {
      const auto bits = draw(seed_, row, block, DrawStream::kOfRows);
      std::array<double, kLanes> drawn;
      for (size_t lane = 0; lane < kLanes; ++lane)
        drawn[lane] = static_cast<double>(once(bits[lane])) * rows_.weight(row);
      for (size_t i = 0; i < slicings_.size(); ++i) {
        const uint32_t cell = slicings_[i].of_row[row];
        if (cell == ScoreCells::kNone) continue;
        double* into = &out[i][(2 * size_t{cell} + rows_.positive(row)) * kLanes];
        for (size_t lane = 0; lane < kLanes; ++lane) into[lane] += drawn[lane];
      }
    }
  }

  const ScoredRows& rows_;
  const std::vector<ScoreCells>& slicings_;
  uint64_t seed_;
  bool by_cell_;
  std::map<int64_t, Poisson> laws_;     // by how many rows there are
  std::vector<const Poisson*> law_of_;  // of each cell and label, all slicings one after another
};

}  // namespace

std::vector<std::vector<std::vector<Replicate>>> bootstrap(const ScoredRows& rows,
                                                           const std::vector<ScoreCells>& slicings,
                                                           size_t replicates, uint64_t seed) {
  std::vector<std::vector<std::vector<Replicate>>> out;
  for (const ScoreCells& slicing : slicings)
    out.emplace_back(slicing.begins.size() - 1, std::vector<Replicate>(replicates));
  const Drawing drawing(rows, slicings, seed);
  thread_pool().parallel_for(static_cast<int64_t>((replicates + kLanes - 1) / kLanes), [&](int64_t chunk) {
    const auto block = static_cast<size_t>(chunk);
    const std::vector<CellWeights> weights = drawing.weights(block);
    for (size_t i = 0; i < slicings.size(); ++i) {
      for (size_t slice = 0; slice < out[i].size(); ++slice) {
        const auto cells = slicings[i].of_slice(slice);
        const auto of_slice =
            std::span(weights[i]).subspan(2 * kLanes * slicings[i].begins[slice], 2 * kLanes * cells.size());
        auto drawn = replicates_of<kLanes>(cells, slicings[i].thresholds, of_slice);
        for (size_t lane = 0; lane < kLanes && block * kLanes + lane < replicates; ++lane)
          out[i][slice][block * kLanes + lane] = std::move(drawn[lane]);
      }
    }
  });
  return out;
}

}  // namespace espalier
