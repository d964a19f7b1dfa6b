// Whether rows that are alike are decided alike.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "evaluate/intervals.h"

namespace espalier {

struct Consistency {
  // 1 where each row is decided as its nearest are.
  double value = 0;
  // From how much rows differ; none of one row.
  std::optional<Interval> interval = {};
  size_t rows = 0;
  // Rows whose neighbours were sought, evenly spread over all: all of them, unless that is too much work.
  size_t asked = 0;
  size_t neighbours = 0;
};

// 1 - the mean over rows of |said - the mean of what is said of the k nearest rows|: Zemel et al., Learning
// fair representations, 2013, as AIF360 has it: a row is one of its own nearest, distances are Euclidean. Of
// rows equally near the first count. `features` [rows, columns] are finite and of like scale; `said` are 0 or
// 1. `neighbours` are the default of AIF360. Raises ValueError: consistency.rows where rows are fewer than
// neighbours or features are not of as many rows, consistency.neighbours for 0. `most_work` is how many
// differences of features are computed, ten seconds of a core; at least 500 rows are asked.
Consistency consistency(std::span<const float> features, std::span<const uint8_t> said, size_t neighbours = 5,
                        double most_work = 4e10);

}  // namespace espalier
