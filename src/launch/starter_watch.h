// Whether a program that starts ranks, as mpirun does, still has any.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace espalier {

// Whether a process has children that run: not those that have ended, and are not awaited.
bool has_running_children(pid_t process);

// Of such a program, which waits for its ranks and then ends. Open MPI's mpirun reads what comes at its port
// without a time limit: somebody who connects and says nothing keeps it from ending, or from starting.
class StarterWatch {
 public:
  static constexpr double kPatience = 20;  // seconds

  // At `now`, by a clock that does not go back. `excused`: it may be waiting for its reader.
  void see(bool has_children, bool excused, double now) {
    had_ |= has_children;
    if (has_children || excused || !since_) since_ = now;
  }
  bool is_stuck(double now) const { return since_ && now - *since_ >= kPatience; }
  // One sentence.
  std::string text(const std::string& name, pid_t process) const;

 private:
  bool had_ = false;
  std::optional<double> since_;
};

}  // namespace espalier
