// First values of variables, by Keras' names and formulas.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "espalier/tensor.h"

namespace espalier {

// Makes the first value of a variable: (shape, seed of this variable) -> f32 tensor. Any such function is
// one.
class Initializer {
 public:
  // By Keras' names, with its defaults: "zeros", "ones", "constant" (0), "identity", "orthogonal",
  // "random_uniform" ("uniform"), "random_normal" ("normal"), "truncated_normal", "variance_scaling",
  // "glorot_uniform", "glorot_normal", "he_uniform", "he_normal", "lecun_uniform", "lecun_normal". Raises
  // ValueError[initializer.name] with the nearest known names.
  Initializer(const std::string& name, Location at = Location::here());
  Initializer(const char* name, Location at = Location::here()) : Initializer(std::string(name), at) {}
  template <class F>
  requires std::is_invocable_r_v<Tensor, const F&, const Shape&, uint64_t> Initializer(F function)
      : function_(std::move(function)) {}

  Tensor operator()(const Shape& shape, uint64_t seed) const { return function_(shape, seed); }

 private:
  std::function<Tensor(const Shape& shape, uint64_t seed)> function_;
};
// The one of that name.
inline Initializer initializer(const std::string& name, Location at = Location::here()) { return {name, at}; }

namespace initializers {

Initializer Constant(double value = 0);
// gain on the diagonal, 0 elsewhere. Raises ShapeError[identity.rank], when it is called, unless the shape
// has two axes.
Initializer Identity(double gain = 1);
// gain times a matrix with orthonormal rows or columns, whichever are fewer, each such matrix as likely as
// any other; all axes but the last count as one. Raises ShapeError[orthogonal.rank], when it is called, for
// less than two axes.
Initializer Orthogonal(double gain = 1);

struct RandomUniformOptions {
  double minval = -0.05, maxval = 0.05;
};
// Raises ValueError[random_uniform.range] unless both are finite and minval <= maxval.
Initializer RandomUniform(RandomUniformOptions options = {}, Location at = Location::here());
struct RandomNormalOptions {
  double mean = 0, stddev = 0.05;
};
// Raise ValueError[random_normal.mean], [.stddev], or [truncated_normal...], unless both are finite and
// stddev is not negative.
Initializer RandomNormal(RandomNormalOptions options = {}, Location at = Location::here());
// Without what is more than two deviations from the mean, which leaves 0.88 stddev.
Initializer TruncatedNormal(RandomNormalOptions options = {}, Location at = Location::here());

struct VarianceScalingOptions {
  double scale = 1;                               // positive
  std::string mode = "fan_in";                    // or "fan_out", "fan_avg"
  std::string distribution = "truncated_normal";  // or "untruncated_normal", "uniform"
};
// Zero mean and the variance scale / fan, also of a truncated normal distribution; glorot is {1, "fan_avg"},
// he {2, "fan_in"}, lecun {1, "fan_in"}. Fans: the last axis of a shape is the output, the one before the
// input, the rest is the receptive field, a factor of both; one axis is both. Raises
// ValueError[variance_scaling.scale], [.mode], [.distribution].
Initializer VarianceScaling(VarianceScalingOptions options = {}, Location at = Location::here());

}  // namespace initializers
}  // namespace espalier
