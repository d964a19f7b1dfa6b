// Who reads the batches of a dataset: every worker all rows, or each the shards it owns, or data of its own.
#pragma once

#include <memory>

#include "espalier/dataset.h"
#include "step/step_batches.h"

namespace espalier {

class StepArguments;

// Goes over the batches of a dataset once. Of several workers all make the same calls.
class BatchReader {
 public:
  virtual ~BatchReader() = default;
  // As StepBatches says of them.
  virtual std::span<const Tensor> next() = 0;
  virtual std::span<const int64_t> rows_of_shards() const { return {}; }
  virtual std::span<const int64_t> places() const { return {}; }
  // Those of a DatasetIterator, whoever reads.
  virtual DatasetState save() const = 0;
  virtual void restore(const DatasetState& state) = 0;
};

// Of iterator number `iteration`; elements become arguments by `arguments`, which outlives the reader and
// says who shares. `repeats`: of workers' own data, whose passes begin together, behind the end of all the
// next one begins. Raises ValueError[verb.logical_shards] for a source in another number of shards than the
// step, and for workers' own data, which are in none.
std::unique_ptr<BatchReader> batch_reader(const Dataset& dataset, uint64_t iteration,
                                          StepArguments& arguments, bool repeats = false);

}  // namespace espalier
