#include "data/sharded_step.h"

#include <algorithm>
#include <numeric>

#include "data/dataset_source.h"
#include "data/shard_order.h"

namespace espalier {
namespace {

// What several shards give in turn.
class InTurn final : public ElementIterator {
 public:
  InTurn(int64_t shards, const std::vector<int64_t>& owned, std::vector<DatasetNodePtr> nodes,
         const DatasetPass& pass)
      : shards_(shards), owned_(owned), nodes_(std::move(nodes)) {
    for (size_t i = 0; i < owned_.size(); ++i) {
      open_.push_back(nodes_[i]->iterate(pass));
      order_.add(owned_[i], 0);
    }
  }

  bool next(Tensors& element) override {
    while (!order_.empty()) {
      if (of(order_.shard()).next(element)) {
        order_.gives();
        return true;
      }
      order_.ends();
    }
    return false;
  }
  int64_t skip(int64_t count) override {
    int64_t skipped = 0;
    while (skipped < count && !order_.empty()) {
      for (const ShardOrder::Part& part : order_.parts(count - skipped)) {
        const int64_t passed = of(part.shard).skip(part.elements);
        order_.gives(part, passed);
        skipped += passed;
      }
    }
    return skipped;
  }

  void save(DatasetCursor& out) override {
    SourceState& state = out.sources.emplace_back();
    state.shards = shards_;
    for (const ElementIteratorPtr& iterator : open_) state.owned.push_back(state_of_shard(*iterator));
  }
  void restore(CursorReader& from) override {
    const SourceState& state = from.source();
    order_ = {};
    for (size_t i = 0; i < owned_.size(); ++i) {
      const ShardState& place = place_of_shard(state, shards_, owned_[i]);
      const DatasetState own{.sources = {{shards_, {place}}}};
      CursorReader reader(own);
      open_[i]->restore(reader);
      order_.add(owned_[i], place.elements);
    }
  }

 private:
  ElementIterator& of(int64_t shard) {
    return *open_[static_cast<size_t>(std::ranges::lower_bound(owned_, shard) - owned_.begin())];
  }

  const int64_t shards_;
  const std::vector<int64_t> owned_;
  const std::vector<DatasetNodePtr> nodes_;
  std::vector<ElementIteratorPtr> open_;
  ShardOrder order_;
};

}  // namespace

ShardedStep::ShardedStep(DatasetNodePtr input, Location at) : DatasetStep(input, at), whole_(input) {
  const std::optional<ShardedBatches> parts = input->sharded_batches();
  if (parts && parts->batch == 0 && parts->repeats.empty()) shards_ = parts->source->format().shards;
  owned_.resize(static_cast<size_t>(shards_));
  std::iota(owned_.begin(), owned_.end(), int64_t{0});
}

ShardedStep::ShardedStep(const ShardedStep& whole, const std::vector<int64_t>& owned)
    : DatasetStep(whole.whole_->read_shards(whole.shards_, owned), whole.at()),
      whole_(whole.whole_),
      shards_(whole.shards_),
      owned_(owned) {}

ElementIteratorPtr ShardedStep::iterate(const DatasetPass& pass) const {
  if (shards_ == 1) return iterate_all(pass);
  if (owned_.size() == 1) return iterate_shard(owned_[0], pass);
  std::vector<DatasetNodePtr> nodes;
  for (const int64_t shard : owned_) nodes.push_back(over_some({shard}));
  return std::make_unique<InTurn>(shards_, owned_, std::move(nodes), pass);
}

DatasetNodePtr ShardedStep::read_shards(int64_t count, const std::vector<int64_t>& owned) const {
  if (shards_ == 1 || std::cmp_not_equal(owned_.size(), shards_))
    return DatasetNode::read_shards(count, owned);
  // It says what is wrong with another number.
  if (count != shards_) return whole_->read_shards(count, owned);
  return over_some(owned);
}

std::optional<ShardedBatches> ShardedStep::sharded_batches() const {
  std::optional<ShardedBatches> out = whole_->sharded_batches();
  if (shards_ == 1 || std::cmp_not_equal(owned_.size(), shards_)) return std::nullopt;
  out->elements = over(out->elements);
  return out;
}

ShardState state_of_shard(ElementIterator& iterator) {
  DatasetCursor cursor;
  iterator.save(cursor);
  return cursor.sources.at(0).owned.at(0);
}

const ShardState& place_of_shard(const SourceState& state, int64_t shards, int64_t shard) {
  constexpr int64_t kMostElements = int64_t{1} << 62;
  if (state.shards != shards)
    throw ValueError("dataset.restore",
                     cat("the state is of a source in ", state.shards, " shards, and here are ", shards));
  const auto found = std::ranges::find(state.owned, shard, &ShardState::shard);
  if (found == state.owned.end() || found->elements < 0 || found->elements > kMostElements)
    throw ValueError("dataset.restore", cat("the state has no place for shard ", shard, " of ", shards));
  return *found;
}

}  // namespace espalier
