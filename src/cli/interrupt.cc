#include "cli/interrupt.h"

#include "base/format.h"

namespace espalier::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

class Stop final : public Callback {
 public:
  explicit Stop(std::string flags) : flags_(std::move(flags)) {}
  void on_batch_end(int64_t, const Logs&) override {
    if (InterruptScope::asked()) model().stop_training();
  }
  void save_state(CallbackState& state) const override { state.put_text("train/flags", flags_); }
  void load_state(const CallbackState& state) override {
    if (const std::string before = state.text("train/flags"); before != flags_)
      throw ValueError("train.resume", cat("the run was begun with ", before, ", now it is ", flags_),
                       "repeat the command that began it, with --resume");
  }

 private:
  std::string flags_;
};

}  // namespace

InterruptScope::InterruptScope() {
  interrupted = 0;
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  ::sigaction(SIGINT, &action, &before_);
}
InterruptScope::~InterruptScope() { ::sigaction(SIGINT, &before_, nullptr); }
bool InterruptScope::asked() { return interrupted != 0; }

std::shared_ptr<Callback> StopOnInterrupt(std::string flags) {
  return std::make_shared<Stop>(std::move(flags));
}

}  // namespace espalier::cli
