#include "launch/launch_ranks.h"

#include <chrono>
#include <csignal>
#include <utility>

#include "base/env.h"
#include "base/format.h"
#include "launch/control_board.h"
#include "launch/control_text.h"
#include "launch/launch_environment.h"

namespace espalier {
namespace {

constexpr double kLookAtStarter = 1;  // seconds

// Of each rank, a line.
std::string last_collectives(const Board& board) {
  std::string out;
  for (int rank = 0; rank < board.world(); ++rank) {
    if (const std::string text = last_collective(board, rank); !text.empty())
      out += cat("\n  | rank ", rank, ": ", text);
  }
  return out.empty() ? out : cat("\nthe last collective of each rank:", out);
}

}  // namespace

LaunchRanks::LaunchRanks(const LaunchOptions& options, const std::string& file, const std::string& job,
                         int restart)
    : options_(options),
      run_(start_name(job, restart)),
      secret_(random_name() + random_name()),
      // Every user of this host sees it in /proc/net/unix, and records of runs are files named by their ids.
      control_(cat("unix:@espalier-", random_name()), coordination(options, run_, secret_)),
      tally_(options.ranks, options.starter) {
  HostRanks::Options host{.count = options.ranks,
                          .world = options.ranks,
                          .file = file,
                          .words = options.program,
                          .environment = with_variables(outer_environment(), options.environment),
                          .starter = options.starter,
                          .prefix = options.prefix,
                          .output = options.output,
                          .errors = options.errors,
                          .input = true};
  const auto set = [&](const char* name, const auto& value) {
    host.environment.push_back(cat(name, "=", value));
  };
  set("ESPALIER_JOB", job);
  set("ESPALIER_RESTART", restart);
  set("ESPALIER_CONTROL", control_.address());
  set("ESPALIER_SECRET", secret_);
  if (restart == 0 && !options.chaos.empty()) {
    set("ESPALIER_CHAOS", options.chaos);
    host.chaos = parse_chaos(options.chaos, options.ranks);
  }
  host_ = std::make_unique<HostRanks>(host, static_cast<HostListener&>(*this));
}

void LaunchRanks::started(int rank, int64_t pid) {
  control_.started(rank, pid);
  tally_.started(rank, pid);
  starter_ = static_cast<pid_t>(pid);
}

void LaunchRanks::ended(int rank, const ProcessEnd& seen, const std::optional<StageReport>& last) {
  const ProcessEnd end = options_.starter.empty() ? seen : starter_signals_.meant_by(seen);
  control_.ended(rank, end, last);
  tally_.ended(rank, end, host_->were_told());
}

void LaunchRanks::run(LaunchSignals& signals) {
  while (!host_->all_ended()) {
    wait(signals);
    for (const int number : signals.take()) forward(number);
    ask_starter();
    control_.serve();
    host_->look_after();
    hear();
    watch_starter();
  }
  see_ranks();
  host_->finish();
  pass_on_the_rest(signals);
}

// Readers have their time; of a launcher that was told to end not much of it.
void LaunchRanks::pass_on_the_rest(LaunchSignals& signals) {
  using Clock = std::chrono::steady_clock;
  for (std::optional<Clock::time_point> until; host_->has_output_left();) {
    for (const int number : signals.take()) forward(number);
    if (was_told_to_end() && !until) until = Clock::now() + kReading;
    if (until && Clock::now() >= *until) return;
    wait(signals);
  }
}

void LaunchRanks::wait(LaunchSignals& signals) {
  host_->wait({{signals.descriptor(), POLLIN, 0}, {control_.descriptor(), POLLIN, 0}});
}

void LaunchRanks::forward(int number) {
  tally_.forwarded(number);
  if (options_.starter.empty())
    host_->signal(number);
  else
    forward_to_starter(number);
  if (number != SIGTSTP) return;
  ::raise(SIGSTOP);
  host_->signal(SIGCONT);
}

void LaunchRanks::forward_to_starter(int number) {
  const int sent = starter_signals_.sent_for(number, posix_env().steady_seconds());
  if (sent == SIGUSR1) {
    asks_starter_ = true;
    ask_starter();
  } else if (sent != 0) {
    if (sent == SIGTERM) asks_starter_ = false;
    host_->signal(sent);
  }
}

// A starter that has no ranks yet passes signals on to nobody.
void LaunchRanks::ask_starter() {
  if (!asks_starter_ || (options_.starts_children && !has_running_children(starter_))) return;
  asks_starter_ = false;
  host_->signal(SIGUSR1);
}

// What the coordinator has found out.
void LaunchRanks::hear() {
  for (const ControlAction& action : control_.take_news()) {
    const auto* warning = std::get_if<ControlAction::Warn>(&action.is);
    if (warning && options_.say) options_.say(cat("warning: ", warning->text));
    if (const auto* given_up = std::get_if<ControlAction::GiveUp>(&action.is)) {
      see_ranks();
      last_collectives_ = last_collectives(host_->board());
      host_->give_up(to_string(given_up->verdict));
      host_->end(kHearing);
    }
  }
  // Programs that do not join have no coordinator to wait for.
  if (tally_.any_failed() && control_.joined() == 0) host_->end(std::chrono::seconds(0));
}

void LaunchRanks::watch_starter() {
  const double now = posix_env().steady_seconds();
  if (!options_.starts_children || !stuck_.empty() || now < look_at_) return;
  look_at_ = now + kLookAtStarter;
  watch_.see(has_running_children(starter_), host_->has_output_left(), now);
  if (!watch_.is_stuck(now)) return;
  stuck_ = watch_.text(options_.starter, starter_);
  host_->end(std::chrono::seconds(0));
}

void LaunchRanks::see_ranks() {
  tally_.see([&](int rank, LaunchRecord::Rank& record) {
    if (const auto at = report_of(host_->board(), rank)) record.doing = stage_text(*at);
    record.collectives = host_->board().records(rank);
  });
}

LaunchRecord LaunchRanks::record() const {
  LaunchRecord out = tally_.record(
      control_.verdict(), [&](int rank) { return host_->last_lines(rank); }, last_collectives_);
  if (!stuck_.empty()) {
    out.failure = stuck_ + host_->last_lines(0);
    out.code = kVerdictStatus;
  }
  return out;
}

}  // namespace espalier
