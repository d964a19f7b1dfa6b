// What a step sees of its rows, beside gradients: sums of metrics, statistics of batches. It is said as
// increments with a way to combine them, so that parts of a batch add up to the whole.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "espalier/variable.h"

namespace espalier {

// How the increments of two parts of a batch become those of both.
enum class Combination : uint8_t {
  kSum,      // their sums
  kMaximum,  // their maxima, by elements
  kMean,     // increments {value, weight}: the mean by the weight f[], and the sum of weights
  kEqual,    // they are equal in all parts
  kJoint,    // by Observation::combine
};

struct Observation {
  std::vector<Variable> variables;  // what is kept of batches, at least one
  std::vector<Tensor> increments;   // of these rows alone, at least as many
  Combination combination = Combination::kSum;
  using Tensors = std::vector<Tensor>;
  // For kJoint. Associative, and parts without rows change nothing.
  std::function<Tensors(std::span<const Tensor> a, std::span<const Tensor> b)> combine = {};
  // New values of the variables, in their dtypes, from what they are and the increments of all rows. By
  // default they are combined as parts are, which needs as many increments as variables.
  std::function<Tensors(std::span<const Tensor> now, std::span<const Tensor> increments)> fold = {};
};

// Folds the increments into the variables: at once, or in the graph of a step of training where the
// increments of all parts are there. Until then a read sees the variables as they were before the step.
// Raises ValueError[observe.increments] for fewer increments than variables, or another number than the
// combination takes, [observe.combine] for kJoint without a function.
void observe(Observation observation, Location at = Location::here());

// The increments of two parts together, by `how` they are combined.
std::vector<Tensor> combine_increments(const Observation& how, std::span<const Tensor> a,
                                       std::span<const Tensor> b);

}  // namespace espalier
