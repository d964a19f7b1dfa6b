#include <cmath>
#include <optional>

#include "eager/trace.h"
#include "espalier/array.h"
#include "espalier/observe.h"
#include "nn/build_transaction.h"
#include "train/metric.h"
#include "train/rows.h"

namespace espalier::metrics {
namespace {

// Sums of each output of a row, f64[outputs]; those of labels are of their distances from `origin`, so that
// labels that are all equal give exact zeros.
struct R2Sums {
  R2Sums(const std::string& name, int64_t outputs)
      : count(metric_variable(name, "count", {DType::kF64, {}})),
        origin(metric_variable(name, "origin", {DType::kF64, {outputs}})),
        sum(metric_variable(name, "sum", {DType::kF64, {outputs}})),
        squared_sum(metric_variable(name, "squared_sum", {DType::kF64, {outputs}})),
        residual(metric_variable(name, "residual", {DType::kF64, {outputs}})) {}
  Variable count, origin, sum, squared_sum, residual;
  std::vector<Variable> variables() const { return {count, origin, sum, squared_sum, residual}; }
};

// The sums of two parts, in that order, about the origin of the first, or of the second where the first has
// no rows.
std::vector<Tensor> both(std::span<const Tensor> a, std::span<const Tensor> b) {
  const Tensor origin = where(a[0] > 0, a[1], b[1]), n = b[0];
  const Tensor moved = where(n > 0, b[1] - origin, 0);
  return {a[0] + n, origin, a[2] + b[2] + moved * n, a[3] + b[3] + moved * (b[2] * 2 + moved * n),
          a[4] + b[4]};
}

struct R2Rule final : Metric::Rule {
  using Rule::Rule;

  void update(const Tensor& given_labels, const Tensor& given_outputs, const Tensor& weights) override {
    const auto [labels, outputs] = rows_of_one_shape("r2_score", given_labels, given_outputs);
    const int64_t rows = labels.size(0);
    if (rows == 0) return;
    const int64_t width = labels.type().elements() / rows;
    const auto wide = [&](const Tensor& values) {
      return convert(reshape(values, {rows, width}), DType::kF64);
    };
    R2Sums& kept = sums_for(width);
    const Tensor given = wide(labels), error = wide(outputs) - given;
    const Tensor w = convert(weights, DType::kF64);
    const Tensor origin = take(given, argmax(w, 0), 0), y = given - origin;
    const auto total = [&](const Tensor& values) {
      return reduce_sum(values * broadcast_in_dim(w, values.shape(), {0}), {0});
    };
    observe({.variables = kept.variables(),
             .increments = {reduce_sum(w, {0}), origin, total(y), total(y * y), total(error * error)},
             .combination = Combination::kJoint,
             .combine = both});
  }

  double result() const override {
    if (!sums) return std::nan("");
    const Tensor sum = sums->sum, squared = sums->squared_sum, residual = sums->residual;
    const double count = sums->count.read().item<double>();
    const size_t width = sum.data<double>().size();
    double scores = 0;
    for (size_t i = 0; i < width; ++i) {
      const double y = sum.data<double>()[i];
      const double rest = residual.data<double>()[i], spread = squared.data<double>()[i] - y * y / count;
      // Labels that are all equal: right or not.
      scores += spread == 0 ? (rest == 0 ? 1 : 0) : 1 - rest / spread;
    }
    return scores / static_cast<double>(width);
  }

  std::vector<Variable> variables() const override {
    if (!sums) return {};
    return sums->variables();
  }

  R2Sums& sums_for(int64_t width) {
    if (!sums) {
      const EagerScope eager;
      sums.emplace(name, width);
      BuildTransaction::on_refusal([this] { sums.reset(); });
      give_first(sums->variables());
    }
    if (sums->sum.shape() != Shape{width}) {
      throw ShapeError("r2_score.outputs",
                       cat("a row had ", sums->sum.shape()[0], " outputs before and has ", width, " now"));
    }
    return *sums;
  }

  std::optional<R2Sums> sums;
};

}  // namespace

Metric R2Score(const std::string& name) { return Metric(std::make_shared<R2Rule>(name)); }

}  // namespace espalier::metrics
