// Observations of a trace, before they are folded.
#pragma once

#include <vector>

#include "eager/trace.h"
#include "espalier/observe.h"

namespace espalier {

// While it lives, what the current trace observes is kept here instead of folded at once; not so inside of
// regions, whose state is the region's. The innermost one of a thread counts.
class ObservationScope {
 public:
  ObservationScope();
  ~ObservationScope();
  ObservationScope(const ObservationScope&) = delete;
  ObservationScope& operator=(const ObservationScope&) = delete;

  // False where it is not this trace's.
  static bool take(const Observation& observation);
  const std::vector<Observation>& observations() const { return kept_; }
  // The variables of what the innermost scope of the current trace has kept so far.
  static std::vector<Variable> observed();

 private:
  const Trace* trace_;
  std::vector<Observation> kept_;
  ObservationScope* before_;
};

// The new values of its variables.
std::vector<Tensor> folded(const Observation& how, std::span<const Tensor> now,
                           std::span<const Tensor> increments);

}  // namespace espalier
