// Rows for tests of what is said of scored rows.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/philox.h"
#include "evaluate/scored_rows.h"

namespace espalier {

struct RandomRows {
  std::vector<double> scores, weights;
  std::vector<uint8_t> labels;
  ScoredRows view() const { return {scores, labels, weights}; }
};

// Scores in hundredths, so that many are equal, and higher for positives; some weights are 0.
inline RandomRows random_rows(size_t rows, uint64_t seed, bool weighted = true) {
  Philox random(seed);
  RandomRows out;
  for (size_t i = 0; i < rows; ++i) {
    out.labels.push_back(random.below(3) == 0);
    const float score = random.uniform() * 0.8f + (out.labels.back() ? 0.2f : 0.0f);
    out.scores.push_back(std::round(100 * static_cast<double>(score)) / 100);
    if (weighted) out.weights.push_back(static_cast<double>(random.below(5)) / 2);
  }
  return out;
}

}  // namespace espalier
