#include "cli/plan_strategy.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "base/format.h"
#include "dist/replicas.h"

namespace espalier::cli {

PlanStrategy::PlanStrategy(const DistributePlan& plan) {
  if (plan.strategy == "mirrored")
    strategy_ = strategy::Mirrored({.devices = plan.devices});
  else if (plan.devices != 0)
    throw ValueError("distribute.devices",
                     cat("devices are of the strategy mirrored, and it is ", plan.strategy),
                     "--strategy mirrored");
  if (plan.strategy == "multiworker") strategy_ = strategy::MultiWorkerMirrored();
  if (!strategy_) return;
  scope_.emplace(strategy_->replicas());
  if (strategy_->worker() == 0) return;
  std::fflush(stdout);
  std::fflush(stderr);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    before_[stream - STDOUT_FILENO] = ::fcntl(stream, F_DUPFD_CLOEXEC, 3);
    ::dup2(nowhere, stream);
  }
  ::close(nowhere);
}

void PlanStrategy::failed(const std::exception& error) const {
  if (strategy_) strategy_->replicas()->failed(error);
}

PlanStrategy::~PlanStrategy() {
  std::fflush(stdout);
  std::fflush(stderr);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    const int before = before_[stream - STDOUT_FILENO];
    if (before < 0) continue;
    ::dup2(before, stream);
    ::close(before);
  }
}

}  // namespace espalier::cli
