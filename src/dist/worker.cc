#include "dist/worker.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <optional>
#include <thread>
#include <type_traits>

#include "base/format.h"
#include "base/thread_pool.h"
#include "comm/control_board.h"
#include "comm/shm.h"
#include "dist/late_signals.h"
#include "espalier/error.h"

namespace espalier {
namespace {

constexpr int kGoSignals[] = {SIGTERM, SIGUSR1};
std::atomic<int> go_signal{0};
// What the launcher needs to see that a rank is gone, and to say so.
constexpr int kLooks = 20;
constexpr std::chrono::milliseconds kLook{50};
std::atomic<bool> has_worker{false};

std::optional<std::string> variable_of_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::string required_variable(const char* name) {
  const std::optional<std::string> text = variable_of_environment(name);
  if (text) return *text;
  throw ValueError(
      "strategy.environment",
      cat(name, " is not set, and others of ESPALIER_RANK, ESPALIER_WORLD, ESPALIER_SEGMENTS are"),
      "start the program by espalier launch");
}

int required_number(const char* name) {
  const std::string text = required_variable(name);
  int out = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && end == text.data() + text.size() && out >= 0) return out;
  throw ValueError("strategy.environment", cat(name, " is no whole number from 0 on: \"", text, "\""),
                   "start the program by espalier launch");
}

FailureCause cause_of(const std::string& rule) {
  // All ranks know these at once.
  if (rule == "comm.mismatch" || rule == "strategy.audit") return FailureCause::kMismatch;
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

std::shared_ptr<Worker> Worker::from_environment() {
  if (!variable_of_environment("ESPALIER_RANK") && !variable_of_environment("ESPALIER_WORLD") &&
      !variable_of_environment("ESPALIER_SEGMENTS"))
    return nullptr;
  const int rank = required_number("ESPALIER_RANK"), world = required_number("ESPALIER_WORLD");
  if (has_worker.exchange(true))
    throw StateError("strategy.worker", "this process is a worker of its run already",
                     "make one MultiWorkerMirrored and keep it");
  try {
    return std::shared_ptr<Worker>(new Worker(rank, world, required_variable("ESPALIER_SEGMENTS")));
  } catch (...) {
    has_worker = false;
    throw;
  }
}

Worker::Worker(int rank, int world, const std::string& segments)
    : rank_(rank),
      local_world_(variable_of_environment("ESPALIER_LOCAL_WORLD")
                       ? std::max(required_number("ESPALIER_LOCAL_WORLD"), 1)
                       : world) {
  SharedSegments shared = parse_shared_segments(segments);
  board_ = shm_board(shared);
  communicator_ = shm_communicator(shared, rank, world);
  close_segments(shared);
  chaos_ = chaos_from_environment(rank, world);
  control_ = ControlClient::from_environment(
      {.report = [this] { return report_of(*board_, rank_).value_or(StageReport()); },
       .on_verdict = [this](const RunVerdict& verdict) { hear(verdict); },
       .on_preemption =
           [this](int signal) {
             told_ = true;
             go_signal = signal;
           }});
  go_signal = 0;
}

Worker::~Worker() {
  if (!said_ && std::uncaught_exceptions() > 0)
    failed("", "its program threw");
  else
    left();
  control_.reset();
  has_worker = false;
}

void Worker::hear(const RunVerdict& verdict) {
  // A launcher that lives has lost this rank, and says so on the board; it is not the launcher that is gone.
  for (int i = 0; verdict.id.empty() && board_->verdict().empty() && i < kLooks; ++i)
    std::this_thread::sleep_for(kLook);
  board_->abort(to_string(verdict));
}

int Worker::default_threads() const {
  const int here = espalier::default_threads();
  const bool says = variable_of_environment("ESPALIER_CORES").has_value();
  return std::max(std::min((says ? required_number("ESPALIER_CORES") : here) / local_world_, here), 1);
}

std::vector<double> Worker::lateness() const {
  std::vector<double> out;
  for (int rank = 0; rank < board_->world(); ++rank)
    out.push_back(static_cast<double>(board_->lateness_of(rank).sum_ns) / 1e9);
  return out;
}

void Worker::describe(std::map<std::string, std::string> facts) {
  if (control_) control_->describe(std::move(facts));
}

void Worker::begin_step(int64_t step) {
  if (go_signal && !told_.exchange(true) && control_) control_->preempted(go_signal);
  // Once: a program may have a second fit, with steps of its own.
  const auto due = std::ranges::find(chaos_, step, &ChaosEvent::step);
  if (due != chaos_.end()) {
    const ChaosKind kind = due->kind;
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
  if (std::exchange(said_, true)) return;
  if (!control_) return communicator_->abort(what);
  control_->failed(what, cause_of(rule));
  // All hear the verdict on it, in one text.
  constexpr double kSeconds = 5;
  if (!control_->wait_for_verdict(kSeconds)) communicator_->abort(what);
}

void Worker::left() {
  if (!std::exchange(said_, true) && control_) control_->left();
}

void Worker::goes() {
  told_ = true;
  if (!go_signal) go_signal = SIGTERM;
}

bool Worker::asked_to_go() const { return go_signal || told_; }

}  // namespace espalier
