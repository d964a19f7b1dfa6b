#include "base/format.h"
#include "base/shortest.h"
#include "eager/batch_place.h"
#include "espalier/layers.h"
#include "espalier/observe.h"
#include "espalier/ops.h"

namespace espalier {
namespace {

// Mean, variance and number of rows of two parts together: Chan, Golub and LeVeque 1983, of parts whose rows
// have equally many elements.
std::vector<Tensor> both_statistics(std::span<const Tensor> a, std::span<const Tensor> b) {
  const Tensor rows = a[2] + b[2], share = b[2] / maximum(rows, 1e-30), distance = b[0] - a[0];
  const Tensor mean = a[0] + distance * share;
  return {mean, a[1] + (b[1] - a[1]) * share + distance * distance * (share * (1 - share)), rows};
}

// batch_normalization() by the rows of all replicas: its formulas with sums over them.
std::vector<Tensor> synchronized_normalization(const Tensor& given, const Tensor& gamma, const Tensor& beta,
                                               const NormalizationOptions& options, const Tensor& weight) {
  const DType dtype = given.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Shape& shape = given.shape();
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = options.axis < 0 ? options.axis + rank : options.axis;
  Dims others;
  int64_t each = 1;
  for (int64_t i = 0; i < rank; ++i) {
    if (i == axis) continue;
    others.push_back(i);
    if (i > 0) each *= shape[static_cast<size_t>(i)];
  }
  const auto along = [&](const Tensor& t) { return broadcast_in_dim(t, shape, {axis}); };
  Tensor x = convert(given, dtype), mask, rows;
  if (weight.defined()) {
    mask = compare(broadcast_in_dim(weight, shape, {0}), 0, Comparison::kNE);
    x = select(mask, x, 0);
    rows = reduce_sum(weight, {0});
  } else {
    rows = full({}, static_cast<double>(shape[0]), dtype);
  }
  const int64_t features = shape[static_cast<size_t>(axis)];
  const Tensor sums = sum_over_replicas(
      concatenate({reduce_sum(x, others), reshape(rows * static_cast<double>(each), {1})}, 0), "mean");
  const Tensor all = slice(sums, {features}, {features + 1});
  const Tensor count = broadcast_in_dim(select(compare(all, 0, Comparison::kEQ), 1, all), {features}, {0});
  const Tensor mean = slice(sums, {0}, {features}) / count;
  Tensor centered = x - along(mean);
  if (weight.defined()) centered = select(mask, centered, 0);
  const Tensor variance = sum_over_replicas(reduce_sum(centered * centered, others), "variance") / count;
  const Tensor factor = rsqrt(variance + options.epsilon) * convert(gamma, dtype);
  const Tensor y = (x - along(mean)) * along(factor) + along(convert(beta, dtype));
  return {convert(y, given.dtype()), mean, variance};
}

// The statistics of no rows.
Tensor nothing_of(const Variable& feature, const Tensor& x) {
  return full(feature.type().shape, 0, x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32);
}

}  // namespace

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
  const bool trains = TrainingScope::current() && trainable(), empty = x.type().elements() == 0;
  // A part of a batch that has no rows meets the others all the same.
  if (!trains || (empty && !is_part_of_batch()))
    return batch_normalization_inference(x, gamma, beta, averages[0], averages[1], options);
  if (!options_.synchronized && x.type().elements() == gamma.type().elements())
    note_rows_interact(path(), true);
  Tensor weight = row_weight(x);
  if (weight.defined() && x.dtype() == DType::kF64) weight = convert(weight, DType::kF64);
  std::vector<Tensor> out;
  if (options_.synchronized && has_other_replicas())
    out = synchronized_normalization(x, gamma, beta, options, weight);
  else if (empty)
    // Of gamma and beta, so that these have gradients on all parts.
    out = {batch_normalization_inference(x, gamma, beta, averages[0], averages[1], options),
           nothing_of(gamma, x), nothing_of(gamma, x)};
  else
    out = batch_normalization(x, gamma, beta, options, weight);
  const Tensor rows =
      weight.defined() ? reduce_sum(weight, {0}) : full({}, static_cast<double>(x.size(0)), out[1].dtype());
  const double momentum = options_.momentum;
  const DType kept = variable_dtype();
  observe({.variables = {averages[0], averages[1]},
           .increments = {out[1], out[2], rows},
           .combination = Combination::kJoint,
           .combine = both_statistics,
           // Also where these rows are a part: others of the batch may have none.
           .fold = [momentum, kept, some = weight.defined() || is_part_of_batch()](
                       std::span<const Tensor> now, std::span<const Tensor> batch) {
             std::vector<Tensor> next;
             for (const size_t i : {0, 1}) {
               const Tensor before = convert(now[i], batch[i].dtype());
               Tensor moved = before * momentum + batch[i] * (1 - momentum);
               if (some) moved = select(compare(batch[2], 0, Comparison::kGT), moved, before);
               next.push_back(convert(moved, kept));
             }
             return next;
           }});
  return out[0];
}

}  // namespace espalier
