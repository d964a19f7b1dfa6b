#include "launch/late_signals.h"

#include <atomic>
#include <csignal>

#include "comm/board_layout.h"

namespace espalier {
namespace {

constexpr int64_t kEnding = 2'000'000'000;
std::atomic<int64_t> late_until_ns{0};

void late_signal_came(int signal) {
  if (monotonic_ns() < late_until_ns) return;
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

void ignore_late_signal(int signal) {
  struct sigaction late = {};
  late.sa_handler = late_signal_came;
  late.sa_flags = SA_RESTART;
  late_until_ns = monotonic_ns() + kEnding;
  ::sigaction(signal, &late, nullptr);
}

}  // namespace espalier
