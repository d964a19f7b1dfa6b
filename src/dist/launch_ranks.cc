#include "dist/launch_ranks.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/env.h"
#include "base/format.h"
#include "base/thread_pool.h"
#include "comm/board_layout.h"
#include "comm/control_board.h"
#include "comm/control_text.h"
#include "comm/shm.h"
#include "espalier/error.h"
#include "report/terminal.h"

extern char** environ;  // NOLINT: of the C library

namespace espalier {
namespace {

constexpr int kLookMilliseconds = 100;
// From the verdict to SIGTERM: a rank that has heard it says so and ends by itself. From there to SIGKILL.
constexpr std::chrono::seconds kHearing{1}, kGrace{2};

[[noreturn]] void no_descriptor(const char* what) {
  const bool too_many = errno == EMFILE;
  throw IoError("launch.start", cat("cannot make ", what, " for a rank: ", std::strerror(errno)),
                too_many ? "raise the limit of open files: ulimit -n 4096" : "");
}

struct Ends {
  ControlFd read, write;
};
Ends make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) no_descriptor("a pipe");
  return {ControlFd(ends[0]), ControlFd(ends[1])};
}

// Ours, without what an outer launch has set.
std::vector<std::string> outer_environment() {
  constexpr std::string_view kOurs[] = {
      "ESPALIER_RANK=",   "ESPALIER_WORLD=",   "ESPALIER_LOCAL_RANK=", "ESPALIER_LOCAL_WORLD=",
      "ESPALIER_CORES=",  "ESPALIER_JOB=",     "ESPALIER_SEGMENTS=",   "ESPALIER_CONTROL=",
      "ESPALIER_SECRET=", "ESPALIER_RESTART=", "ESPALIER_TERMINAL=",   "ESPALIER_CHAOS="};
  std::vector<std::string> out;
  for (char** at = environ; *at; ++at) {
    const std::string_view one = *at;
    if (std::ranges::none_of(kOurs, [&](std::string_view name) { return one.starts_with(name); }))
      out.emplace_back(one);
  }
  return out;
}

// Closed when all ranks have them.
struct OwnSegments {
  explicit OwnSegments(int world) : segments(make_shared_segments(world)) {}
  ~OwnSegments() { close_segments(segments); }
  OwnSegments(const OwnSegments&) = delete;
  OwnSegments& operator=(const OwnSegments&) = delete;
  SharedSegments segments;
};

// Of each rank, a line.
std::string last_collectives(const Board& board) {
  std::string out;
  for (int rank = 0; rank < board.world(); ++rank) {
    if (const std::string text = last_collective(board, rank); !text.empty())
      out += cat("\n  | rank ", rank, ": ", text);
  }
  return out.empty() ? out : cat("\nthe last collective of each rank:", out);
}

ControlCoordinator::Options coordination(const LaunchOptions& options, const std::string& run,
                                         const std::string& secret) {
  ControlCoordinator::Options out{.world = options.ranks, .secret = secret, .id = run};
  out.limits.stalled = options.stall_after;
  return out;
}

}  // namespace

std::string random_name() {
  std::string out;
  const uint64_t bits = posix_env().entropy();
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[bits >> shift & 15];
  return out;
}

LaunchRanks::LaunchRanks(const LaunchOptions& options, const std::string& file, const std::string& job,
                         int restart)
    : options_(options),
      output_(options.output),
      errors_(options.errors),
      run_(restart > 0 ? cat(job, "-", restart) : job),
      secret_(random_name() + random_name()),
      control_(cat("unix:@espalier-", run_), coordination(options, run_, secret_)) {
  const OwnSegments shared(options.ranks);
  board_ = shm_board(shared.segments);
  std::vector<std::string> environment = outer_environment();
  const auto set = [](std::vector<std::string>& to, const char* name, const auto& value) {
    to.push_back(cat(name, "=", value));
  };
  set(environment, "ESPALIER_WORLD", options.ranks);
  set(environment, "ESPALIER_LOCAL_WORLD", options.ranks);
  set(environment, "ESPALIER_CORES", default_threads());
  set(environment, "ESPALIER_JOB", job);
  set(environment, "ESPALIER_RESTART", restart);
  set(environment, "ESPALIER_SEGMENTS", shared.segments);
  set(environment, "ESPALIER_CONTROL", control_.address());
  set(environment, "ESPALIER_SECRET", secret_);
  if (restart == 0 && !options.chaos.empty()) {
    set(environment, "ESPALIER_CHAOS", options.chaos);
    stops_ = parse_chaos(options.chaos, options.ranks);
    std::erase_if(stops_, [](const ChaosEvent& event) { return event.kind != ChaosKind::kStop; });
    std::ranges::stable_sort(stops_, {}, &ChaosEvent::step);
  }
  for (int i = 0; i < options.ranks; ++i) {
    std::vector<std::string> own = environment;
    set(own, "ESPALIER_RANK", i);
    set(own, "ESPALIER_LOCAL_RANK", i);
    start(i, own, file);
  }
}

