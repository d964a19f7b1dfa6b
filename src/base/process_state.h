// What the system says of its processes.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

namespace espalier {

struct ProcessState {
  pid_t id = 0, parent = 0;
  char letter = 'X';  // as ps shows it: 'R' runs, 'S' sleeps, 'T' is stopped, 'Z' and 'X' have ended

  // One that has ended is there until its parent has waited for it.
  bool lives() const { return letter != 'Z' && letter != 'X'; }
};

// Nothing of a process that is not there.
std::optional<ProcessState> process_state(pid_t id);
// Of all that are there, in no order.
std::vector<ProcessState> all_processes();

}  // namespace espalier
