#include "base/format.h"
#include "base/shortest.h"
#include "espalier/array.h"
#include "espalier/layers.h"

namespace espalier {

ReLU::ReLU(ReLUOptions options, Location at)
    : Layer(options.name, options.dtype, at), options_(std::move(options)) {
  const CallScope scope(at);
  const std::pair<const char*, double> limits[] = {{"max_value", options_.max_value},
                                                   {"negative_slope", options_.negative_slope},
                                                   {"threshold", options_.threshold}};
  for (const auto& [option, value] : limits) {
    if (!(value >= 0))
      throw ValueError(cat("relu.", option), cat(option, " must not be negative, got ", shortest(value)));
  }
}

Tensor ReLU::call(const Tensor& x) {
  const auto& [max_value, slope, threshold, name, dtype] = options_;
  const bool bounded = max_value != std::numeric_limits<double>::infinity();
  if (slope != 0 && threshold == 0 && !bounded) return leaky_relu(x, slope);
  Tensor out = threshold == 0 ? relu(x) : where(greater(x, threshold), x, zeros_like(x));
  // Not minimum(), which has half a slope on the bound.
  if (bounded) out = where(greater_equal(out, max_value), full_like(out, max_value), out);
  return slope == 0 ? out : out - relu(threshold - x) * slope;
}

}  // namespace espalier
