// Ends the ranks of a launcher that was killed.
#pragma once

#include <sys/types.h>
#include <unistd.h>

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

  // Where a process says its number, the group's, before it becomes its program. Told by the launcher, what
  // the program starts at once would outlive a launcher that is killed in between.
  int descriptor() const { return words_.get(); }
  // In that process; may be called from a signal handler.
  static void add_own_group(int descriptor) { tell(descriptor, ::getpid()); }
  static void remove_own_group(int descriptor) { tell(descriptor, -::getpid()); }
  void remove(pid_t group) { tell(words_.get(), -group); }

 private:
  static void tell(int descriptor, pid_t word);
  ControlFd words_;
  pid_t id_ = -1;
};

}  // namespace espalier
