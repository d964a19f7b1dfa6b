#include "cli/interrupt.h"

#include <iterator>

#include "dist/replicas.h"

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
    if (replicas && replicas->workers() > 1) return replicas->go();
    model().stop_training();
  }
  void save_state(CallbackState& state) const override { state.put_text(kPlanState, plan_); }

 private:
  std::string plan_;
};

}  // namespace

InterruptScope::InterruptScope() {
  interrupted = 0;
  cli::obeyed = false;
  struct sigaction action = {};
  action.sa_handler = [](int) {
    interrupted = 1;
    for (const int signal : kSignals) ::signal(signal, SIG_DFL);
  };
  action.sa_flags = SA_RESTART;
  // To workers SIGTERM may come twice, from the launcher and from who ends its group: GoSignals look for it,
  // and for SIGUSR1.
  const auto& replicas = current_replicas();
  launched_ = replicas && replicas->launched();
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    if (!launched_ || kSignals[i] == SIGINT) ::sigaction(kSignals[i], &action, &before_[i]);
  }
}
InterruptScope::~InterruptScope() {
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    if (!launched_ || kSignals[i] == SIGINT) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
}
bool InterruptScope::asked() { return interrupted != 0; }
bool InterruptScope::obeyed() { return cli::obeyed; }

std::shared_ptr<Callback> StopOnInterrupt(std::string plan) {
  return std::make_shared<Stop>(std::move(plan));
}

}  // namespace espalier::cli
