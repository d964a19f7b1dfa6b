// Ctrl-C, SIGTERM or SIGUSR1 during a training run that can go on.
#pragma once

#include <csignal>
#include <memory>
#include <string>

#include "espalier/model.h"

namespace espalier::cli {

class HungDevice;

// While it lives, the first SIGINT, SIGTERM or SIGUSR1 is only remembered, and the next one ends the process
// as ever. Of a process that `espalier launch` has started, SIGINT alone. On a device the first one ends it
// too, where nothing that the device does has ended for ESPALIER_GRACE seconds (25) behind it: its step never
// will.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  static bool asked();
  // Whether a run ended for it.
  static bool obeyed();
  // With which status its process then ends: 42 where SIGTERM or SIGUSR1 came to a rank of `espalier launch`,
  // else 130.
  static int status();

 private:
  bool launched_ = false;  // GoSignals have the others
  struct sigaction before_[3] = {};
  std::unique_ptr<HungDevice> hung_;
};

// Ends the run after the step in which the signal came. A checkpoint holds `plan`, what else the run depends
// on, as its state of this name.
inline constexpr const char* kPlanState = "train/plan";
std::shared_ptr<Callback> StopOnInterrupt(std::string plan);

}  // namespace espalier::cli
