#include "ops/composite/cumulative.h"
#include "ops/registry.h"

namespace espalier {
namespace {

std::vector<Tensor> decompose_cumprod(const DecomposeContext& c) {
  return decompose_cumulative(c, make_concrete(reducer_identity(Reducer::kProd, c.in(0).dtype())),
                              [](const Tensor& before, const Tensor& x) { return before * x; });
}

}  // namespace

const OpDef op_cumprod = {
    .name = "cumprod",
    .doc =
        "The product of all elements up to here along `axis` (from here on when `reverse`); f32 accumulates "
        "in f64, f16 and bf16 in f32. c1: numbers. c2: axis in range.",
    .composite = true,
    .attributes = make_attributes<CumulativeAttributes>,
    .infer = infer_cumulative<kNumbers>,
    .eval = eval_cumulative<Reducer::kProd>,
    .decompose = decompose_cumprod,
    .batch = batch_cumulative,
    .flops_per_output = 1,
};

Tensor cumprod(Operand x, int64_t axis, bool reverse) {
  return call_cumulative(op_cumprod, x, axis, reverse);
}

}  // namespace espalier
