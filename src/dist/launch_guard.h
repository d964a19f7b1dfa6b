// Ends the ranks of a launcher that was killed.
#pragma once

#include <sys/types.h>

#include "comm/control_fd.h"

namespace espalier {

// A process beside the launcher that kills the process groups it was told of when the launcher dies: a rank
// dies with it by itself (PR_SET_PDEATHSIG), what a rank has started does not.
class LaunchGuard {
 public:
  // Raises IoError[launch.start].
  LaunchGuard();
  // It goes, and kills nothing that was removed.
  ~LaunchGuard();
  LaunchGuard(const LaunchGuard&) = delete;
  LaunchGuard& operator=(const LaunchGuard&) = delete;

  void add(pid_t group) { tell(group); }
  void remove(pid_t group) { tell(-group); }

 private:
  void tell(pid_t word);
  ControlFd words_;
  pid_t id_ = -1;
};

}  // namespace espalier
