// What signals to a launcher are to a program that starts its ranks, as mpirun does.
#pragma once

#include "launch/control_end.h"

namespace espalier {

// By SIGINT, SIGTERM and SIGHUP mpirun kills its ranks, and then its status does not say of which signal.
// SIGUSR1 it passes on to them, and by that ranks save and go, too.
class StarterSignals {
 public:
  // Seconds: who tells a process and then all of its group to end, as timeout(1) does, tells it twice.
  static constexpr double kTwice = 2;

  // What the starter gets for a signal that has come to the launcher at `now`, in seconds by a clock that
  // does not go back; 0 for nothing. The first SIGINT or SIGTERM becomes SIGUSR1. The next SIGINT, or SIGTERM
  // more than kTwice behind the first, becomes SIGTERM: the ranks end at once. So does SIGHUP.
  int sent_for(int number, double now);
  // The end of the starter, as it is of a rank that gets the launcher's signals itself: by that signal, where
  // the starter has ended its ranks for it, or they have died of SIGUSR1.
  ProcessEnd meant_by(const ProcessEnd& end) const;

 private:
  int asked_ = 0,
      ended_ = 0;  // the launcher's signals, by which ranks were told to save and go, and to end at once
  double asked_at_ = 0;
};

}  // namespace espalier
