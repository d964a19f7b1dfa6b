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

  // Takes the arguments of `function`, and behind them where the first of the rows stands in the batch,
  // i64[]. of_batch[i]: the first axis of argument i is of rows. A function whose program its owner traces
  // comes back as it is, without.
  std::optional<TracedFunction> of(const TracedFunction& function, const std::vector<bool>& of_batch);

 private:
  struct Known {
    std::weak_ptr<const void> function;
    std::vector<bool> of_batch;
    TracedFunction placed;
  };
  const int parts_;
  const Parts kind_;
  std::mutex mutex_;
  std::vector<Known> known_;
};

}  // namespace espalier
