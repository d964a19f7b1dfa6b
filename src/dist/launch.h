// Starts the ranks of a run as processes of this host and sees them to their end.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace espalier {

struct LaunchOptions {
  static constexpr int kMostRanks = 256;

  int ranks = 1;
  // Its file or its name, and its arguments. No shell reads them.
  std::vector<std::string> program = {};
  // "[rank 3] " before each line.
  bool prefix = false;
  // Where the ranks' standard output and error go.
  int output = 1, errors = 2;
};

struct LaunchOutcome {
  // 0: all ended with 0. 42: all ended with 0 or 42, saved and told to go. Otherwise that of the rank which
  // failed first; 128 + the signal that ended it.
  int code = 0;
  // Which rank failed first, with the last lines of its standard error; then how the others ended. "" when
  // none failed.
  std::string failure = {};
};

// Each rank has in its environment
//   ESPALIER_RANK, ESPALIER_WORLD              its place, and how many there are
//   ESPALIER_LOCAL_RANK, ESPALIER_LOCAL_WORLD  the same on this host
//   ESPALIER_JOB                               a name of the run that no other has
// Rank 0 reads standard input unless that is a terminal, and its output is passed on byte by byte; that of
// the others line by line. SIGINT, SIGTERM, SIGUSR1, SIGHUP and SIGTSTP go to all ranks with their child
// processes. When a rank fails the others get SIGTERM, and SIGKILL 2 s later. Nothing that it started is left
// when it returns, nor when the calling thread is killed. Raises ValueError[launch.ranks], [launch.words],
// IoError[launch.program], [launch.start], [launch.output], StateError[launch.once].
LaunchOutcome launch(const LaunchOptions& options);

}  // namespace espalier
