// Whether decisions hang on an attribute: what they are when it alone is another.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "evaluate/rates.h"
#include "evaluate/slices.h"

namespace espalier {

struct FlipCounts {
  std::string group;  // the value that the rows have
  int64_t rows = 0;
  // Rows of which some other value makes the decision another, and was 0; was not 0.
  int64_t to_positive = 0, to_negative = 0;

  int64_t flips() const { return to_positive + to_negative; }
  // REQUIRES: rows.
  Proportion rate() const;
};
struct Flips {
  FlipCounts overall;
  std::vector<FlipCounts> groups;  // of values that rows have, missing ones last
};
// `said` is the class of each row, of two 1 where it is said to be positive, `said_with` the same for each
// value of the attribute, [values, rows], were it that of every row; a row's own value is passed over. Raises
// ValueError[fairness.flip] for columns of different lengths.
Flips count_flips(std::span<const uint32_t> said, const CategoryColumn& attribute,
                  const std::vector<std::vector<uint32_t>>& said_with);

}  // namespace espalier
