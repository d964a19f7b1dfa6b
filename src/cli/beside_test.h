// Programs that run beside a test, which sees what becomes of them.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "base/comes_true_test.h"
#include "base/env.h"
#include "base/format.h"
#include "base/process_state.h"

namespace espalier::cli {

// Of a process that lives, not of one that nobody has waited for.
inline bool lives(pid_t pid) {
  const auto state = process_state(pid);
  return state && state->lives();
}

// All of it and its children's, and theirs.
inline std::vector<pid_t> processes_below(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (const ProcessState& of : all_processes()) children.emplace(of.parent, of.id);
  std::vector<pid_t> out = {root};
  for (size_t i = 0; i < out.size(); ++i) {
    const auto [begin, end] = children.equal_range(out[i]);
    for (auto at = begin; at != end; ++at) out.push_back(at->second);
  }
  return out;
}

// The words of a shell as one process, which is killed where it has not ended with this.
class Beside {
 public:
  // What it writes to standard error goes into `errors`.
  Beside(const std::string& words, std::string errors) : errors_(std::move(errors)) {
    const std::string line = cat("exec ", words, " > /dev/null 2> ", errors_, " < /dev/null");
    id_ = ::fork();
    if (id_ != 0) return;
    ::execl("/bin/sh", "sh", "-c", line.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ~Beside() {
    if (ended()) return;
    signal(SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  pid_t process() const { return id_; }
  void signal(int number) const { ::kill(id_, number); }
  bool ended() { return ended_ || (ended_ = ::waitpid(id_, &status_, WNOHANG) == id_); }
  // Where it hangs, false.
  bool ends() {
    return comes_true([this] { return ended(); });
  }
  // Behind its end, as a shell says it.
  int code() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_); }
  // So far.
  std::string errors() const { return posix_env().exists(errors_) ? posix_env().read_file(errors_) : ""; }

 private:
  const std::string errors_;
  pid_t id_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

}  // namespace espalier::cli
