#include "launch/launch_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/format.h"
#include "base/shortened.h"
#include "comm/control_fd.h"
#include "espalier/error.h"
#include "launch/launch_guard.h"

namespace espalier {
namespace {

bool is_program(const std::string& path) {
  struct stat is = {};
  return ::stat(path.c_str(), &is) == 0 && S_ISREG(is.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// In the child, between fork and exec: only what may be called from a signal handler.
[[noreturn]] void become(const char* file, char* const* words, char* const* environment,
                         Process::Streams streams, pid_t launcher, const sigset_t& mask, int report) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(127);  // it was gone before
  if (streams.guard >= 0) LaunchGuard::add_own_group(streams.guard);
  // Handlers of the launcher write to its pipe.
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGTSTP, SIGCHLD, SIGCONT}) {
    struct sigaction now = {};
    ::sigaction(number, nullptr, &now);
    if (now.sa_handler != SIG_IGN) ::signal(number, SIG_DFL);
  }
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (::dup2(streams.in, 0) == 0 && ::dup2(streams.out, 1) == 1 && ::dup2(streams.err, 2) == 2)
    ::execve(file, words, environment);
  const int error = errno;
  if (streams.guard >= 0) LaunchGuard::remove_own_group(streams.guard);
  [[maybe_unused]] const ssize_t told = ::write(report, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

std::string program_file(const std::string& word) {
  const auto refuse = [&](std::string_view why) {
    throw IoError("launch.program", cat("cannot run ", shortened(word), ": ", why));
  };
  if (word.empty()) refuse("its name is empty");
  if (word.find('/') != word.npos) {
    struct stat is = {};
    if (::stat(word.c_str(), &is) != 0) refuse(std::strerror(errno));
    if (!is_program(word)) refuse("it is no file that may be executed");
    return word;
  }
  const char* path = std::getenv("PATH");
  std::string_view folders = path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const size_t end = folders.find(':');
    const std::string_view folder = folders.substr(0, end);
    const std::string file = cat(folder.empty() ? "." : folder, "/", word);
    if (is_program(file)) return file;
    if (end == folders.npos) break;
    folders.remove_prefix(end + 1);
  }
  refuse("no folder of PATH has it");
  return {};
}

Process::Process(const std::string& file, const std::vector<std::string>& words,
                 const std::vector<std::string>& environment, Streams streams) {
  const std::vector<char*> arguments = pointers(words), variables = pointers(environment);
  int ends[2];
  const auto no_room = [] {
    throw IoError("launch.start", cat("cannot start a process: ", std::strerror(errno)));
  };
  if (::pipe2(ends, O_CLOEXEC) != 0) no_room();
  ControlFd read(ends[0]), write(ends[1]);
  // A signal that came to the child before its program would be the launcher's.
  sigset_t all, mask;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &mask);
  const pid_t launcher = ::getpid();
  id_ = ::fork();
  if (id_ == 0)
    become(file.c_str(), arguments.data(), variables.data(), streams, launcher, mask, write.get());
  const int fork_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  if (id_ < 0) {
    errno = fork_error;
    no_room();
  }
  ::setpgid(id_, id_);  // whoever is first
  write.close();
  int error = 0;
  ssize_t got;
  while ((got = ::read(read.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (got == 0) return;
  while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ended_ = true;
  throw IoError("launch.program", cat("cannot run ", shortened(file), ": ", std::strerror(error)));
}

Process::~Process() {
  if (ended_) return;
  signal(SIGKILL);
  while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Process::signal(int number) {
  if (ended_) return;
  // A program may have left its group.
  if (::kill(-id_, number) != 0) ::kill(id_, number);
}

Process::Event Process::poll() {
  Event event;
  while (!ended_) {
    siginfo_t info = {};
    const int wanted = WEXITED | WSTOPPED | WCONTINUED | WNOHANG;
    if (::waitid(P_PID, static_cast<id_t>(id_), &info, wanted | WNOWAIT) != 0 || info.si_pid == 0) break;
    const bool end = info.si_code != CLD_STOPPED && info.si_code != CLD_CONTINUED;
    // Before its number can be another's: what it left in its group goes with it.
    if (end) ::kill(-id_, SIGKILL);
    ::waitid(P_PID, static_cast<id_t>(id_), &info, wanted);
    if (info.si_code == CLD_STOPPED) event.stopped = true;
    if (info.si_code == CLD_CONTINUED) event.continued = true;
    if (!end) continue;
    ended_ = true;
    event.end = ProcessEnd{info.si_code != CLD_EXITED, info.si_status};
  }
  return event;
}

}  // namespace espalier
