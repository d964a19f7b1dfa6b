// Launches of shell programs, in tests.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "comm/control_fd.h"
#include "launch/launch.h"

namespace espalier {

struct LaunchedShell {
  LaunchOutcome outcome;
  std::string output, errors;
};

inline std::string written_to(int file) {
  std::string out(static_cast<size_t>(::lseek(file, 0, SEEK_END)), '\0');
  const ssize_t got = ::pread(file, out.data(), out.size(), 0);
  return out.substr(0, static_cast<size_t>(got));
}

// `script` of sh as every rank; "$1" and so on are `arguments`.
inline LaunchedShell launch_shell(int ranks, const std::string& script, LaunchOptions options = {},
                                  const std::vector<std::string>& arguments = {}) {
  const ControlFd output(::memfd_create("output", MFD_CLOEXEC)),
      errors(::memfd_create("errors", MFD_CLOEXEC));
  options.ranks = ranks;
  options.program = {"sh", "-c", script, "sh"};
  options.program.insert(options.program.end(), arguments.begin(), arguments.end());
  options.output = output.get();
  options.errors = errors.get();
  LaunchedShell out;
  out.outcome = launch(options);
  out.output = written_to(output.get());
  out.errors = written_to(errors.get());
  return out;
}

}  // namespace espalier
