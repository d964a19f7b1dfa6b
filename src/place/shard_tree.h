// The one tree by which what logical shards find is added up, whoever owns which: shards [first, last) are
// cut behind the largest power of two that is less than their number.
#pragma once

#include <bit>
#include <optional>
#include <utility>
#include <vector>

namespace espalier {

struct ShardRange {
  int first = 0, last = 0;
  int count() const { return last - first; }
  bool operator==(const ShardRange&) const = default;
};

// REQUIRES: two or more.
inline std::pair<ShardRange, ShardRange> halves(const ShardRange& range) {
  const int cut = range.first + static_cast<int>(std::bit_floor(static_cast<unsigned>(range.count() - 1)));
  return {{range.first, cut}, {cut, range.last}};
}

// The largest parts of the tree over `whole` that lie in `owned`, in order.
inline std::vector<ShardRange> subtrees(const ShardRange& whole, const ShardRange& owned) {
  if (owned.last <= whole.first || whole.last <= owned.first || whole.count() == 0) return {};
  if (owned.first <= whole.first && whole.last <= owned.last) return {whole};
  const auto [left, right] = halves(whole);
  std::vector<ShardRange> out = subtrees(left, owned);
  for (const ShardRange& part : subtrees(right, owned)) out.push_back(part);
  return out;
}

// The sum over `range`: known(part) gives that of a part, and where it gives nothing the part is cut; a shard
// of its own without one adds nothing. both(left, right) adds two.
template <class T, class Known, class Both>
std::optional<T> sum_over(const ShardRange& range, const Known& known, const Both& both) {
  if (std::optional<T> found = known(range)) return found;
  if (range.count() < 2) return std::nullopt;
  const auto [left, right] = halves(range);
  std::optional<T> a = sum_over<T>(left, known, both), b = sum_over<T>(right, known, both);
  if (!a || !b) return a ? std::move(a) : std::move(b);
  return both(std::move(*a), std::move(*b));
}

}  // namespace espalier
