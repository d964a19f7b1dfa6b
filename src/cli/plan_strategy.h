// The strategy of a plan, while a verb trains by it.
#pragma once

#include <optional>

#include "cli/plan.h"
#include "espalier/strategy.h"

namespace espalier::cli {

// Models that are compiled while it lives train by the strategy. All but the first of several workers say
// nothing meanwhile.
class PlanStrategy {
 public:
  // Raises what strategies raise, ValueError[distribute.devices] for devices of another one than mirrored.
  explicit PlanStrategy(const DistributePlan& plan);
  ~PlanStrategy();
  PlanStrategy(const PlanStrategy&) = delete;
  PlanStrategy& operator=(const PlanStrategy&) = delete;
  // Other workers need not wait for this one.
  void failed(const std::exception& error) const;

 private:
  std::optional<Strategy> strategy_;
  std::optional<Strategy::Scope> scope_;
  int before_[2] = {-1, -1};  // standard output and error of a worker that says nothing
};

}  // namespace espalier::cli
