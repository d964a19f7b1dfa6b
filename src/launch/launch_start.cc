#include "launch/launch_start.h"

#include "base/env.h"
#include "base/format.h"
#include "base/hash_list.h"

namespace espalier {

std::string random_name() { return hash_list_text({posix_env().entropy()}); }

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
