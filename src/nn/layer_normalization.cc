#include <algorithm>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/array.h"
#include "espalier/layers.h"

namespace espalier {

LayerNormalization::LayerNormalization(LayerNormalizationOptions options, Location at)
    : Layer(options.name, options.dtype, at), options_(std::move(options)) {
  const CallScope scope(at);
  if (!(options_.epsilon >= 0)) {
    throw ValueError("layer_normalization.epsilon",
                     cat("epsilon must not be negative, got ", shortest(options_.epsilon)));
  }
  if (options_.axis.empty())
    throw ValueError("layer_normalization.axes", "there is no axis to normalise over");
}

Dims LayerNormalization::axes(const TensorType& x) const {
  Dims out = Axes(options_.axis).of("layer_normalization", x.rank());
  std::sort(out.begin(), out.end());
  if (out[0] == 0) {
    throw ShapeError("layer_normalization.axis",
                     cat("axes ", options_.axis, " of ", x, " name the first one, which is the batch"));
  }
  return out;
}

void LayerNormalization::build(const TensorType& input) {
  Shape shape;
  for (const int64_t axis : axes(input)) shape.push_back(input.shape[static_cast<size_t>(axis)]);
  if (options_.scale) add_weight("gamma", shape, initializer("ones"), true, false);
  if (options_.center) add_weight("beta", shape, initializer("zeros"), true, false);
}

Tensor LayerNormalization::call(const Tensor& x) {
  const Dims from = axes(x.type());
  Dims to;
  Shape shape;
  for (const int64_t axis : from) {
    to.push_back(static_cast<int64_t>(x.rank() - from.size() + to.size()));
    shape.push_back(x.size(axis));
  }
  const auto weight_or = [&](bool used, const char* name, double value) {
    if (!used) return full(shape, value, variable_dtype());
    const Variable kept = weight(name);
    if (kept.shape() != shape) {
      throw ShapeError("layer_normalization.features",
                       cat("LayerNormalization was built for ", kept.shape(), ", got ", x.type()));
    }
    return kept.read();
  };
  const Tensor gamma = weight_or(options_.scale, "gamma", 1), beta = weight_or(options_.center, "beta", 0);
  if (from == to) return layer_normalization(x, gamma, beta, options_.epsilon);
  return moveaxis(layer_normalization(moveaxis(x, from, to), gamma, beta, options_.epsilon), to, from);
}

}  // namespace espalier
