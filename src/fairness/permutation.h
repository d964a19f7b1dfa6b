// Gaps between groups that do not differ.
#pragma once

#include <cstdint>
#include <optional>

#include "base/philox.h"
#include "fairness/criteria.h"

namespace espalier {

// How many of `drawn` things, taken from `total` of which some are `marked`, are marked: the hypergeometric
// law.
class Hypergeometric {
 public:
  // REQUIRES: 0 <= marked, drawn <= total.
  Hypergeometric(int64_t total, int64_t marked, int64_t drawn);
  int64_t operator()(Philox& random) const;

 private:
  int64_t total_, marked_, drawn_, least_, most_, mode_;
  double chance_;  // of the mode
};

struct Permuting {
  int64_t least = 999;   // permutations
  int64_t most = 99999;  // where fewer than ten of them have so large a gap
  uint64_t seed = 0;
};
struct ByChance {
  double expected = 0;  // the mean gap of permutations: the lowest and the highest always differ
  double p = 1;         // the share of permutations, these rows among them, whose gap is as large
};
// Of the size of a criterion's gap. The rows of each rate's denominator change groups at random, and as many
// stay in each; weighted rows count as Kish's effective number. None where the gap has no value, of rates
// that are no shares of rows, and against all rows or the rest.
std::optional<ByChance> by_chance(const Criterion& criterion, const Groups& groups,
                                  const Convention& convention = {}, const Permuting& permuting = {});

}  // namespace espalier
