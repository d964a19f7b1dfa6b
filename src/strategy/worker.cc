#include "strategy/worker.h"

#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <thread>
#include <type_traits>

#include "base/format.h"
#include "espalier/error.h"
#include "launch/control_board.h"
#include "launch/late_signals.h"

namespace espalier {
namespace {

constexpr int kGoSignals[] = {SIGTERM, SIGUSR1};
std::atomic<int> go_signal{0};
// What the launcher needs to see that a rank is gone, and to say so.
constexpr int kLooks = 20;
constexpr double kAnswerSeconds = 0.3;
constexpr std::chrono::milliseconds kLook{50};
std::atomic<bool> has_worker{false};

FailureCause cause_of(const std::string& rule) {
  // All ranks know these at once.
  if (rule == "comm.mismatch" || rule == "strategy.audit" || rule == "backup.unseen")
    return FailureCause::kMismatch;
  if (rule == "comm.join") return FailureCause::kMeeting;
  return rule == "comm.verdict" ? FailureCause::kOthers : FailureCause::kOwn;
}

}  // namespace

GoSignals::GoSignals() {
  static_assert(std::size(kGoSignals) == std::extent_v<decltype(before_)>);
  struct sigaction action = {};
  action.sa_handler = [](int signal) { go_signal = signal; };
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < std::size(kGoSignals); ++i) {
    ::sigaction(kGoSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_DFL) ::sigaction(kGoSignals[i], &action, nullptr);
  }
}

GoSignals::~GoSignals() {
  for (size_t i = 0; i < std::size(kGoSignals); ++i) {
    if (before_[i].sa_handler != SIG_DFL) continue;
    if (go_signal)
      ignore_late_signal(kGoSignals[i]);
    else
      ::sigaction(kGoSignals[i], &before_[i], nullptr);
  }
}

std::shared_ptr<Worker> Worker::made(const std::function<Worker*()>& make) {
  static OwnProcess process_of_worker;
  if (has_worker.exchange(true)) {
    if (process_of_worker.forked())
      throw StateError("strategy.forked", "this process was forked by a worker of a run, and is none itself",
                       "start a program anew (exec), or fork before the strategy is made");
    throw StateError("strategy.worker", "this process is a worker of its run already",
                     "make one MultiWorkerMirrored and keep it");
  }
  process_of_worker.take();
  try {
    std::shared_ptr<Worker> worker(make());
    worker->spoken_ = std::make_unique<OwnProcessCommunicator>(*worker->communicator_);
    return worker;
  } catch (...) {
    has_worker = false;
    throw;
  }
}

Worker::Worker(int rank, int world, int local_world)
    : rank_(rank), world_(world), local_world_(local_world), chaos_(chaos_from_environment(rank, world)) {}

ControlHooks Worker::hooks() {
  go_signal = 0;
  return {.report = [this] { return report_of(*board(), rank_).value_or(StageReport()); },
          .on_verdict = [this](const RunVerdict& verdict) { hear(verdict); },
          .on_preemption =
              [this](int signal) {
                told_ = true;
                go_signal = signal;
              }};
}

std::shared_ptr<Board> Worker::board() const {
  const std::lock_guard lock(board_mutex_);
  return board_;
}

Worker::~Worker() {
  if (forked()) {
    // Threads, and places that others see, are the parent's.
    leave_behind(std::move(communicator_));
    leave_behind(std::move(control_));
    leave_behind(std::move(coordinator_));
    return;
  }
  if (!said_ && std::uncaught_exceptions() > 0)
    failed("", "its program threw");
  else
    left();
  control_.reset();
  has_worker = false;
}

void Worker::hear(const RunVerdict& verdict) {
  const std::shared_ptr<Board> board = this->board();
  // A launcher that lives has lost this rank, and says so on the board; it is not the launcher that is gone.
  for (int i = 0; verdict.id.empty() && board->verdict().empty() && i < kLooks; ++i)
    std::this_thread::sleep_for(kLook);
  board->abort(to_string(verdict));
}

std::vector<double> Worker::lateness() const {
  std::vector<double> out;
  for (int rank = 0; rank < board_->world(); ++rank)
    out.push_back(static_cast<double>(board_->lateness_of(rank).sum_ns) / 1e9);
  return out;
}

void Worker::describe(std::map<std::string, std::string> facts) {
  spoken_->require_parent();
  if (control_) control_->describe(std::move(facts));
}

// Has this process go on so many seconds later.
void Worker::continue_behind(double seconds) {
  const std::string command = cat("exec < /dev/null > /dev/null 2>&1; n=", static_cast<int64_t>(seconds * 10),
                                  "; while [ $n -gt 0 ] && kill -0 ", ::getpid(),
                                  "; do sleep 0.1; n=$((n - 1)); done; kill -CONT ", ::getpid());
  const char* const words[] = {"sh", "-c", command.c_str(), nullptr};
  pid_t pid = 0;
  // Not by fork(): an MPI process must not.
  ::posix_spawnp(&pid, words[0], nullptr, nullptr, const_cast<char* const*>(words), environ);
}

void Worker::count_calls(const std::string& function) {
  if (!forked()) board()->count_calls(rank_, function);
}

void Worker::begin_step(int64_t step) {
  spoken_->require_parent();
  if (go_signal && !told_.exchange(true) && control_) control_->preempted(go_signal);
  // Once: a program may have a second fit, with steps of its own.
  const auto due = std::ranges::find(chaos_, step, &ChaosEvent::step);
  if (due != chaos_.end()) {
    const ChaosKind kind = due->kind;
    // Launchers of others leave who is stopped.
    if (kind == ChaosKind::kStop && !by_our_launcher_) continue_behind(due->seconds);
    chaos_.erase(due);
    switch (kind) {
      case ChaosKind::kKill:
        ::kill(::getpid(), SIGKILL);
        break;
      case ChaosKind::kStop:
        ::kill(::getpid(), SIGSTOP);
        break;
      case ChaosKind::kThrow:
        throw StateError("chaos.throw", cat("--chaos has this rank throw in step ", step));
      case ChaosKind::kExit:
        std::_Exit(0);
    }
  }
}

void Worker::failed(const std::string& rule, const std::string& what) {
  if (forked() || std::exchange(said_, true)) return;
  if (!control_) return communicator_ ? communicator_->abort(what) : void();
  control_->failed(what, cause_of(rule));
  // All hear the verdict on it, in one text.
  constexpr double kSeconds = 5;
  if (!control_->wait_for_verdict(kSeconds) && communicator_) communicator_->abort(what);
}

std::optional<std::vector<std::string>> Worker::leave_with(const std::string& what) {
  if (!control_ || forked()) return std::nullopt;
  const auto key = [](int rank) { return cat("left/", rank); };
  control_->put(key(rank_), what);
  std::vector<std::string> out(static_cast<size_t>(world_));
  try {
    // Whoever puts last finds all: one that is not there within an answer's time has not left.
    for (int rank = 0; rank < world_; ++rank)
      out[static_cast<size_t>(rank)] = rank == rank_ ? what : control_->get(key(rank), kAnswerSeconds);
  } catch (const RunError& error) {
    if (error.rule() != "comm.join") throw;
  }
  return out;
}

void Worker::left() {
  if (!forked() && !std::exchange(said_, true) && control_) control_->left();
}

void Worker::goes() {
  told_ = true;
  if (!go_signal) go_signal = SIGTERM;
}

bool Worker::asked_to_go() const { return go_signal || told_; }

}  // namespace espalier
