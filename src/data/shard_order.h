// Whose turn it is among shards that give their elements in rounds, those that have ended left out.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace espalier {

// Which shards are at work, and how many elements each has given: that decides the order. Process r of many
// follows all shards in one of these to know which rows of a global batch are its own.
class ShardOrder {
 public:
  // A shard that has given so many elements. REQUIRES: it is not there yet.
  void add(int64_t shard, int64_t elements) { turns_.emplace(elements, shard); }
  bool empty() const { return turns_.empty(); }
  // REQUIRES: !empty().
  int64_t shard() const { return turns_.begin()->second; }
  int64_t elements() const { return turns_.begin()->first; }
  // The shard whose turn it is gives an element, or has none.
  void gives();
  void ends() { turns_.erase(turns_.begin()); }

  struct Part {
    int64_t shard, elements;
  };
  // How many of the next `count` >= 0 elements come from each shard, if none ends before; those of none are
  // left out.
  std::vector<Part> parts(int64_t count) const;
  // A shard gives so many of the elements that parts() says; one that gives fewer has ended.
  void gives(const Part& part, int64_t elements);

 private:
  std::set<std::pair<int64_t, int64_t>> turns_;  // elements, shard
};

}  // namespace espalier
