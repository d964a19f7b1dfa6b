// Loss and metrics of a call that a hook of fit makes.
#pragma once

#include "train/step.h"

namespace espalier {

// What a call within a run adds up is its own: when it ends, the sums of the run are what they were, and so
// is whether the run was asked to stop. Of metrics that several models share, too.
class Model::Training::OwnSums {
 public:
  // `call`: nothing happens unless it runs within another.
  OwnSums(Training& training, bool& stop, const Running& call);
  ~OwnSums();
  OwnSums(const OwnSums&) = delete;
  OwnSums& operator=(const OwnSums&) = delete;

 private:
  Training* training_;  // null: there is no other call
  bool& stop_;
  bool stop_before_;
  std::vector<std::pair<Variable, Tensor>> before_;
  DeferredReads::Taken deferred_;
};

}  // namespace espalier
