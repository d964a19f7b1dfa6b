// Programs that run beside a test, which sees what becomes of them.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>

#include "base/env.h"
#include "base/format.h"
#include "base/process_state.h"

namespace espalier::cli {

// Of a process that lives, not of one that nobody has waited for.
inline bool lives(pid_t pid) {
  const auto state = process_state(pid);
  return state && state->lives();
}

inline bool within(double seconds, const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
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

  void signal(int number) const { ::kill(id_, number); }
  bool ended() { return ended_ || (ended_ = ::waitpid(id_, &status_, WNOHANG) == id_); }
  bool ends_within(double seconds) {
    return within(seconds, [this] { return ended(); });
  }
  // Behind its end, as a shell says it.
  int code() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_); }
  std::string errors() const { return posix_env().read_file(errors_); }

 private:
  const std::string errors_;
  pid_t id_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

}  // namespace espalier::cli
