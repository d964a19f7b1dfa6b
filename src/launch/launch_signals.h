// Signals as bytes of a pipe, for a loop that polls.
#pragma once

#include <csignal>
#include <set>
#include <vector>

#include "comm/control_fd.h"

namespace espalier {

// Takes the signals of the process while it lives: SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGTSTP, SIGCHLD. One
// that was ignored before stays so, as SIGHUP under nohup; but for SIGCHLD. One object at a time. A SIGTERM
// or SIGUSR1 that came is no more than remembered for 2 s behind it (launch/late_signals.h).
class LaunchSignals {
 public:
  // Raises IoError[launch.start], StateError[launch.once].
  LaunchSignals();
  ~LaunchSignals();
  LaunchSignals(const LaunchSignals&) = delete;
  LaunchSignals& operator=(const LaunchSignals&) = delete;

  // Readable when a signal has come.
  int descriptor() const { return read_.get(); }
  // Those that have come since the last call, without SIGCHLD.
  std::vector<int> take();

 private:
  struct Before {
    int number;
    struct sigaction action;
  };
  ControlFd read_, write_;
  std::vector<Before> before_;
  std::set<int> came_;
};

}  // namespace espalier
