// Starts the ranks of a run as processes of this host and sees them to their end.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/board.h"
#include "launch/control_end.h"
#include "launch/control_message.h"
#include "launch/host_list.h"

namespace espalier {

struct LaunchOptions {
  static constexpr int kMostRanks = 256;

  int ranks = 1;
  // Its file or its name, and its arguments. No shell reads them.
  std::vector<std::string> program = {};
  // "[rank 3] " before each line.
  bool prefix = false;
  // Variables of the ranks, "NAME=VALUE" (given_variable() of launch/launch_environment.h). Without hosts
  // they have all of this process's, too; on hosts those of forwarded_environment().
  std::vector<std::string> environment = {};
  // Where the ranks' standard output and error go.
  int output = 1, errors = 2;
  // How often all ranks are started again after a failure.
  int restarts = 0;
  // Seconds without progress of a rank until the run is given up.
  double stall_after = 300;
  // Faults of the first start (launch/chaos.h).
  std::string chaos = {};
  // Where ranks run, in order; then `ranks` is the sum of theirs. None: all on this host, and no agent.
  std::vector<RunHost> hosts = {};
  // What starts something on a host: words as of a shell, of which {host} becomes its name. Behind them stand
  // the path of this program and the word "agent".
  std::string agent = "ssh -o BatchMode=yes {host}";
  // Where the launcher listens for ranks of other hosts: an interface or an address of this one; "": the one
  // that leads to the first host. As an interface it is the engine's on hosts that have it, too.
  std::string interface = {};
  // Between hosts: "gloo"; "" where there is one.
  std::string engine = {};
  // "mpirun": the program is no rank, and starts them.
  std::string starter = {};
  // As its children, on this host: it is ended, with a sentence, when it has had none for 20 s, as one at
  // whose port a stranger says nothing.
  bool starts_children = false;
  // Takes warnings and what is done about failures, a sentence each.
  std::function<void(const std::string&)> say = {};
};

// One start of a run, for who looks for the reason of its end.
struct LaunchRecord {
  struct Rank {
    int64_t pid = 0;
    std::string host = {};                      // "" where all are of this one
    std::optional<ProcessEnd> end = {};         // none: its host was lost before
    std::string doing;                          // "waiting for input in step 8"; "" where it has not joined
    std::vector<CollectiveRecord> collectives;  // the last 64, the oldest first
  };
  int code = 0;  // as LaunchOutcome has it
  std::string failure = {};
  std::optional<RunVerdict> verdict = {};
  // When that was, by the clock of collectives: at the verdict, otherwise at the end.
  int64_t seen_ns = 0;
  std::vector<Rank> ranks = {};
};

struct LaunchOutcome {
  // 0: all ended with 0. 42: all ended with 0 or 42, saved and told to go. 43: the run was given up by a
  // verdict. Otherwise that of the rank which failed first; 128 + the signal that ended it.
  int code = 0;
  // The verdict and the last collectives, or which rank failed first; with the last lines of its standard
  // error.
  // "" when none failed.
  std::string failure = {};
  std::vector<LaunchRecord> starts = {};
};

// Each rank has in its environment
//   ESPALIER_RANK, ESPALIER_WORLD              its place, and how many there are
//   ESPALIER_LOCAL_RANK, ESPALIER_LOCAL_WORLD  the same on this host
//   ESPALIER_JOB                               a name of the run that no other has
//   ESPALIER_RESTART                           how often it was started again
//   ESPALIER_CORES                             that the launcher may use, for all ranks together
//   ESPALIER_SEGMENTS                          memory that they share (comm/shm.h)
//   ESPALIER_CONTROL, ESPALIER_SECRET          for launch/control_client.h
//   ESPALIER_CHAOS                             faults, on the first start
// and over hosts
//   ESPALIER_HOST, ESPALIER_HOST_SIZES         the number of its host, and the ranks of each: "2,2"
//   ESPALIER_HOSTS                             their names: "a,b"
//   ESPALIER_ENGINE, ESPALIER_ENGINE_ADDRESS   what hosts talk through, and the interface or address for it
//   ESPALIER_BOARD                             the board of the run's ranks, where there is an engine
//   ESPALIER_STALL_AFTER                       seconds
// ESPALIER_SEGMENTS is of the ranks of one host. Over hosts nobody reads standard input; otherwise
// rank 0 does unless that is a terminal, and its output is passed on byte by byte; that of
// the others line by line. SIGINT, SIGTERM, SIGUSR1, SIGHUP and SIGTSTP go to all ranks with their child
// processes, and to a starter as launch/starter_signals.h says. When the run is given up, or a rank of
// programs that do not join its control fails, the others get SIGTERM, and SIGKILL 2 s later. A run that got
// SIGINT, SIGTERM or SIGHUP is not started again. Nothing that it started is left when it returns, nor when
// the calling thread is killed. Raises ValueError[launch.ranks], [launch.words], [launch.stall],
// [launch.agent], [launch.interface], [chaos.*], IoError[launch.program], [launch.start], [launch.output],
// StateError[launch.once], RunError[comm.memory].
LaunchOutcome launch(const LaunchOptions& options);

}  // namespace espalier
