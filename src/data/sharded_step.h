// Steps that work on the shards of a source one by one, so that what a shard gives does not depend on who
// reads the others.
#pragma once

#include "data/dataset_node.h"

namespace espalier {

// A step over one other, whose elements in shards it takes shard by shard. Its iterators give the elements of
// the shards in turn, as a source does.
class ShardedStep : public DatasetStep {
 public:
  ElementIteratorPtr iterate(const DatasetPass& pass) const final;
  DatasetNodePtr read_shards(int64_t count, const std::vector<int64_t>& owned) const final;
  std::optional<ShardedBatches> sharded_batches() const final;

 protected:
  // Over all shards of `input`, if its elements are in some, which no batch() or repeat() has mixed.
  ShardedStep(DatasetNodePtr input, Location at);
  // Over those of `whole` that are `owned`.
  ShardedStep(const ShardedStep& whole, const std::vector<int64_t>& owned);

  // Of the input; 1: there are none.
  int64_t shards() const { return shards_; }
  // The same step over `input`, which has as many shards, or over some shards of this one.
  virtual DatasetNodePtr over(DatasetNodePtr input) const = 0;
  virtual DatasetNodePtr over_some(const std::vector<int64_t>& owned) const = 0;
  // Over an input without shards; and over one shard, whose iterator saves one ShardState and no steps.
  virtual ElementIteratorPtr iterate_all(const DatasetPass& pass) const = 0;
  virtual ElementIteratorPtr iterate_shard(int64_t shard, const DatasetPass& pass) const = 0;

 private:
  DatasetNodePtr whole_;  // the input with all shards
  int64_t shards_ = 1;
  std::vector<int64_t> owned_;
};

// The place of a shard, as the iterator of one saves it.
ShardState state_of_shard(ElementIterator& iterator);
// The place of a shard in the next source of a state. Raises ValueError[dataset.restore] where it is of
// another number of shards, or has none.
const ShardState& place_of_shard(const SourceState& state, int64_t shards, int64_t shard);

}  // namespace espalier
