// How one step of a dataset makes its elements.
#pragma once

#include <atomic>
#include <limits>

#include "base/format.h"
#include "base/hash.h"
#include "data/dataset_cursor.h"

namespace espalier {

// Goes over the elements of one pass.
class ElementIterator {
 public:
  virtual ~ElementIterator() = default;
  // False at the end, and then always.
  virtual bool next(Tensors& element) = 0;
  // Passes over so many elements, and says how many there were. REQUIRES: count >= 0.
  virtual int64_t skip(int64_t count);
  // Adds the place of the next element. Not called behind an error.
  virtual void save(DatasetCursor& out) = 0;
  // Goes there. REQUIRES: nothing was asked of this iterator, and it is of the same pass.
  virtual void restore(CursorReader& from) = 0;
};
using ElementIteratorPtr = std::unique_ptr<ElementIterator>;

// What the order of elements follows from.
struct DatasetPass {
  uint64_t seed;    // of shuffles that have none
  uint64_t number;  // of the pass
  // Whether save() may be called at any time, also of what is ahead of its caller: there is a source in the
  // dataset that finds its place.
  bool seeks;
};

class DatasetNode;
class SourceNode;
using DatasetNodePtr = std::shared_ptr<const DatasetNode>;

// A dataset of what the shards of a source give, perhaps in batches, taken apart for readers that share it
// out (dataset_shards.h).
struct ShardedBatches {
  struct Repeat {
    int64_t count;    // < 0: without end
    bool of_batches;  // else of elements
    int64_t size;     // what is known of a pass: so many of them, or -1
  };
  std::shared_ptr<const SourceNode> source;
  DatasetNodePtr elements;           // one pass over them
  std::vector<Repeat> repeats = {};  // the outermost first
  int64_t batch = 0;                 // elements of one; 0: there is no batch()
  bool drops = false;                // a last one with fewer
  std::function<Tensors(const std::vector<Tensors>&)> join = {};
};

class DatasetNode {
 public:
  // Raises UnsupportedError[dataset.depth] before the stack of what recurses over nodes could end, or the
  // time.
  DatasetNode(const std::vector<const DatasetNode*>& inputs, Location at);
  virtual ~DatasetNode() = default;
  // REQUIRES: the node outlives the iterator.
  virtual ElementIteratorPtr iterate(const DatasetPass& pass) const = 0;
  virtual int64_t cardinality() const = 0;
  // As to_string(Dataset) gives it.
  virtual std::string text() const = 0;
  // What Dataset::read_shards gives. REQUIRES: `owned` is sorted and in [0, count), each once.
  virtual DatasetNodePtr read_shards(int64_t count, const std::vector<int64_t>& owned) const;
  // Nothing where the elements of shards are mixed, or there are none.
  virtual std::optional<ShardedBatches> sharded_batches() const { return std::nullopt; }

  static const DatasetNodePtr& of(const Dataset& dataset) { return dataset.node(); }

  // Whether passes may differ in the order of their elements, and in their number.
  bool order_varies() const { return order_varies_; }
  bool count_varies() const { return count_varies_; }
  // Whether there is a source that finds its place without going through what is before.
  bool seeks() const { return seeks_; }
  // Whether it is one worker's own data, where others have others.
  bool per_worker() const { return per_worker_; }
  // Whether orders follow the seed of the iterator.
  bool follows_seed() const { return follows_seed_; }
  // The nodes on the longest way to a source.
  int64_t depth() const { return depth_; }
  // A hash of the steps, their numbers and the seeds of shuffles: what a saved place is a place in. Neither
  // prefetch() nor which shards are read is part of it; not 0.
  uint64_t layout() const { return layout_ ? layout_ : 1; }
  // A hash of rows in memory, and of the names, sizes and times of files, as they are now. Of sources and
  // generators of the user's own, and of functions, there is none.
  uint64_t contents() const;
  // Raises ValueError[dataset.restore] for a state that says another one.
  void require_layout(const DatasetState& state) const;
  Location at() const { return at_; }
  // Of input `i` of several: shuffles without seeds in two of them have orders of their own.
  DatasetPass pass_of_input(const DatasetPass& pass, size_t i) const {
    if (i == 0) return pass;
    const uint64_t here = hash_combine(pass.seed, static_cast<uint64_t>(depth_));
    return {hash_combine(here, i), pass.number, pass.seeks};
  }
  uint64_t next_iteration() const { return iterations_.fetch_add(1, std::memory_order_relaxed); }

