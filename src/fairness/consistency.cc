#include "fairness/consistency.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/thread_pool.h"
#include "espalier/error.h"

namespace espalier {
namespace {

// Rows whose distances to a row are added up side by side; rows that seek their neighbours in a block at a
// time.
constexpr size_t kBlock = 256, kTile = 64;
constexpr size_t kLeastAsked = 500;

// Features of blocks of rows, [blocks, columns, kBlock]; rows behind the last are far from all others.
std::vector<float> in_blocks(std::span<const float> features, size_t rows, size_t columns) {
  const size_t blocks = (rows + kBlock - 1) / kBlock;
  std::vector<float> out(blocks * columns * kBlock, std::numeric_limits<float>::infinity());
  for (size_t row = 0; row < rows; ++row) {
    float* to = out.data() + row / kBlock * columns * kBlock + row % kBlock;
    for (size_t column = 0; column < columns; ++column)
      to[column * kBlock] = features[row * columns + column];
  }
  return out;
}

// The rows at the least squared distances, the nearest first; of equal ones the first rows.
class Nearest {
 public:
  explicit Nearest(size_t k) : near_(k, {std::numeric_limits<float>::infinity(), 0}) {}
  float bound() const { return near_.back().first; }
  void add(float distance, size_t row) {
    size_t at = near_.size() - 1;
    for (; at > 0 && distance < near_[at - 1].first; --at) near_[at] = near_[at - 1];
    near_[at] = {distance, row};
  }
  double mean(std::span<const uint8_t> said) const {
    double sum = 0;
    for (const auto& [distance, row] : near_) sum += said[row];
    return sum / static_cast<double>(near_.size());
  }

 private:
  std::vector<std::pair<float, size_t>> near_;
};

void add_block(const float* row, const float* block, size_t columns, size_t first, Nearest& nearest) {
  std::array<float, kBlock> distances{};
  for (size_t column = 0; column < columns; ++column) {
    const float value = row[column];
    for (size_t i = 0; i < kBlock; ++i) {
      const float difference = block[column * kBlock + i] - value;
      distances[i] += difference * difference;
    }
  }
  for (size_t i = 0; i < kBlock; ++i) {
    if (distances[i] < nearest.bound()) nearest.add(distances[i], first + i);
  }
}

}  // namespace

Consistency consistency(std::span<const float> features, std::span<const uint8_t> said, size_t neighbours,
                        double most_work) {
  const size_t rows = said.size();
  if (neighbours == 0) throw ValueError("consistency.neighbours", "there must be a neighbour at least");
  if (rows < neighbours)
    throw ValueError("consistency.rows", cat(rows, " rows have no ", neighbours, " nearest"));
  if (features.empty() || features.size() % rows != 0)
    throw ValueError("consistency.rows", cat(features.size(), " features for ", rows, " rows"));
  const size_t columns = features.size() / rows;
  const double work = static_cast<double>(rows) * static_cast<double>(columns);
  const size_t asked = std::min(rows, std::max(kLeastAsked, static_cast<size_t>(most_work / work)));
  const std::vector<float> blocks = in_blocks(features, rows, columns);
  std::vector<double> apart(asked);
  thread_pool().parallel_for(static_cast<int64_t>((asked + kTile - 1) / kTile), [&](int64_t tile) {
    const size_t begin = static_cast<size_t>(tile) * kTile, end = std::min(begin + kTile, asked);
    const auto row_of = [&](size_t i) { return asked == rows ? i : i * rows / asked; };
    std::vector<Nearest> nearest(end - begin, Nearest(neighbours));
    for (size_t first = 0; first < rows; first += kBlock) {
      for (size_t i = begin; i < end; ++i)
        add_block(&features[row_of(i) * columns], &blocks[first * columns], columns, first,
                  nearest[i - begin]);
    }
    for (size_t i = begin; i < end; ++i)
      apart[i] = std::fabs(said[row_of(i)] - nearest[i - begin].mean(said));
  });
  const auto count = static_cast<double>(asked);
  const double mean = std::accumulate(apart.begin(), apart.end(), 0.0) / count;
  Consistency out{.value = 1 - mean, .rows = rows, .asked = asked, .neighbours = neighbours};
  if (asked > 1) {
    double squares = 0;
    for (const double one : apart) squares += (one - mean) * (one - mean);
    const double half = normal_width(kLevel) * std::sqrt(squares / (count - 1) / count);
    out.interval = Interval{std::max(0.0, out.value - half), std::min(1.0, out.value + half)};
  }
  return out;
}

}  // namespace espalier
