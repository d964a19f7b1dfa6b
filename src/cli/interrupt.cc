#include "cli/interrupt.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>

#include "base/env.h"
#include "base/format.h"
#include "base/thread_stacks.h"
#include "cli/common.h"
#include "espalier/devices.h"
#include "espalier/run_context.h"
#include "ir/device.h"
#include "launch/control_end.h"
#include "launch/launch_environment.h"
#include "strategy/replicas.h"

namespace espalier::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1};
volatile std::sig_atomic_t interrupted = 0;
bool obeyed = false;

class Stop final : public Callback {
 public:
  explicit Stop(std::string plan) : plan_(std::move(plan)) {}
  void on_batch_end(int64_t, const Logs&) override {
    if (!InterruptScope::asked()) return;
    obeyed = true;
    const auto& replicas = current_replicas();
    if (replicas && replicas->mesh().workers > 1) return replicas->membership().go();
    model().stop_training();
  }
  void save_state(CallbackState& state) const override { state.put_text(kPlanState, plan_); }

 private:
  std::string plan_;
};

// Less than the 30 s after which Slurm and Kubernetes kill.
double grace() {
  constexpr double kGrace = 25;
  const char* const given = std::getenv("ESPALIER_GRACE");
  const double seconds = given ? std::atof(given) : 0;
  return seconds > 0 ? seconds : kGrace;
}

// Grows with all that a device ends or begins, which waits for what it has begun.
int64_t work_of(const std::string& device) {
  const DeviceCounters all = device_counters(device);
  return all.compiles + all.loads + all.executes + all.uploads + all.downloads;
}

}  // namespace

class HungDevice {
 public:
  HungDevice(std::string device, std::shared_ptr<Replicas> replicas)
      : device_(std::move(device)), replicas_(std::move(replicas)) {}
  ~HungDevice() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      over_ = true;
    }
    is_over_.notify_all();
    thread_.join();
  }
  HungDevice(const HungDevice&) = delete;
  HungDevice& operator=(const HungDevice&) = delete;

 private:
  int told() const {
    if (interrupted) return interrupted;
    return replicas_ && replicas_->membership().asked_to_go() ? SIGTERM : 0;
  }
  void watch() {
    int64_t seen = -1;
    double since = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    while (!is_over_.wait_for(lock, std::chrono::milliseconds(100), [this] { return over_; })) {
      const int signal = told();
      if (!signal) continue;
      const int64_t work = work_of(device_);
      const double now = posix_env().steady_seconds();
      if (work != seen) {
        seen = work;
        since = now;
      } else if (now - since >= grace()) {
        end(signal, now - since);
      }
    }
  }
  [[noreturn]] void end(int signal, double seconds) const {
    say_aside(cat("\ntold to end by signal ", signal, ", and nothing on ", device_, " has ended for ",
                  static_cast<int64_t>(seconds), " s: the run ends here, with what was saved before\n"));
    ::signal(signal, SIG_DFL);
    ::kill(::getpid(), signal);
    constexpr int kBySignal = 128;
    std::_Exit(kBySignal + signal);
  }

  const std::string device_;
  const std::shared_ptr<Replicas> replicas_;
  std::mutex mutex_;
  std::condition_variable is_over_;
  bool over_ = false;
  std::thread thread_ = thread_with_stack([this] { watch(); });
};

InterruptScope::InterruptScope() {
  interrupted = 0;
  cli::obeyed = false;
  struct sigaction action = {};
  action.sa_handler = [](int number) {
    interrupted = number;
    for (const int signal : kSignals) ::signal(signal, SIG_DFL);
  };
  action.sa_flags = SA_RESTART;
  // To workers SIGTERM may come twice, from the launcher and from who ends its group: GoSignals look for it,
  // and for SIGUSR1.
  const auto& replicas = current_replicas();
  launched_ = replicas && replicas->mesh().launched;
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    if (!launched_ || kSignals[i] == SIGINT) ::sigaction(kSignals[i], &action, &before_[i]);
  }
  if (const Device* const device = RunContext::current().device)
    hung_ = std::make_unique<HungDevice>(device->name(), replicas);
}
InterruptScope::~InterruptScope() {
  hung_.reset();
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    if (!launched_ || kSignals[i] == SIGINT) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
}
bool InterruptScope::asked() { return interrupted != 0; }
bool InterruptScope::obeyed() { return cli::obeyed; }
int InterruptScope::status() {
  // The only rank of an mpirun is no worker.
  const bool told = interrupted != SIGINT && std::getenv(kLaunchVariable);
  return told ? kPreemptedStatus : 128 + SIGINT;
}

std::shared_ptr<Callback> StopOnInterrupt(std::string plan) {
  return std::make_shared<Stop>(std::move(plan));
}

}  // namespace espalier::cli
