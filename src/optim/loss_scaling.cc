#include "optim/loss_scaling.h"

#include <cmath>
#include <limits>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/ops.h"
#include "ops/finite_sum.h"

namespace espalier {
namespace {

Variable state(const char* name, const Tensor& value) {
  return Variable(value, {.name = cat("loss_scale/", name), .trainable = false});
}

}  // namespace

LossScaling::LossScaling(const LossScale& options)
    : options_(options),
      scale_(state("scale", full({}, options.initial))),
      good_steps_(state("good_steps", full({}, 0, DType::kI64))),
      skipped_(state("skipped", full({}, 0, DType::kI64))) {
  if (!(options.initial > 0) || !std::isfinite(static_cast<float>(options.initial)))
    throw ValueError("loss_scale.initial",
                     cat("the loss scale must be positive and finite, got ", shortest(options.initial)));
  if (options.growth_steps < 1)
    throw ValueError("loss_scale.growth_steps",
                     cat("growth_steps must be at least 1, got ", options.growth_steps));
}

Tensor LossScaling::overflow(const std::vector<Tensor>& gradients) {
  FiniteSum out;
  for (const Tensor& gradient : gradients) {
    if (gradient.defined()) out.add(gradient);
  }
  return out.value();
}

UpdateControl LossScaling::control(const Tensor& overflow, const Tensor& of_rows) const {
  Tensor scale = 1 / scale_.read();
  if (of_rows.defined()) scale = scale / of_rows;
  return {.scale = scale, .apply = compare(overflow, 0, Comparison::kEQ)};
}

void LossScaling::count(const Tensor& applies) {
  skipped_.assign(skipped_.read() + convert(~applies, DType::kI64));
  if (!options_.dynamic) return;
  const Tensor steps = good_steps_.read() + 1, scale = scale_.read();
  const Tensor grows = compare(steps, options_.growth_steps, Comparison::kEQ);
  // Twice the largest scale would be infinite, and so would every gradient.
  const Tensor doubled = minimum(scale * 2, std::ldexp(1.0, 127));
  const Tensor halved = maximum(scale / 2, std::numeric_limits<float>::min());
  scale_.assign(select(applies, select(grows, doubled, scale), halved));
  good_steps_.assign(select(applies & ~grows, steps, 0));
}

}  // namespace espalier
