#include "ops/composite/cumulative.h"
#include "ops/registry.h"

namespace espalier {
namespace {

std::vector<Tensor> decompose_cumsum(const DecomposeContext& c) {
  return decompose_cumulative(c, make_concrete(reducer_identity(Reducer::kSum, c.in(0).dtype())),
                              [](const Tensor& before, const Tensor& x) { return before + x; });
}

void gradient_cumsum(GradientContext& c) {
  const auto& a = c.attributes<CumulativeAttributes>();
  c.set(0, cumsum(c.cotangent(), a.axis, !a.reverse));
}

}  // namespace

const OpDef op_cumsum = {
    .name = "cumsum",
    .doc =
        "The sum of all elements up to here along `axis` (from here on when `reverse`); f32 accumulates in "
        "f64, f16 and bf16 in f32. c1: numbers. c2: axis in range.",
    .composite = true,
    .attributes = make_attributes<CumulativeAttributes>,
    .infer = infer_cumulative<kNumbers>,
    .eval = eval_cumulative<Reducer::kSum>,
    .decompose = decompose_cumsum,
    .gradient = gradient_cumsum,
    .batch = batch_cumulative,
    .flops_per_output = 1,
};

Tensor cumsum(Operand x, int64_t axis, bool reverse) { return call_cumulative(op_cumsum, x, axis, reverse); }

}  // namespace espalier
