#include "train/scaled_rows.h"

#include <algorithm>

#include "espalier/ops.h"
#include "strategy/replicas.h"

namespace espalier {

Tensor ScaledRows::of_rows(const Tensor& rows) {
  const Tensor some = maximum(rows, 1), near = reduce_precision(some, 8, 0);
  return 1 / select(compare(some, near, Comparison::kGT), near * 2, near);
}

Rewrite ScaledRows::rewrite() {
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
                              ? convert(reshape(slice(in[place], {2}, {3}), {}), DType::kF32)
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

}  // namespace espalier