void LaunchRanks::start(int rank, const std::vector<std::string>& environment, const std::string& file) {
  const ControlFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nothing) no_descriptor("an empty input");
  Ends out = make_pipe(), err = make_pipe();
  const bool by_lines = options_.prefix || rank > 0;
  const std::string prefix = options_.prefix ? cat("[rank ", rank, "] ") : std::string();
  const int in = rank == 0 && !::isatty(0) ? 0 : nothing.get();
  std::vector<std::string> all = environment;
  const std::string terminals = by_lines ? ""
                                         : terminal_behind(out.write.get(), options_.output) +
                                               terminal_behind(err.write.get(), options_.errors);
  if (!terminals.empty()) all.push_back(cat(kTerminalBehind, "=", terminals));
  auto process = std::make_unique<Process>(file, options_.program, all,
                                           Process::Streams{in, out.write.get(), err.write.get()});
  guard_.add(process->id());
  control_.started(rank, process->id());
  ranks_.push_back({LaunchOutput(std::move(out.read), output_, by_lines, prefix),
                    LaunchOutput(std::move(err.read), errors_, by_lines, prefix), std::move(process)});
}

void LaunchRanks::run(LaunchSignals& signals) {
  while (!all_ended()) {
    wait(signals);
    for (const int number : signals.take()) forward(number);
    control_.serve();
    for (int i = 0; i < options_.ranks; ++i) look_after(i);
    hear();
    end_others();
  }
  if (seen_.empty()) see_ranks();
  // One that has left its rank's group may hold a stream open for ever.
  for (Rank& rank : ranks_) {
    rank.output.finish();
    rank.errors.finish();
  }
  pass_on_the_rest(signals);
}

// Readers have their time; of a launcher that was told to end not much of it.
void LaunchRanks::pass_on_the_rest(LaunchSignals& signals) {
  for (std::optional<Clock::time_point> until; !output_.empty() || !errors_.empty();) {
    for (const int number : signals.take()) forward(number);
    if (was_told_to_end() && !until) until = Clock::now() + kGrace;
    if (until && Clock::now() >= *until) return;
    wait(signals);
  }
}

// For what ranks write or say, a signal, or some time.
void LaunchRanks::wait(LaunchSignals& signals) {
  std::vector<pollfd> ready{{signals.descriptor(), POLLIN, 0}, {control_.descriptor(), POLLIN, 0}};
  const size_t first = ready.size();
  std::vector<LaunchOutput*> outputs;
  for (Rank& rank : ranks_) {
    for (LaunchOutput* one : {&rank.output, &rank.errors}) {
      if (one->descriptor() < 0 || !one->may_read()) continue;
      ready.push_back({one->descriptor(), POLLIN, 0});
      outputs.push_back(one);
    }
  }
  for (const LaunchStream* one : {&output_, &errors_}) {
    if (!one->empty()) ready.push_back({one->descriptor(), POLLOUT, 0});
  }
  if (::poll(ready.data(), ready.size(), kLookMilliseconds) <= 0) return;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (ready[first + i].revents) outputs[i]->pass_on();
  }
  for (LaunchStream* one : {&output_, &errors_}) one->write();
}

void LaunchRanks::forward(int number) {
  for (Rank& rank : ranks_) rank.process->signal(number);
  forwarded_.insert(number);
  if (number != SIGTSTP) return;
  ::raise(SIGSTOP);
  for (Rank& rank : ranks_) rank.process->signal(SIGCONT);
}

void LaunchRanks::look_after(int number) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  if (rank.end) return;
  const Process::Event event = rank.process->poll();
  const auto now = Clock::now();
  if (event.stopped || event.continued) control_.stopped(number, !event.continued);
  const auto stop = std::ranges::find(stops_, number, &ChaosEvent::rank);
  if (event.stopped && stop != stops_.end()) {
    rank.continue_at = now + std::chrono::microseconds(static_cast<int64_t>(stop->seconds * 1e6));
    stops_.erase(stop);
  }
  if (rank.continue_at && now >= *rank.continue_at) {
    rank.continue_at.reset();
    rank.process->signal(SIGCONT);
  }
  rank.end = event.end;
  if (!rank.end) return;
  guard_.remove(rank.process->id());
  control_.ended(number, *rank.end, report_of(*board_, number));
  // One that dies of what all were sent has done as it was told.
  rank.was_told |= rank.end->by_signal && forwarded_.contains(rank.end->number);
  if (rank.end->is_failure() && !rank.was_told) failed_.push_back(static_cast<size_t>(number));
}

