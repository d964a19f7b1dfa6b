#include "base/format.h"
#include "base/shortest.h"
#include "espalier/layers.h"
#include "espalier/ops.h"

namespace espalier {

BatchNormalization::BatchNormalization(BatchNormalizationOptions options, Location at)
    : Layer(options.name, options.dtype, at), options_(std::move(options)) {
  const CallScope scope(at);
  if (!(options_.momentum >= 0 && options_.momentum <= 1)) {
    throw ValueError("batch_normalization.momentum",
                     cat("momentum must lie in [0, 1], got ", shortest(options_.momentum)));
  }
}

void BatchNormalization::build(const TensorType& input) {
  const auto rank = static_cast<int64_t>(input.rank());
  const int64_t axis = options_.axis < 0 ? options_.axis + rank : options_.axis;
  if (axis < 1 || axis >= rank)
    throw ShapeError("batch_normalization.axis",
                     cat("feature axis ", options_.axis, " does not fit ", input));
  const Shape shape{input.shape[static_cast<size_t>(axis)]};
  add_weight("gamma", shape, initializer("ones"), true, false);
  add_weight("beta", shape, initializer("zeros"), true, false);
  add_weight("moving_mean", shape, initializer("zeros"), false, false);
  add_weight("moving_variance", shape, initializer("ones"), false, false);
}

Tensor BatchNormalization::call(const Tensor& x) {
  const NormalizationOptions options{.axis = options_.axis, .epsilon = options_.epsilon};
  const Variable gamma = Layer::weight("gamma"), beta = Layer::weight("beta");
  Variable averages[] = {Layer::weight("moving_mean"), Layer::weight("moving_variance")};
  const bool batch_has_values = x.type().elements() > 0;
  if (!TrainingScope::current() || !trainable() || !batch_has_values)
    return batch_normalization_inference(x, gamma, beta, averages[0], averages[1], options);
  Tensor weight = row_weight(x);
  if (weight.defined() && x.dtype() == DType::kF64) weight = convert(weight, DType::kF64);
  const std::vector<Tensor> out = batch_normalization(x, gamma, beta, options, weight);
  for (const size_t i : {0, 1}) {
    const Tensor &batch = out[i + 1], before = convert(averages[i], batch.dtype());
    Tensor next = before * options_.momentum + batch * (1 - options_.momentum);
    if (weight.defined()) next = select(compare(reduce_max(weight, {0}), 0, Comparison::kGT), next, before);
    averages[i].assign(convert(next, variable_dtype()));
  }
  return out[0];
}

}  // namespace espalier
