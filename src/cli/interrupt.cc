#include "cli/interrupt.h"

#include <sstream>

#include "base/format.h"

namespace espalier::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};
volatile std::sig_atomic_t interrupted = 0;
bool obeyed = false;

// A line of a plan without its explanation.
std::string without_comment(const std::string& line) {
  const size_t end = line.find("  #");
  return line.substr(0, line.find_last_not_of(' ', end == line.npos ? end : end + 1) + 1);
}

// Of two plans that differ.
std::string first_difference(const std::string& before, const std::string& now) {
  std::istringstream a(before), b(now);
  std::string x, y;
  do {
    if (!std::getline(a, x)) x = "nothing more";
    if (!std::getline(b, y)) y = "nothing more";
  } while (x == y);
  return cat("the run was begun with ", without_comment(x), ", now it is ", without_comment(y));
}

class Stop final : public Callback {
 public:
  explicit Stop(std::string plan) : plan_(std::move(plan)) {}
  void on_batch_end(int64_t, const Logs&) override {
    if (!InterruptScope::asked()) return;
    obeyed = true;
    model().stop_training();
  }
  void save_state(CallbackState& state) const override { state.put_text("train/plan", plan_); }
  void load_state(const CallbackState& state) override {
    if (const std::string before = state.text("train/plan"); before != plan_)
      throw ValueError("train.resume", first_difference(before, plan_),
                       "repeat the command that began it, with --resume");
  }

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
  for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &action, &before_[i]);
}
InterruptScope::~InterruptScope() {
  for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}
bool InterruptScope::asked() { return interrupted != 0; }
bool InterruptScope::obeyed() { return cli::obeyed; }

std::shared_ptr<Callback> StopOnInterrupt(std::string plan) {
  return std::make_shared<Stop>(std::move(plan));
}

}  // namespace espalier::cli