 protected:
  void vary_order() { order_varies_ = true; }
  void vary_count() { count_varies_ = true; }
  void make_seekable() { seeks_ = true; }
  // Behind what gives the same in every pass.
  void fix_passes() { order_varies_ = count_varies_ = false; }
  void be_per_worker() { per_worker_ = true; }
  void follow_seed() { follows_seed_ = true; }
  // Its own part of contents().
  virtual uint64_t own_contents() const { return 0; }
  // Says which step it is, for layout().
  void mark(std::string_view step, std::initializer_list<int64_t> numbers = {}) {
    layout_ = hash_combine(layout_, hash_text(step));
    for (const int64_t number : numbers) layout_ = hash_combine(layout_, static_cast<uint64_t>(number));
  }

 private:
  bool order_varies_ = false, count_varies_ = false, seeks_ = false;
  bool per_worker_ = false, follows_seed_ = false;
  uint64_t layout_ = 0;
  std::vector<const DatasetNode*> inputs_;  // which whoever derives holds
  int64_t depth_ = 1, nodes_ = 1;           // of all ways to the sources
  Location at_;
  mutable std::atomic<uint64_t> iterations_{0};
};

// A node over one other.
class DatasetStep : public DatasetNode {
 public:
  DatasetStep(DatasetNodePtr input, Location at) : DatasetNode({input.get()}, at), input_(std::move(input)) {}
  const DatasetNode& input() const { return *input_; }
  int64_t cardinality() const override { return input_->cardinality(); }

 protected:
  DatasetNodePtr shards_of_input(int64_t count, const std::vector<int64_t>& owned) const {
    return input_->read_shards(count, owned);
  }

 private:
  DatasetNodePtr input_;
};

// Rows of tensors in memory, all or those of some shards.
class SlicesNode final : public DatasetNode {
 public:
  SlicesNode(Tensors arrays, Location at);
  SlicesNode(const SlicesNode& all, int64_t shards, const std::vector<int64_t>& owned);
  ElementIteratorPtr iterate(const DatasetPass& pass) const override;
  int64_t cardinality() const override { return rows_; }
  std::string text() const override;
  uint64_t own_contents() const override;
  DatasetNodePtr read_shards(int64_t count, const std::vector<int64_t>& owned) const override;
  // REQUIRES: 0 <= number < cardinality().
  void row(int64_t number, Tensors& element) const;

 private:
  Tensors arrays_;
  std::vector<TensorType> row_types_;
  int64_t rows_ = 0;
  int64_t shards_ = 1;
  std::vector<int64_t> owned_ = {0};
};

template <class Node, class... Arguments>
Dataset Dataset::make(Arguments&&... arguments) {
  return Dataset(std::make_shared<const Node>(std::forward<Arguments>(arguments)...));
}

// The number of pass `pass` of repeat() in a pass of that number.
inline uint64_t repeated_pass(uint64_t number, int64_t pass) {
  return hash_combine(number, static_cast<uint64_t>(pass));
}
// a * b, and a + b, of numbers >= 0; the largest number where that is larger.
int64_t saturating_product(int64_t a, int64_t b);
int64_t saturating_sum(int64_t a, int64_t b);
// Raises ValueError[dataset.element] unless every tensor of a list, and there is one, has data.
void check_element(const Tensors& element, const char* maker);
// "f32[3], i32[]".
std::string types_text(const std::vector<TensorType>& types);
std::string types_text(const Tensors& element);
std::vector<TensorType> types_of(const Tensors& element);
// The types of one row of each. REQUIRES: they have a first axis.
std::vector<TensorType> row_types(const Tensors& arrays);
// Raises ShapeError[rule] unless arrays have equal first axes and there is one. The number of rows.
int64_t common_rows(const std::string& rule, const Tensors& arrays, const std::string& where = "");

}  // namespace espalier
