// The functions of a loop of one's own as Strategy::run() calls them on parts of a batch: what they draw
// follows the place of a row, and what they observe is that of all rows.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "eager/placed_trace.h"
#include "espalier/function.h"

namespace espalier {

class RunFunctions {
 public:
  enum class Parts : uint8_t { kReplicas, kShards };
  // Each call is one of `parts`.
  RunFunctions(int parts, Parts kind) : parts_(parts), kind_(kind) {}

  class Placed;
  // A function that takes the arguments of `function`, and behind them the place of the rows, i64[2], as
  // BatchPlaceScope has it, and what each row counts, f32[rows], where some are `padded`.
  // of_batch[i]: the first axis of argument i is of rows.
  struct Found {
    TracedFunction function;
    std::shared_ptr<const Placed> placed;
    // Of each result, how many elements of its first axis are a row's; 0: none.
    const std::vector<int64_t>& rows_of_results() const;
  };
  // Nothing for a function whose program its owner traces.
  std::optional<Found> of(const TracedFunction& function, const std::vector<bool>& of_batch, bool padded);

 private:
  struct Known : Found {
    std::weak_ptr<const void> of;
    std::vector<bool> of_batch;
    bool padded;
  };
  const int parts_;
  const Parts kind_;
  std::mutex mutex_;
  std::vector<Known> known_;
};

}  // namespace espalier
