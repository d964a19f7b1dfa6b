// Whether a device computes what this CPU computes.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace espalier::cli {

// Training steps of a workload on both, each from the state that the CPU has then.
struct CheckedSteps {
  std::string workload = {}, dtype = {};
  int steps = 0;
  double distance = 0, allowed = 0;  // the largest of a variable's values, as a share of its largest one
  std::string variable = {};         // whose it is
  double here_ms = 0, there_ms = 0;  // a step, the median; there without a look at its results
  double compile_seconds = 0;        // of the first step there
  std::string problem = {};          // "": it ran
  bool passed() const { return problem.empty() && distance <= allowed; }
};

// "mlp", "cnn" and "char_gpt" in f32, mlp and cnn under mixed_bfloat16 as well. `tell` hears of each as soon
// as it is done. What the device refuses is a problem of that workload. Raises DeviceError where the device
// cannot be used at all.
std::vector<CheckedSteps> check_steps(const DevicePlan& device, int steps,
                                      const std::function<void(const CheckedSteps&)>& tell);

// The largest distance of two numbers in one place, as a share of the largest wanted one, which counts as
// 0.05 at least; infinity where one is NaN.
double distance_of(std::span<const double> got, std::span<const double> wanted);

}  // namespace espalier::cli
