#include "evaluate/score_cells.h"

namespace espalier {
namespace {

// The cell of a slice that takes rows.
struct Open {
  uint32_t cell = 0;
  int64_t rows = 0;  // none yet: there is no cell
  double score = 0;
  std::array<double, 2> at_score = {}, below = {};  // weight by label
  double ordered = 0;

  void close_score() {
    ordered += at_score[1] * (below[0] + at_score[0] / 2);
    for (const size_t label : {0, 1}) below[label] += at_score[label];
    at_score = {};
  }
  void close(ScoreCell& into) {
    close_score();
    if (const double pairs = below[0] * below[1]; pairs > 0) into.ordered = ordered / pairs;
    below = {}, ordered = 0, rows = 0;
  }
};

// Puts the cells of each slice beside each other: they begin in the order of their scores.
void sort_by_slice(ScoreCells& out, const std::vector<uint32_t>& slice_of, size_t slices) {
  out.begins.assign(slices + 1, 0);
  for (const uint32_t slice : slice_of) ++out.begins[slice + 1];
  for (size_t i = 0; i < slices; ++i) out.begins[i + 1] += out.begins[i];
  std::vector<size_t> next(out.begins.begin(), out.begins.end() - 1);
  std::vector<uint32_t> places;
  std::vector<ScoreCell> sorted(out.cells.size());
  for (size_t i = 0; i < slice_of.size(); ++i) {
    places.push_back(static_cast<uint32_t>(next[slice_of[i]]++));
    sorted[places.back()] = out.cells[i];
  }
  out.cells = std::move(sorted);
  for (uint32_t& cell : out.of_row) {
    if (cell != ScoreCells::kNone) cell = places[cell];
  }
}

}  // namespace

ScoreCells score_cells(const ScoredRows& rows, std::span<const double> losses,
                       std::span<const uint32_t> order, const PassedThresholds& passed,
                       const Slicing& slicing, size_t most) {
  const size_t slices = slicing.slices.size();
  ScoreCells out{.thresholds = passed.thresholds,
                 .cells = {},
                 .begins = {},
                 .of_row = std::vector<uint32_t>(rows.size(), ScoreCells::kNone)};
  std::vector<Open> open(slices);
  std::vector<uint32_t> slice_of;
  for (const uint32_t row : order) {
    const uint32_t slice = slicing.of_row[row];
    if (slice == Slicing::kNone) continue;
    Open& now = open[slice];
    if (now.rows > 0 && now.score != rows.score(row)) {
      const bool full = now.rows * static_cast<int64_t>(most) >= slicing.slices[slice].rows;
      if (full || out.cells[now.cell].passed != passed.of_row[row])
        now.close(out.cells[now.cell]);
      else
        now.close_score();
    }
    if (now.rows++ == 0) {
      now.cell = static_cast<uint32_t>(out.cells.size());
      out.cells.push_back({.passed = passed.of_row[row]});
      slice_of.push_back(slice);
    }
    const bool positive = rows.positive(row);
    now.score = rows.score(row);
    now.at_score[positive] += rows.weight(row);
    out.cells[now.cell].of[positive].add(now.score, positive, rows.weight(row), losses[row]);
    out.of_row[row] = now.cell;
  }
  for (Open& last : open) {
    if (last.rows > 0) last.close(out.cells[last.cell]);
  }
  sort_by_slice(out, slice_of, slices);
  return out;
}

}  // namespace espalier
