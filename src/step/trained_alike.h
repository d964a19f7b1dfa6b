// Whether all workers of a run train the same variables at the same rate: a callback of one of them may
// change either.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "espalier/optimizers.h"
#include "espalier/variable.h"
#include "strategy/host_collectives.h"

namespace espalier {

class TrainedAlike {
 public:
  // `optimizer` outlives it. `trained`: the variables that a step trains now.
  TrainedAlike(const HostCollectives& hosts, const Optimizer& optimizer,
               std::function<std::vector<Variable>()> trained)
      : hosts_(hosts), optimizer_(optimizer), trained_(std::move(trained)) {}

  // Remembers what there is: hooks of callbacks come next.
  void look() { seen_ = now(); }
  // Whether it is other than at the last look. A rate on a device is not looked at: that would wait for it.
  bool changed() const { return seen_ != now(); }
  // All workers call it, where any says so; a look. Raises RunError[strategy.audit], which names the
  // variable, on all of them where they differ.
  void require(int64_t step);

 private:
  struct Seen {
    uint64_t trained = 0;  // a hash of paths
    double rate = 0;
    bool operator==(const Seen&) const = default;
  };
  Seen now() const;
  void require_same_variables(int64_t step) const;

  const HostCollectives hosts_;
  const Optimizer& optimizer_;
  const std::function<std::vector<Variable>()> trained_;
  Seen seen_;
};

}  // namespace espalier
