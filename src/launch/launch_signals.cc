#include "launch/launch_signals.h"

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/format.h"
#include "espalier/error.h"
#include "launch/late_signals.h"

namespace espalier {
namespace {

std::atomic<int> signal_pipe{-1};

void tell_of_signal(int number) {
  const int error = errno;
  const char byte = static_cast<char>(number);
  // Full: there is enough to read already.
  [[maybe_unused]] const ssize_t told = ::write(signal_pipe.load(), &byte, 1);
  errno = error;
}

}  // namespace

LaunchSignals::LaunchSignals() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    throw IoError("launch.start", cat("cannot make a pipe: ", std::strerror(errno)));
  read_ = ControlFd(ends[0]);
  write_ = ControlFd(ends[1]);
  int none = -1;
  if (!signal_pipe.compare_exchange_strong(none, write_.get()))
    throw StateError("launch.once", "a launch is running in this process");
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGTSTP, SIGCHLD}) {
    struct sigaction now = {}, before = {};
    ::sigaction(number, nullptr, &before);
    if (before.sa_handler == SIG_IGN && number != SIGCHLD) continue;
    now.sa_handler = tell_of_signal;
    now.sa_flags = SA_RESTART;
    ::sigfillset(&now.sa_mask);
    ::sigaction(number, &now, nullptr);
    before_.push_back({number, before});
  }
}

LaunchSignals::~LaunchSignals() {
  for (const Before& one : before_) {
    const bool tells_to_go = one.number == SIGTERM || one.number == SIGUSR1;
    if (tells_to_go && one.action.sa_handler == SIG_DFL && came_.contains(one.number))
      ignore_late_signal(one.number);
    else
      ::sigaction(one.number, &one.action, nullptr);
  }
  signal_pipe.store(-1);
}

std::vector<int> LaunchSignals::take() {
  std::vector<int> out;
  char bytes[64];
  for (ssize_t got; (got = ::read(read_.get(), bytes, sizeof bytes)) > 0;) {
    for (ssize_t i = 0; i < got; ++i) {
      if (bytes[i] != SIGCHLD) out.push_back(bytes[i]);
    }
  }
  came_.insert(out.begin(), out.end());
  return out;
}

}  // namespace espalier
