#include "ops/composite/cumulative.h"
#include "ops/registry.h"

namespace espalier {
namespace {

std::vector<Tensor> decompose_cummax(const DecomposeContext& c) {
  return decompose_cumulative(c, make_concrete(reducer_identity(Reducer::kMax, c.in(0).dtype())),
                              [](const Tensor& before, const Tensor& x) { return maximum(before, x); });
}

}  // namespace

const OpDef op_cummax = {
    .name = "cummax",
    .doc =
        "The largest element up to here along `axis` (from here on when `reverse`); NaN wins. c1: any "
        "elements. c2: axis in range.",
    .composite = true,
    .attributes = make_attributes<CumulativeAttributes>,
    .infer = infer_cumulative<kAnyDType>,
    .eval = eval_cumulative<Reducer::kMax>,
    .decompose = decompose_cummax,
    .batch = batch_cumulative,
    .flops_per_output = 1,
};

Tensor cummax(Operand x, int64_t axis, bool reverse) { return call_cumulative(op_cummax, x, axis, reverse); }

}  // namespace espalier
