#include "cli/device_check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "base/find_named.h"
#include "cli/common.h"
#include "cli/device_flags.h"
#include "cli/workloads.h"
#include "espalier/array.h"
#include "espalier/run_context.h"
#include "ir/device.h"

namespace espalier::cli {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}
double median_of(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

constexpr double kOfF32 = 5e-6, kOfBf16 = 2e-2;
// The largest value of a tensor counts as this much at least. Where a gradient is zero but for rounding, as
// that of a bias before a softmax, Adam divides it by its own size, and weights that begin at zero are made
// of it.
constexpr double kLeast = 0.05;

std::vector<double> numbers_of(const Variable& variable) {
  const Tensor wide = convert(to(variable.read(), "cpu"), DType::kF64);
  return wide.to_vector<double>();
}

void compare(const Variable& here, const Variable& there, CheckedSteps& out) {
  const double apart = distance_of(numbers_of(there), numbers_of(here));
  if (apart <= out.distance) return;
  out.distance = apart;
  out.variable = here.path();
}

void run_both(const Workload& workload, const DevicePlan& device, CheckedSteps& out) {
  const DTypePolicy policy = policy_of(out.dtype);
  const Prepared here = workload.prepare(policy), there = workload.prepare(policy);
  const auto step_there = [&] {
    const OnDevice scope(device);
    const auto begin = Clock::now();
    there.step();
    return seconds_since(begin);
  };
  here.step();
  out.compile_seconds = step_there();
  std::vector<double> times_here, times_there;
  for (; out.steps > 0 && static_cast<int>(times_here.size()) < out.steps;) {
    const std::vector<Variable> from = here.state(), to = there.state();
    for (size_t i = 0; i < from.size(); ++i) Variable(to[i]).assign(from[i].read());
    const auto begin = Clock::now();
    here.step();
    times_here.push_back(seconds_since(begin));
    times_there.push_back(step_there());
    for (size_t i = 0; i < from.size(); ++i) compare(from[i], to[i], out);
  }
  out.here_ms = 1e3 * median_of(times_here);
  out.there_ms = 1e3 * median_of(times_there);
}

}  // namespace

double distance_of(std::span<const double> got, std::span<const double> wanted) {
  double most = kLeast, apart = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    most = std::max(most, std::abs(wanted[i]));
    const double by = std::abs(got[i] - wanted[i]);
    apart = std::max(apart, std::isnan(by) ? std::numeric_limits<double>::infinity() : by);
  }
  return apart / most;
}

std::vector<CheckedSteps> check_steps(const DevicePlan& device, int steps,
                                      const std::function<void(const CheckedSteps&)>& tell) {
  { const OnDevice usable(device); }
  std::vector<CheckedSteps> out;
  for (const auto& [name, dtype] :
       {std::pair{"mlp", "f32"}, {"cnn", "f32"}, {"char_gpt", "f32"}, {"mlp", "bf16"}, {"cnn", "bf16"}}) {
    CheckedSteps checked{.workload = name, .dtype = dtype, .steps = steps};
    checked.allowed = checked.dtype == "f32" ? kOfF32 : kOfBf16;
    try {
      run_both(find_named("bench.workload", "workload", checked.workload, workloads()), device, checked);
    } catch (const DeviceError& error) {
      checked.problem = error.message();
    } catch (const UnsupportedError& error) {
      checked.problem = error.message();
    }
    tell(checked);
    out.push_back(std::move(checked));
  }
  return out;
}

}  // namespace espalier::cli