// What the coordinator has found out.
void LaunchRanks::hear() {
  for (const ControlAction& action : control_.take_news()) {
    const auto* warning = std::get_if<ControlAction::Warn>(&action.is);
    if (warning && options_.say) options_.say(cat("warning: ", warning->text));
    if (const auto* given_up = std::get_if<ControlAction::GiveUp>(&action.is)) {
      see_ranks();
      last_collectives_ = last_collectives(*board_);
      board_->abort(to_string(given_up->verdict));
      end_at_ = Clock::now() + kHearing;
    }
  }
  // Programs that do not join have no coordinator to wait for.
  if (!failed_.empty() && control_.joined() == 0 && !end_at_) end_at_ = Clock::now();
}

void LaunchRanks::end_others() {
  const auto now = Clock::now();
  if (end_at_ && now >= *end_at_ && !kill_at_) {
    kill_at_ = now + kGrace;
    for (Rank& rank : ranks_) {
      if (rank.end) continue;
      rank.was_told = true;
      rank.process->signal(SIGTERM);
      rank.process->signal(SIGCONT);
    }
  }
  if (kill_at_ && now >= *kill_at_) {
    for (Rank& rank : ranks_) rank.process->signal(SIGKILL);
  }
}

bool LaunchRanks::all_ended() const {
  return std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.end.has_value(); });
}

// Before its first fit() a rank dies of a signal that lets others save.
bool LaunchRanks::ended_as_told(const RunVerdict& verdict) const {
  if (verdict.kind != VerdictKind::kEnded && verdict.kind != VerdictKind::kKilled) return false;
  const ProcessEnd& end = *ranks_[static_cast<size_t>(verdict.rank)].end;
  return end.by_signal && forwarded_.contains(end.number);
}

std::string LaunchRanks::last_lines(size_t rank) const {
  const std::deque<std::string>& lines = ranks_[rank].errors.last_lines();
  if (lines.empty()) return {};
  std::string out = cat("\nthe last ", counted(lines.size(), "line"), " of rank ", rank, ":");
  for (const std::string& line : lines) out += cat("\n  | ", line);
  return out;
}

void LaunchRanks::see_ranks() {
  for (int rank = 0; rank < options_.ranks; ++rank) {
    const std::optional<StageReport> at = report_of(*board_, rank);
    seen_.push_back({.pid = ranks_[static_cast<size_t>(rank)].process->id(),
                     .end = {},
                     .doing = at ? stage_text(*at) : std::string(),
                     .collectives = board_->records(rank)});
  }
  seen_ns_ = monotonic_ns();
}

LaunchRecord LaunchRanks::record() const {
  LaunchRecord out{.verdict = control_.verdict(), .seen_ns = seen_ns_, .ranks = seen_};
  for (size_t i = 0; i < ranks_.size(); ++i) out.ranks[i].end = *ranks_[i].end;
  if (out.verdict && ended_as_told(*out.verdict)) {
    out.code = ranks_[static_cast<size_t>(out.verdict->rank)].end->code();
    out.verdict.reset();
    return out;
  }
  if (out.verdict) {
    const int rank = out.verdict->rank;
    out.code = kVerdictStatus;
    out.failure = cat(to_string(*out.verdict),
                      rank < 0 ? std::string() : last_lines(static_cast<size_t>(rank)), last_collectives_);
    return out;
  }
  const auto told = [&](size_t rank) {
    return cat("rank ", rank, " (pid ", ranks_[rank].process->id(), ") ", *ranks_[rank].end);
  };
  if (!failed_.empty()) {
    out.code = ranks_[failed_[0]].end->code();
    out.failure = told(failed_[0]) + last_lines(failed_[0]);
    for (size_t i = 1; i < failed_.size(); ++i) out.failure += cat("\nafter it ", told(failed_[i]));
    return out;
  }
  for (const Rank& rank : ranks_) {
    if (rank.end->code() != 0 && out.code <= kPreemptedStatus) out.code = rank.end->code();
  }
  return out;
}

}  // namespace espalier
