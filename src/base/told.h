// Begins and ends as they are told: one test of a pointer where nobody listens.
#pragma once

#include "espalier/run_events.h"

namespace espalier {

// Tells the begin, and the end where its scope ends, also by an exception.
class Told {
 public:
  Told(RunEvents* to, const Activity& what) : Told(to, what, true) {}
  ~Told() {
    if (to_) to_->on_end(what_);
  }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

  // It ends behind this scope: in one that resumes it.
  void goes_on() { to_ = nullptr; }
  static Told resumed(RunEvents* to, const Activity& what) { return Told(to, what, false); }

 private:
  Told(RunEvents* to, const Activity& what, bool begins) : to_(to), what_(what) {
    if (to_ && begins) to_->on_begin(what_);
  }

  RunEvents* to_;
  const Activity what_;
};

}  // namespace espalier
