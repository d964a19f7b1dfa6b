// The workloads that peers run too: shapes, optimizers and batch sizes are fixed, inputs lie in memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "espalier/layers.h"

namespace espalier::cli {

// One workload, ready to run: each call of `step` does `amount` of `unit` (without "/s"). `check` raises when
// the steps so far computed nonsense. The time of `without`, which runs after each step, is taken off.
struct Prepared {
  std::function<void()> step;
  std::function<void()> check = [] {};
  double amount = 1;
  double flops = 0;  // of the products of one step; 0: not counted
  std::function<void()> without = nullptr;
  // Of a training step, once it has run: all that it changes.
  std::function<std::vector<Variable>()> state = nullptr;
};
struct Workload {
  const char* name;
  const char* unit;  // "ex/s", "tok/s", "calls/s", "GB/s", "GF/s", "us", "ms"
  const char* what;
  bool mixed;  // may run under mixed_bfloat16; the others know float32 alone
  Prepared (*prepare)(DTypePolicy);
  int64_t streams =
      0;  // bytes of the four arrays that a step reads, three of which it writes; 0: no such step
};
const std::vector<Workload>& workloads();

}  // namespace espalier::cli
