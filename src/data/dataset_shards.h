// Batches of a source in shards that several readers go through together, each reading its own shards.
#pragma once

#include <optional>
#include <vector>

#include "data/dataset_node.h"
#include "data/readers.h"
#include "data/shard_order.h"

namespace espalier {

// All readers make the same calls. Each batch is that of a DatasetIterator, but for the order of its rows,
// and so is save(): readers of another number, or an iterator, go on there.
class SharedBatches {
 public:
  // What is this reader's of a batch.
  struct Part {
    Tensors rows;                    // of its shards, shard by shard; perhaps none
    std::vector<int64_t> places;     // of those rows in the batch that an iterator gives
    std::vector<int64_t> of_shards;  // how many rows of the batch each of all shards gave
  };

  // Begins pass `iteration`. REQUIRES: there is a batch().
  SharedBatches(ShardedBatches dataset, uint64_t seed, uint64_t iteration, Readers readers);

  // Nothing at the end. Raises what sources, map() and batch() raise, on the reader whose shard it is of; and
  // on all ShapeError[batch.shape] where the first rows of readers have different types.
  std::optional<Part> next();
  DatasetState save() const;
  // Opens the reader's shards and no others. Raises what DatasetIterator::restore does.
  void restore(const DatasetState& state);

 private:
  struct Level {  // as dataset_repeat.cc counts
    int64_t count, size;
    int64_t passes = 0, given = 0;
    bool begun = false;
    bool begin();
    void end();
  };
  struct Taken;

  void begin();
  // Ends what is open of the levels [first, last) and inside, and begins the next pass of the innermost of
  // them that has one.
  bool next_pass(size_t first, size_t last);
  void open_pass();
  void fill(Taken& taken);
  void place(Taken& taken) const;
  void agree_on_types();
  std::vector<int64_t> given_by_all(const std::vector<int64_t>& own) const;
  void skip(int64_t batches);

  const ShardedBatches dataset_;
  const Readers readers_;
  int64_t shards_;
  std::vector<int64_t> owned_;
  std::vector<DatasetNodePtr> nodes_;  // of owned shards

  DatasetState now_;
  std::vector<Level> levels_;  // the outermost first
  size_t elements_from_ = 0;   // those from here on are of elements
  std::vector<ElementIteratorPtr> open_;
  ShardOrder order_;
  std::vector<int64_t> given_;     // by each shard, in this pass
  std::vector<TensorType> types_;  // of a row
  bool types_agreed_ = false;
};

}  // namespace espalier
