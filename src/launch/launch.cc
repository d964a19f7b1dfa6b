#include "launch/launch.h"

#include <fcntl.h>

#include <memory>

#include "base/format.h"
#include "espalier/error.h"
#include "launch/chaos.h"
#include "launch/launch_hosts.h"
#include "launch/launch_process.h"
#include "launch/launch_ranks.h"
#include "launch/launch_signals.h"
#include "launch/launch_start.h"

namespace espalier {
namespace {

// Several, each of which did as if it were the only one. Ranks of a starter join the first of them.
bool ran_alone(const LaunchOptions& options, const LaunchStart& ranks, const LaunchRecord& record) {
  return options.ranks > 1 && options.starter.empty() && ranks.joined() == 0 && record.code == 0 &&
         !ranks.was_told_to_end();
}

}  // namespace

LaunchOutcome launch(const LaunchOptions& options) {
  if (options.ranks < 1 || options.ranks > LaunchOptions::kMostRanks)
    throw ValueError("launch.ranks",
                     cat("a run has 1 to ", LaunchOptions::kMostRanks, " ranks, not ", options.ranks));
  if (options.program.empty()) throw ValueError("launch.words", "there is no program to run");
  if (!(options.stall_after > 0))
    throw ValueError("launch.stall", cat("a run is given up after more than 0 s, not ", options.stall_after));
  parse_chaos(options.chaos, options.ranks);
  const std::string file = options.hosts.empty() ? program_file(options.program[0]) : std::string();
  // Descriptors of ours would take the place of a stream that is closed.
  for (int stream = 0; stream < 3; ++stream) {
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
  const std::string job = random_name();
  LaunchSignals signals;
  LaunchOutcome out;
  for (int restart = 0;; ++restart) {
    std::unique_ptr<LaunchStart> ranks;
    if (options.hosts.empty())
      ranks = std::make_unique<LaunchRanks>(options, file, job, restart);
    else
      ranks = std::make_unique<LaunchHosts>(options, job, restart);
    ranks->run(signals);
    const LaunchRecord& record = out.starts.emplace_back(ranks->record());
    out.code = record.code;
    out.failure = record.failure;
    if (options.say && ran_alone(options, *ranks, record))
      options.say(cat("warning: none of the ", options.ranks,
                      " ranks joined: the program makes no strategy::MultiWorkerMirrored, so Espalier "
                      "trained nothing together"));
    if (out.failure.empty() || ranks->was_told_to_end() || restart >= options.restarts) return out;
    if (options.say)
      options.say(cat(out.failure, "\nall ranks start again, ", restart + 1, " of ", options.restarts));
  }
}

}  // namespace espalier
