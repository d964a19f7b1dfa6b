#include "dist/launch.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>

#include "base/env.h"
#include "base/format.h"
#include "comm/control_fd.h"
#include "dist/launch_output.h"
#include "dist/launch_process.h"
#include "dist/launch_signals.h"
#include "espalier/error.h"

extern char** environ;  // NOLINT: of the C library

namespace espalier {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kGrace{2};

struct Ends {
  ControlFd read, write;
};
Ends make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw IoError("launch.start", cat("cannot make a pipe: ", std::strerror(errno)));
  return {ControlFd(ends[0]), ControlFd(ends[1])};
}

std::string hex(uint64_t bits) {
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[bits >> shift & 15];
  return out;
}

// Ours without what an outer launch has set.
std::vector<std::string> outer_environment() {
  constexpr std::string_view kOurs[] = {
      "ESPALIER_RANK=",    "ESPALIER_WORLD=",    "ESPALIER_LOCAL_RANK=", "ESPALIER_LOCAL_WORLD=",
      "ESPALIER_JOB=",     "ESPALIER_SEGMENTS=", "ESPALIER_CONTROL=",    "ESPALIER_SECRET=",
      "ESPALIER_RESTART=", "ESPALIER_CHAOS="};
  std::vector<std::string> out;
  for (char** at = environ; *at; ++at) {
    const std::string_view one = *at;
    if (std::ranges::none_of(kOurs, [&](std::string_view name) { return one.starts_with(name); }))
      out.emplace_back(one);
  }
  return out;
}

struct Rank {
  LaunchOutput output, errors;
  std::unique_ptr<Process> process;
  std::optional<ProcessEnd> end = {};
  bool was_told = false;  // to end, before it did
};

// All ranks from their start to their end.
class Ranks {
 public:
  Ranks(const LaunchOptions& options, const std::string& file);
  void run(LaunchSignals& signals);
  LaunchOutcome outcome() const;

 private:
  void wait(LaunchSignals& signals);
  void forward(int number);
  void look_after();
  void end_others();
  bool all_ended() const {
    return std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.end.has_value(); });
  }
  std::string told(size_t rank) const {
    return cat("rank ", rank, " (pid ", ranks_[rank].process->id(), ") ", *ranks_[rank].end);
  }

  std::vector<Rank> ranks_;
  std::vector<size_t> failed_;  // by themselves, the earliest first
  std::optional<Clock::time_point> kill_at_;
};

Ranks::Ranks(const LaunchOptions& options, const std::string& file) {
  const std::vector<std::string> outer = outer_environment();
  const std::string job = hex(posix_env().entropy());
  const ControlFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int i = 0; i < options.ranks; ++i) {
    std::vector<std::string> environment = outer;
    const auto set = [&](const char* name, const std::string& value) {
      environment.push_back(cat(name, "=", value));
    };
    set("ESPALIER_RANK", cat(i));
    set("ESPALIER_WORLD", cat(options.ranks));
    set("ESPALIER_LOCAL_RANK", cat(i));
    set("ESPALIER_LOCAL_WORLD", cat(options.ranks));
    set("ESPALIER_JOB", job);
    Ends out = make_pipe(), err = make_pipe();
    const bool by_lines = options.prefix || i > 0;
    const std::string prefix = options.prefix ? cat("[rank ", i, "] ") : std::string();
    const int in = i == 0 && !::isatty(0) ? 0 : nothing.get();
    auto process = std::make_unique<Process>(file, options.program, environment,
                                             Process::Streams{in, out.write.get(), err.write.get()});
    ranks_.push_back({LaunchOutput(std::move(out.read), options.output, by_lines, prefix),
                      LaunchOutput(std::move(err.read), options.errors, by_lines, prefix),
                      std::move(process)});
  }
}

void Ranks::run(LaunchSignals& signals) {
  while (!all_ended()) {
    wait(signals);
    for (const int number : signals.take()) forward(number);
    look_after();
  }
  // One that has left its rank's group may hold a stream open for ever.
  for (Rank& rank : ranks_) {
    rank.output.finish();
    rank.errors.finish();
  }
}

// For what ranks write, a signal, or some time.
void Ranks::wait(LaunchSignals& signals) {
  std::vector<pollfd> ready{{signals.descriptor(), POLLIN, 0}};
  std::vector<LaunchOutput*> outputs;
  for (Rank& rank : ranks_) {
    for (LaunchOutput* one : {&rank.output, &rank.errors}) {
      if (one->descriptor() < 0) continue;
      ready.push_back({one->descriptor(), POLLIN, 0});
      outputs.push_back(one);
    }
  }
  if (::poll(ready.data(), ready.size(), 100) <= 0) return;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (ready[i + 1].revents) outputs[i]->pass_on();
  }
}

void Ranks::forward(int number) {
  for (Rank& rank : ranks_) rank.process->signal(number);
  if (number != SIGTSTP) return;
  ::raise(SIGSTOP);
  for (Rank& rank : ranks_) rank.process->signal(SIGCONT);
}

void Ranks::look_after() {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    if (rank.end) continue;
    rank.end = rank.process->poll().end;
    if (rank.end && rank.end->is_failure() && !rank.was_told) failed_.push_back(i);
  }
  if (!failed_.empty()) end_others();
}

void Ranks::end_others() {
  const auto now = Clock::now();
  if (!kill_at_) {
    kill_at_ = now + kGrace;
    for (Rank& rank : ranks_) {
      if (rank.end) continue;
      rank.was_told = true;
      rank.process->signal(SIGTERM);
      rank.process->signal(SIGCONT);
    }
  } else if (now >= *kill_at_) {
    for (Rank& rank : ranks_) rank.process->signal(SIGKILL);
  }
}

LaunchOutcome Ranks::outcome() const {
  LaunchOutcome out;
  for (const Rank& rank : ranks_) {
    if (rank.end->number == kPreemptedStatus && !rank.end->by_signal) out.code = kPreemptedStatus;
  }
  if (failed_.empty()) return out;
  const size_t first = failed_[0];
  out.code = ranks_[first].end->code();
  out.failure = told(first);
  const std::deque<std::string>& lines = ranks_[first].errors.last_lines();
  if (!lines.empty()) out.failure += cat("; its last ", counted(lines.size(), "line"), ":");
  for (const std::string& line : lines) out.failure += cat("\n  | ", line);
  for (size_t i = 1; i < failed_.size(); ++i) out.failure += cat("\nafter it ", told(failed_[i]));
  return out;
}

}  // namespace

LaunchOutcome launch(const LaunchOptions& options) {
  if (options.ranks < 1 || options.ranks > LaunchOptions::kMostRanks)
    throw ValueError("launch.ranks",
                     cat("a run has 1 to ", LaunchOptions::kMostRanks, " ranks, not ", options.ranks));
  if (options.program.empty()) throw ValueError("launch.words", "there is no program to run");
  const std::string file = program_file(options.program[0]);
  LaunchSignals signals;
  Ranks ranks(options, file);
  ranks.run(signals);
  return ranks.outcome();
}

}  // namespace espalier
