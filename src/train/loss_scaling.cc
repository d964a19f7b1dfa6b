#include "train/loss_scaling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "base/shortest.h"
#include "espalier/ops.h"
#include "step/finite_sum.h"
#include "strategy/replicas.h"

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

Tensor LossScaling::of_rows(const Tensor& rows) {
  const Tensor some = maximum(rows, 1), near = reduce_precision(some, 8, 0);
  return 1 / select(compare(some, near, Comparison::kGT), near * 2, near);
}

Rewrite LossScaling::scale_rows() {
  const auto run = [](const TracedGraph& program, bool again) {
    Rewritten out;
    const std::vector<NamedType> arguments = program.arguments();
    const auto place_of = [&](const char* name) {
      return static_cast<size_t>(std::ranges::find(arguments, name, &NamedType::name) - arguments.begin());
    };
    const size_t seed = place_of("seed"), weight = place_of("row_weight"), place = place_of(Replicas::kPlace);
    out.change.added_results = {kOfRows};
    out.program = trace_graph(program.graph->name(), again, arguments, [&](std::span<const Tensor> in) {
      const Tensor rows = place < in.size()
                              ? convert(reshape(slice(in[place], {1}, {2}), {}), DType::kF32)
                              : maximum(reduce_sum(in[weight], {0}), static_cast<double>(in[weight].size(0)));
      const Tensor scale = of_rows(rows);
      std::vector<Tensor> all(in.begin(), in.end());
      all[seed] = all[seed] * scale;
      Inlined step(program, all);
      step.assign_updates();
      // Before gradients, which others look for at the end.
      step.results.insert(step.results.begin(), {kOfRows, scale});
      return step.results;
    });
    return out;
  };
  return {"scale_rows", run};
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
