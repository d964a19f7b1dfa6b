#include "launch/starter_watch.h"

#include <algorithm>

#include "base/format.h"
#include "base/process_state.h"
#include "base/shortest.h"

namespace espalier {

bool has_running_children(pid_t process) {
  return std::ranges::any_of(all_processes(),
                             [&](const ProcessState& of) { return of.parent == process && of.lives(); });
}

std::string StarterWatch::text(const std::string& name, pid_t process) const {
  return cat(name, " (pid ", process, ") ",
             had_ ? "has not ended, and its ranks have, for " : "has not started a rank in ",
             plain_number(kPatience),
             " s; a stranger who connects to its port and says nothing makes it wait");
}

}  // namespace espalier
