// The state behind random numbers.
#pragma once

#include "espalier/variable.h"

namespace espalier {

// A counter-based generator: a key, and a step that each use advances. Both are variables, so traced
// functions and loop bodies draw new numbers at every call and checkpoints hold them. The functions of ops.h
// that take (key, step) give the same bits on every machine; the members call them with the next step.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0);
  // A handle on the generator of these variables, u64[] each. Raises ValueError[generator.state] for others.
  Generator(Variable key, Variable step, Location at = Location::here());
  Tensor uniform(const Shape& shape, double low = 0, double high = 1, DType dtype = DType::kF32,
                 Location at = Location::here());
  Tensor normal(const Shape& shape, double mean = 0, double deviation = 1, DType dtype = DType::kF32,
                Location at = Location::here());
  Tensor truncated_normal(const Shape& shape, double mean = 0, double deviation = 1,
                          DType dtype = DType::kF32, Location at = Location::here());
  Tensor integers(const Shape& shape, int64_t low, int64_t high, DType dtype = DType::kI32,
                  Location at = Location::here());
  // logits [..., n] to i32[..., count].
  Tensor categorical(Operand logits, int64_t count = 1);
  Tensor permutation(int64_t n, Location at = Location::here());
  Tensor shuffle(Operand x, int64_t axis = 0);

  Tensor key() const;
  // The step to draw with, u64[]; the next call gets another one.
  Tensor next_step();
  // As after construction.
  void reset(uint64_t seed);
  Variable key_variable() const { return key_; }
  Variable step_variable() const { return step_; }

 private:
  Variable key_, step_;
};

// What layers draw from: of the current RunContext, whose seed it begins with; set_seed resets it.
Generator& default_generator();
// Its next numbers, f32: in [0, 1), and of mean 0 and deviation 1.
Tensor random_uniform(const Shape& shape, Location at = Location::here());
Tensor random_normal(const Shape& shape, Location at = Location::here());

}  // namespace espalier
