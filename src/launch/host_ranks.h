// The ranks of one start of a run that are processes of this host.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/board.h"
#include "launch/chaos.h"
#include "launch/control_end.h"
#include "launch/control_message.h"
#include "launch/launch_processes.h"

namespace espalier {

// Who decides about them. Ranks are numbers of the run.
class HostListener {
 public:
  virtual ~HostListener() = default;
  virtual void started(int rank, int64_t pid) = 0;
  virtual void stopped(int rank, bool is_stopped) = 0;
  // `last` is what it did at its end, where its board knows.
  virtual void ended(int rank, const ProcessEnd& end, const std::optional<StageReport>& last) = 0;
};

// Starts them, passes on what they write, and ends them as it is told. None outlives it.
class HostRanks {
 public:
  struct Options {
    int first = 0, count = 1, world = 1;  // those of this host: first, first + 1, ...
    std::string file = {};
    std::vector<std::string> words = {};
    // Of all ranks, "NAME=VALUE", to which ESPALIER_RANK, ESPALIER_WORLD, ESPALIER_LOCAL_RANK,
    // ESPALIER_LOCAL_WORLD and ESPALIER_SEGMENTS are added.
    std::vector<std::string> environment = {};
    std::vector<ChaosEvent> chaos = {};  // a rank that stopped by it is continued
    std::string starter = {};            // as of LaunchOptions
    bool prefix = false;
    int output = 1, errors = 2;
    // Standard input is for rank 0.
    bool input = false;
    // They talk through an engine between hosts: ESPALIER_BOARD, on which they write instead of that of the
    // segments.
    bool world_board = false;
  };
  // Raises as LaunchProcesses::start() and make_shared_segments().
  HostRanks(const Options& options, HostListener& listener);
  HostRanks(const HostRanks&) = delete;
  HostRanks& operator=(const HostRanks&) = delete;

  // For what they write, one of these descriptors, or 100 ms.
  void wait(const std::vector<pollfd>& also) { processes_.wait(also); }
  // Tells the listener of what has happened, and does what is due.
  void look_after();
  bool all_ended() const { return processes_.all_ended(); }
  // Behind the end of all: what they wrote last. Then wait() while has_output_left().
  void finish() { processes_.finish(); }
  bool has_output_left() const { return processes_.has_output_left(); }
  // This one's so far.
  void catch_up(int rank) { processes_.catch_up(at(rank)); }
  std::string last_lines(int rank) const { return processes_.last_lines(at(rank), whose(rank)); }

  // To all of them.
  void signal(int number) { processes_.signal_all(number); }
  // Those that wait for others raise RunError[comm.verdict] with this text.
  void give_up(const std::string& verdict);
  // SIGTERM after so long, SIGKILL 2 s later. The first call counts.
  void end(std::chrono::milliseconds after);
  // They got that SIGTERM.
  bool were_told() const { return kill_at_.has_value(); }

  // On which they write; it has blocks of this host's ranks, or of all.
  const Board& board() const { return *board_; }
  int block_of(int rank) const { return board_->world() == options_.world ? rank : rank - options_.first; }

 private:
  using Clock = std::chrono::steady_clock;
  size_t at(int rank) const { return static_cast<size_t>(rank - options_.first); }
  std::string whose(int rank) const {
    return options_.starter.empty() ? "rank " + std::to_string(rank) : options_.starter;
  }
  void look_after(int rank);
  void end_those_left();

  const Options options_;
  HostListener& listener_;
  std::shared_ptr<Board> board_, local_board_;
  LaunchProcesses processes_;
  std::vector<ChaosEvent> stops_;                              // to come
  std::vector<std::optional<Clock::time_point>> continue_at_;  // chaos has stopped it
  std::optional<Clock::time_point> end_at_, kill_at_;
};

}  // namespace espalier
