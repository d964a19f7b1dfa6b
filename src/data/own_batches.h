// Batches of data that each of several readers has for itself.
#pragma once

#include <optional>
#include <vector>

#include "data/dataset_node.h"
#include "data/readers.h"

namespace espalier {

// A batch is the next element of each reader, as far as they have one: those of reader 0 first. It ends when
// all are at their ends. All readers make the same calls.
class OwnBatches {
 public:
  // What is this reader's of a batch.
  struct Part {
    Tensors rows;                     // of its element; none of those types where it has no more
    int64_t first = 0;                // of them in the batch
    std::vector<int64_t> of_readers;  // how many each has
  };

  // Begins pass `iteration`; `repeats`: behind the end of all the next one begins, as Dataset::repeat() has
  // it. Raises ValueError[strategy.data] where some have data without an end, and others with one.
  OwnBatches(const Dataset& dataset, uint64_t seed, uint64_t iteration, bool repeats, Readers readers);

  // Nothing at the end. Raises what DatasetIterator::next does, on the reader whose element it is; and on all
  // ShapeError[batch.shape] where the rows of two readers have different types, or one has none.
  std::optional<Part> next();
  // The places of all readers.
  DatasetState save() const;
  // Raises what DatasetIterator::restore does, and ValueError[dataset.restore] for the places of another
  // number of readers.
  void restore(const DatasetState& state);

 private:
  struct Given {
    int64_t rows;    // kEnded: it has no more
    uint64_t types;  // a hash of those of a row; 0: it has none
  };
  uint64_t iteration_of_pass() const;
  DatasetIterator iterator_of_pass() const;
  void begin_pass();
  std::vector<Given> of_all(const Given& mine) const;
  // Types of a row become those of readers that have some. `own` are empty, if this one has none.
  void agree_on_types(const std::vector<TensorType>& own);

  const Dataset dataset_;
  const bool repeats_;
  const Readers readers_;
  DatasetState now_;  // of the whole
  int64_t pass_ = 0;
  int64_t elements_in_pass_ = 0;
  DatasetIterator own_;
  std::vector<TensorType> types_;  // of a row
  uint64_t types_hash_ = 0;
};

}  // namespace espalier
