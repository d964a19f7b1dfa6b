#include "ops/composite/cumulative.h"
#include "ops/composite/slopes.h"
#include "ops/registry.h"

namespace espalier {
namespace {

void eval_cumlogsumexp(EvalContext& c) {
  visit_float(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    run_along<T, double>(c, log_of_sum<double>);
  });
}

std::vector<Tensor> decompose_cumlogsumexp(const DecomposeContext& c) {
  return decompose_cumulative(c, make_concrete(reducer_identity(Reducer::kMax, c.in(0).dtype())),
                              log_add_exp);
}

}  // namespace

const OpDef op_cumlogsumexp = {
    .name = "cumlogsumexp",
    .doc =
        "log of the sum of exp of all elements up to here along `axis` (from here on when `reverse`), "
        "without overflow; accumulates in f64. c1: floating-point elements. c2: axis in range.",
    .composite = true,
    .attributes = make_attributes<CumulativeAttributes>,
    .infer = infer_cumulative<kFloats>,
    .eval = eval_cumlogsumexp,
    .decompose = decompose_cumlogsumexp,
    .batch = batch_cumulative,
    .flops_per_output = 20,
};

Tensor cumlogsumexp(Operand x, int64_t axis, bool reverse) {
  return call_cumulative(op_cumlogsumexp, x, axis, reverse);
}

}  // namespace espalier
