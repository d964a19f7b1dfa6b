#include "launch/host_ranks.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/format.h"
#include "base/thread_pool.h"
#include "comm/control_fd.h"
#include "comm/shm.h"
#include "launch/control_board.h"

namespace espalier {
namespace {

constexpr std::chrono::seconds kGrace{2};

// Closed when all ranks have them.
struct OwnSegments {
  explicit OwnSegments(int world) : segments(make_shared_segments(world)) {}
  ~OwnSegments() { close_segments(segments); }
  OwnSegments(const OwnSegments&) = delete;
  OwnSegments& operator=(const OwnSegments&) = delete;
  SharedSegments segments;
};

}  // namespace

HostRanks::HostRanks(const Options& options, HostListener& listener)
    : options_(options),
      listener_(listener),
      processes_(options.output, options.errors),
      stops_(options.chaos),
      continue_at_(static_cast<size_t>(options.count)) {
  std::erase_if(stops_, [](const ChaosEvent& event) { return event.kind != ChaosKind::kStop; });
  std::ranges::stable_sort(stops_, {}, &ChaosEvent::step);
  const OwnSegments shared(options.count);
  board_ = local_board_ = shm_board(shared.segments);
  ControlFd world;
  if (options.world_board) {
    world = ControlFd(make_board_segment(options.world));
    board_ = board_at(world.get());
  }
  LaunchProcesses::Start start{.file = options.file, .words = options.words, .environment = {}};
  const auto set = [&](const char* name, const auto& value) {
    start.environment.push_back(cat(name, "=", value));
  };
  for (int i = 0; i < options.count; ++i) {
    const int rank = options.first + i;
    start.environment = options.environment;
    set("ESPALIER_RANK", rank);
    set("ESPALIER_WORLD", options.world);
    set("ESPALIER_LOCAL_RANK", i);
    set("ESPALIER_LOCAL_WORLD", options.count);
    set("ESPALIER_CORES", default_threads());
    set("ESPALIER_SEGMENTS", shared.segments);
    if (world) set("ESPALIER_BOARD", world.get());
    start.in = rank == 0 && options.input && !::isatty(0) ? 0 : -1;
    start.by_lines = options.prefix || rank > 0;
    start.prefix = options.prefix ? cat("[rank ", rank, "] ") : std::string();
    listener_.started(rank, processes_.start(start).id());
  }
}

void HostRanks::look_after() {
  for (int i = 0; i < options_.count; ++i) look_after(options_.first + i);
  end_those_left();
}

void HostRanks::look_after(int rank) {
  Process& process = processes_.of(at(rank));
  if (process.ended()) return;
  const Process::Event event = processes_.poll(at(rank));
  const auto now = Clock::now();
  if (event.stopped || event.continued) listener_.stopped(rank, !event.continued);
  std::optional<Clock::time_point>& continue_at = continue_at_[at(rank)];
  const auto stop = std::ranges::find(stops_, rank, &ChaosEvent::rank);
  if (event.stopped && stop != stops_.end()) {
    continue_at = now + std::chrono::microseconds(static_cast<int64_t>(stop->seconds * 1e6));
    stops_.erase(stop);
  }
  if (continue_at && now >= *continue_at) {
    continue_at.reset();
    process.signal(SIGCONT);
  }
  if (event.end) listener_.ended(rank, *event.end, report_of(*board_, block_of(rank)));
}

void HostRanks::give_up(const std::string& verdict) {
  board_->abort(verdict);
  local_board_->abort(verdict);
}

void HostRanks::end(std::chrono::milliseconds after) {
  if (!end_at_) end_at_ = Clock::now() + after;
  end_those_left();
}

void HostRanks::end_those_left() {
  const auto now = Clock::now();
  if (end_at_ && now >= *end_at_ && !kill_at_) {
    kill_at_ = now + kGrace;
    signal(SIGTERM);
    signal(SIGCONT);
  }
  if (kill_at_ && now >= *kill_at_) signal(SIGKILL);
}

}  // namespace espalier
