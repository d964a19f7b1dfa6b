// The ranks of one start of a run.
#pragma once

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "comm/board.h"
#include "comm/control_server.h"
#include "dist/chaos.h"
#include "dist/launch.h"
#include "dist/launch_guard.h"
#include "dist/launch_output.h"
#include "dist/launch_process.h"
#include "dist/launch_signals.h"

namespace espalier {

// 16 hexadecimal digits that nobody can guess.
std::string random_name();

class LaunchRanks {
 public:
  // `restart`: how often this run has been started before.
  LaunchRanks(const LaunchOptions& options, const std::string& file, const std::string& job, int restart);
  // Until all have ended.
  void run(LaunchSignals& signals);
  LaunchRecord record() const;
  // By a signal to the launcher.
  bool was_told_to_end() const {
    return forwarded_.contains(SIGINT) || forwarded_.contains(SIGTERM) || forwarded_.contains(SIGHUP);
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Rank {
    LaunchOutput output, errors;
    std::unique_ptr<Process> process;
    std::optional<ProcessEnd> end = {};
    bool was_told = false;                              // to end, before it did
    std::optional<Clock::time_point> continue_at = {};  // chaos has stopped it
  };

  void start(int rank, const std::vector<std::string>& environment, const std::string& file);
  void wait(LaunchSignals& signals);
  void pass_on_the_rest(LaunchSignals& signals);
  void forward(int number);
  void look_after(int rank);
  void hear();
  void end_others();
  bool all_ended() const;
  bool ended_as_told(const RunVerdict& verdict) const;
  std::string last_lines(size_t rank) const;
  void see_ranks();

  const LaunchOptions& options_;
  LaunchStream output_, errors_;
  const std::string run_, secret_;
  ControlServer control_;
  std::shared_ptr<Board> board_;
  LaunchGuard guard_;
  std::vector<ChaosEvent> stops_;  // to come
  std::vector<Rank> ranks_;
  std::vector<size_t> failed_;            // by themselves, the earliest first
  std::set<int> forwarded_;               // signals
  std::vector<LaunchRecord::Rank> seen_;  // on the board
  int64_t seen_ns_ = 0;
  std::string last_collectives_;  // when the run was given up
  std::optional<Clock::time_point> end_at_, kill_at_;
};

}  // namespace espalier
