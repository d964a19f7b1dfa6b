#include "ops/composite/cumulative.h"
#include "ops/registry.h"

namespace espalier {
namespace {

std::vector<Tensor> decompose_cummin(const DecomposeContext& c) {
  return decompose_cumulative(c, make_concrete(reducer_identity(Reducer::kMin, c.in(0).dtype())),
                              [](const Tensor& before, const Tensor& x) { return minimum(before, x); });
}

}  // namespace

const OpDef op_cummin = {
    .name = "cummin",
    .doc =
        "The smallest element up to here along `axis` (from here on when `reverse`); NaN wins. c1: any "
        "elements. c2: axis in range.",
    .composite = true,
    .attributes = make_attributes<CumulativeAttributes>,
    .infer = infer_cumulative<kAnyDType>,
    .eval = eval_cumulative<Reducer::kMin>,
    .decompose = decompose_cummin,
    .batch = batch_cumulative,
    .flops_per_output = 1,
};

Tensor cummin(Operand x, int64_t axis, bool reverse) { return call_cumulative(op_cummin, x, axis, reverse); }

}  // namespace espalier
