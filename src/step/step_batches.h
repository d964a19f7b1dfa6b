// What steps are given, batch after batch.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "base/format.h"
#include "espalier/error.h"
#include "espalier/tensor.h"
#include "format/checkpoint.h"

namespace espalier {

class StepBatches {
 public:
  virtual ~StepBatches() = default;
  // The arguments of the next step: x, y and the weight of each row, which stay until the next call. Empty at
  // the end.
  virtual std::span<const Tensor> next() = 0;
  // The numbers that the rows of those arguments have in the arrays they come from; empty: they have none.
  virtual std::span<const int64_t> numbers() const { return {}; }
  // Where each worker has the rows of its shards: how many of the batch each of all shards gave
  // (strategy/rows.h), and where in the whole batch the rows here stand. Empty: they are the whole batch.
  virtual std::span<const int64_t> rows_of_shards() const { return {}; }
  virtual std::span<const int64_t> places() const { return {}; }
  // All rows of a pass; 0: it is not known.
  virtual int64_t examples_per_epoch() const { return 0; }
};

// Calls `step` on a batch of so many `of` rows in memory. Of what it raises, where a type has the batch's
// first axis, the message says so: nobody passed a tensor of that size.
template <class F>
decltype(auto) on_batch(size_t rows, int64_t of, F&& step) {
  try {
    return step();
  } catch (Error& error) {
    const auto names = [&](const char* end) {
      return error.message().find(cat("[", rows, end)) != std::string::npos;
    };
    const bool of_types = error.kind() == "ShapeError" || error.kind() == "DTypeError";
    if (of_types && rows > 0 && static_cast<int64_t>(rows) < of && (names(",") || names("]")))
      error.add(cat(", in a batch of ", rows, " of ", of, " rows"));
    throw;
  }
}

// Those of fit, epoch after epoch.
class TrainingBatches : public StepBatches {
 public:
  using Cursor = DataCursor;
  // 0: it is not known. Then next() is empty at the end of an epoch, and the call behind it begins the next
  // one; else behind the last batch comes the first, perhaps in another order.
  virtual int64_t steps_per_epoch() const = 0;
  // Whether no worker comes to an end that another does not: rows in memory, whose number they have compared.
  virtual bool ends_alike() const { return false; }
  // Whether each worker names data of its own, and says so.
  virtual bool of_own_data() const { return false; }
  // What must be the same for a run to go on.
  virtual std::map<std::string, std::string> run() const = 0;
  // A hash of rows in memory, of which each worker has all; nothing of others.
  virtual std::string content() const { return {}; }
  // What the place of the next batch depends on besides the steps of the run, whoever reads. All workers call
  // it.
  virtual Cursor save() const { return {}; }
  // Goes to the place behind so many steps of an epoch, where save() gave `cursor`.
  virtual void restore(int epoch, int64_t step, const Cursor& cursor) = 0;
};

}  // namespace espalier
