// What steps are given, batch after batch.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "espalier/tensor.h"

namespace espalier {

class StepBatches {
 public:
  virtual ~StepBatches() = default;
  // The arguments of the next step: x, y and the weight of each row, which stay until the next call. Empty at
  // the end.
  virtual std::span<const Tensor> next() = 0;
  // The numbers that the rows of those arguments have in the arrays they come from; empty: they have none.
  virtual std::span<const int64_t> numbers() const { return {}; }
};

// Those of fit, epoch after epoch.
class TrainingBatches : public StepBatches {
 public:
  using Cursor = std::map<std::string, uint64_t>;
  // 0: it is not known. Then next() is empty at the end of an epoch, and the call behind it begins the next
  // one; else behind the last batch comes the first, perhaps in another order.
  virtual int64_t steps_per_epoch() const = 0;
  // Rows; 0: it is not known.
  virtual int64_t examples_per_epoch() const = 0;
  // What must be the same for a run to go on.
  virtual std::map<std::string, std::string> run() const = 0;
  // What the place of the next batch depends on besides the steps of the run.
  virtual Cursor save() const { return {}; }
  // Goes to the place behind so many steps of an epoch, where save() gave `cursor`.
  virtual void restore(int epoch, int64_t step, const Cursor& cursor) = 0;
};

}  // namespace espalier
