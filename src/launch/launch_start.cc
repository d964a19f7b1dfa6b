#include "launch/launch_start.h"

#include "base/env.h"
#include "base/format.h"

namespace espalier {

std::string random_name() {
  std::string out;
  const uint64_t bits = posix_env().entropy();
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[bits >> shift & 15];
  return out;
}

std::string start_name(const std::string& job, int restart) {
  return restart > 0 ? cat(job, "-", restart) : job;
}

ControlCoordinator::Options coordination(const LaunchOptions& options, const std::string& run,
                                         const std::string& secret) {
  ControlCoordinator::Options out{.world = options.ranks, .secret = secret, .id = run};
  out.limits.stalled = options.stall_after;
  return out;
}

}  // namespace espalier
