// The state behind random numbers.
#pragma once

#include "espalier/variable.h"

namespace espalier {

// A counter-based generator: a key, and a step that each use advances. Both are variables, so traced
// functions draw new numbers at every call and checkpoints hold them. Random ops take (key, step) and give
// the same bits on every machine.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0);
  Tensor key() const { return key_.read(); }
  // The step to draw with, u64[]; the next call gets another one.
  Tensor next_step();
  // As after construction.
  void reset(uint64_t seed);
  Variable key_variable() const { return key_; }
  Variable step_variable() const { return step_; }

 private:
  Variable key_, step_;
};

// What layers draw from; set_seed resets it.
Generator& default_generator();

}  // namespace espalier
