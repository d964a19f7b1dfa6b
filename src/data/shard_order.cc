#include "data/shard_order.h"

#include <algorithm>

#include "data/dataset_node.h"

namespace espalier {

void ShardOrder::gives() {
  auto turn = turns_.extract(turns_.begin());
  ++turn.value().first;
  turns_.insert(std::move(turn));
}

std::vector<ShardOrder::Part> ShardOrder::parts(int64_t count) const {
  std::vector<Part> out;
  if (empty() || count == 0) return out;
  // All elements of rounds before `round` are among them, and some of that one.
  const auto before = [&](int64_t round) {
    int64_t sum = 0;
    for (const auto& [given, shard] : turns_) {
      if (given >= round) break;
      sum = saturating_sum(sum, round - given);
    }
    return sum;
  };
  int64_t round = elements(), beyond = saturating_sum(round, count);
  while (beyond - round > 1) {
    const int64_t middle = round + (beyond - round) / 2;
    (before(middle) <= count ? round : beyond) = middle;
  }
  std::vector<std::pair<int64_t, int64_t>> by_shard;
  for (const auto& [given, shard] : turns_) by_shard.emplace_back(shard, given);
  std::sort(by_shard.begin(), by_shard.end());
  int64_t left = count - before(round);
  for (const auto& [shard, given] : by_shard) {
    const bool one_more = left > 0 && given <= round;
    const int64_t part = std::max<int64_t>(round - given, 0) + one_more;
    left -= one_more;
    if (part > 0) out.push_back({shard, part});
  }
  return out;
}

void ShardOrder::gives(const Part& part, int64_t elements) {
  const auto turn =
      std::find_if(turns_.begin(), turns_.end(), [&](const auto& one) { return one.second == part.shard; });
  const int64_t given = turn->first;
  turns_.erase(turn);
  if (elements == part.elements) add(part.shard, saturating_sum(given, elements));
}

}  // namespace espalier
