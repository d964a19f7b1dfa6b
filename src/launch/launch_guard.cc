#include "launch/launch_guard.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/format.h"
#include "espalier/error.h"
#include "launch/launch.h"

namespace espalier {
namespace {

// Between fork and the end: only what may be called from a signal handler.
[[noreturn]] void guard(int words) {
  ::setsid();  // what a terminal sends to the launcher's group is not for it
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_IGN);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
  ::prctl(PR_SET_NAME, "launch-guard");
  // It keeps no socket, no memory and no stream of anybody open.
  if (::dup2(words, 0) != 0) ::_exit(1);
  ::close_range(1, ~0u, 0);
  std::array<pid_t, LaunchOptions::kMostRanks> groups{};
  while (true) {
    pid_t word = 0;
    const ssize_t got = ::recv(0, &word, sizeof word, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof word) break;
    for (pid_t& group : groups) {
      if (word > 0 ? group != 0 : group != -word) continue;
      group = word > 0 ? word : 0;
      break;
    }
  }
  for (const pid_t group : groups) {
    if (group > 0) ::kill(-group, SIGKILL);
  }
  ::_exit(0);
}

}  // namespace

LaunchGuard::LaunchGuard() {
  int ends[2];
  const auto refuse = [] {
    throw IoError("launch.start", cat("cannot start a process: ", std::strerror(errno)));
  };
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) refuse();
  const ControlFd read(ends[0]);
  words_ = ControlFd(ends[1]);
  sigset_t all, mask;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &mask);
  id_ = ::fork();
  if (id_ == 0) guard(read.get());
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  errno = error;
  if (id_ < 0) refuse();
}

LaunchGuard::~LaunchGuard() {
  words_.close();
  while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void LaunchGuard::tell(int descriptor, pid_t word) {
  while (::send(descriptor, &word, sizeof word, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

}  // namespace espalier
