#include <algorithm>

#include "data/element_store.h"
#include "data/sharded_step.h"

namespace espalier {
namespace {

// Of a store where a whole pass is in it; else of the input, on the way into the store.
class Cached : public ElementIterator {
 public:
  Cached(const DatasetNode& input, const DatasetPass& pass, std::shared_ptr<ElementStore> store,
         const StoredShard& shard)
      : input_node_(input), pass_(pass), store_(std::move(store)), shard_(shard) {}

  bool next(Tensors& element) override {
    begin();
    if (stored_) {
      if (now_ == stored_->size()) return false;
      element = stored_->at(now_++);
      return true;
    }
    if (!input_) return false;
    if (!input_->next(element)) {
      filled_->end();
      input_.reset();
      return false;
    }
    filled_->add(element);
    ++now_;
    return true;
  }
  int64_t skip(int64_t count) override {
    begin();
    if (!stored_) return ElementIterator::skip(count);
    const int64_t skipped = std::min(count, stored_->size() - now_);
    now_ += skipped;
    return skipped;
  }
  void save(DatasetCursor& out) override { out.steps.push_back(now_); }
  void restore(CursorReader& from) override {
    go_to(from.number("cache", 0, std::numeric_limits<int64_t>::max()));
  }

 protected:
  int64_t now() const { return now_; }
  // What is before is read where it is not stored: the store is to have it.
  void go_to(int64_t number) { require_restored("what cache() holds", number, skip(number)); }
  const StoredShard& shard() const { return shard_; }

 private:
  void begin() {
    if (std::exchange(begun_, true)) return;
    stored_ = store_->find(shard_);
    if (stored_) return;
    input_ = input_node_.iterate(pass_);
    filled_ = store_->fill(shard_);
  }

  const DatasetNode& input_node_;
  const DatasetPass pass_;
  const std::shared_ptr<ElementStore> store_;
  const StoredShard shard_;
  bool begun_ = false;
  std::unique_ptr<StoredElements> stored_;
  ElementIteratorPtr input_;  // null at its end
  std::unique_ptr<ElementsToStore> filled_;
  int64_t now_ = 0;
};

class CachedShard final : public Cached {
 public:
  using Cached::Cached;
  void save(DatasetCursor& out) override {
    out.sources.push_back({shard().count, {ShardState{shard().index, now()}}});
  }
  void restore(CursorReader& from) override {
    go_to(place_of_shard(from.source(), shard().count, shard().index).elements);
  }
};

class CacheNode final : public ShardedStep {
 public:
  CacheNode(DatasetNodePtr input, std::shared_ptr<ElementStore> store, Location at)
      : ShardedStep(std::move(input), at), store_(std::move(store)) {
    describe();
  }
  CacheNode(const CacheNode& whole, const std::vector<int64_t>& owned)
      : ShardedStep(whole, owned), store_(whole.store_) {
    describe();
  }
  std::string text() const override { return input().text() + ".cache()"; }

 protected:
  DatasetNodePtr over(DatasetNodePtr input) const override {
    return std::make_shared<CacheNode>(std::move(input), store_, at());
  }
  DatasetNodePtr over_some(const std::vector<int64_t>& owned) const override {
    return std::make_shared<CacheNode>(*this, owned);
  }
  ElementIteratorPtr iterate_all(const DatasetPass& pass) const override {
    return iterate_as<Cached>({0, 1}, pass);
  }
  ElementIteratorPtr iterate_shard(int64_t shard, const DatasetPass& pass) const override {
    return iterate_as<CachedShard>({shard, shards()}, pass);
  }

 private:
  void describe() {
    mark("cache");
    fix_passes();
  }
  // Whichever pass comes first, it is the same one that is stored, so that a run that goes on in another
  // process has the same elements.
  template <class Iterator>
  ElementIteratorPtr iterate_as(StoredShard shard, const DatasetPass& pass) const {
    if (input().follows_seed()) shard.seed = pass.seed;
    return std::make_unique<Iterator>(input(), DatasetPass{pass.seed, 0, pass.seeks}, store_, shard);
  }

  std::shared_ptr<ElementStore> store_;
};

}  // namespace

Dataset Dataset::cache(const std::string& folder, Location at) const {
  const CallScope scope(at);
  if (node()->cardinality() == kInfinite)
    throw ValueError("cache.dataset", cat(node()->text(), " has no end, and a whole pass is kept"),
                     "cache() before repeat()");
  return make<CacheNode>(node(), folder.empty() ? store_in_memory() : store_in_folder(folder, node()), at);
}

}  // namespace espalier
