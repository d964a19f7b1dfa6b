// Processes that the launcher starts.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "launch/control_end.h"

namespace espalier {

// The file that a shell would run for this word. Raises IoError[launch.program].
std::string program_file(const std::string& word);

// A process that leads a group of its own. It is killed when the thread that started it ends, and with it
// goes all that is left in its group.
class Process {
 public:
  // Those of the process. REQUIRES: none lies where another goes, so out and err are above 2, and so is in,
  // or 0.
  struct Streams {
    int in, out, err;
    int guard = -1;  // LaunchGuard::descriptor(), of which the process says its group
  };
  // `file` with `words` as its arguments, words[0] its name, and this environment. Raises
  // IoError[launch.program] where the system cannot run it, [launch.start] where it has no room for it.
  Process(const std::string& file, const std::vector<std::string>& words,
          const std::vector<std::string>& environment, Streams streams);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }
  // To the whole group. Nothing once it has ended.
  void signal(int number);
  // What has happened since the last call.
  struct Event {
    bool stopped = false, continued = false;
    std::optional<ProcessEnd> end = {};
  };
  Event poll();
  bool ended() const { return ended_; }

 private:
  pid_t id_ = -1;
  bool ended_ = false;
};

}  // namespace espalier
