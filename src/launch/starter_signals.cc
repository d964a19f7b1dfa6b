#include "launch/starter_signals.h"

#include <csignal>

namespace espalier {

int StarterSignals::sent_for(int number, double now) {
  if (number == SIGUSR1) {
    if (asked_ == 0) asked_ = number;
    return number;
  }
  const bool tells_to_end = number == SIGINT || number == SIGTERM;
  if (!tells_to_end && number != SIGHUP) return number;
  if (tells_to_end && asked_ != SIGINT && asked_ != SIGTERM) {
    asked_ = number;
    asked_at_ = now;
    return SIGUSR1;
  }
  if (number == SIGTERM && now - asked_at_ <= kTwice) return 0;
  ended_ = number;
  return SIGTERM;
}

ProcessEnd StarterSignals::meant_by(const ProcessEnd& end) const {
  if (!end.is_failure()) return end;
  if (ended_) return {.by_signal = true, .number = ended_};
  if (asked_ && end.code() == ProcessEnd{true, SIGUSR1}.code()) return {.by_signal = true, .number = asked_};
  return end;
}

}  // namespace espalier
