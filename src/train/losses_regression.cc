#include <cmath>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/losses.h"
#include "espalier/ops.h"
#include "train/rows.h"

namespace espalier {
namespace {

// The mean of f(outputs - labels).
template <class F>
Loss error_loss(const std::string& name, F f) {
  return {name, [=](const Tensor& given_labels, const Tensor& given_outputs) {
            const auto [labels, outputs] = rows_of_one_shape(name, given_labels, given_outputs);
            return row_mean(f(outputs - labels));
          }};
}

}  // namespace

Loss MeanSquaredError() {
  return error_loss("mean_squared_error", [](const Tensor& error) { return error * error; });
}

Loss MeanAbsoluteError() {
  return error_loss("mean_absolute_error", [](const Tensor& error) { return abs(error); });
}

Loss Huber(HuberOptions options, Location at) {
  const CallScope scope(at);
  const double delta = options.delta;
  if (!(delta > 0 && std::isfinite(delta)))
    throw ValueError("huber.delta", cat("delta must be positive and finite, got ", shortest(delta)));
  return error_loss("huber", [delta](const Tensor& error) {
    const Tensor size = abs(error);
    return select(compare(size, delta, Comparison::kLE), error * error * 0.5,
                  size * delta - 0.5 * delta * delta);
  });
}

}  // namespace espalier
