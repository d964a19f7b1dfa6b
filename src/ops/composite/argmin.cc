#include "ops/composite/arg_reduce.h"

namespace espalier {

const OpDef op_argmin = {
    .name = "argmin",
    .doc =
        "The index of the first smallest element along `axis`; NaN wins, -0 equals +0. c1: axis in range. "
        "c2: "
        "it is not empty. c3: an integer index dtype. c4: the index dtype holds every index.",
    .composite = true,
    .attributes = make_attributes<ArgAttributes>,
    .infer = infer_arg,
    .eval = eval_arg<false>,
    .decompose = decompose_arg<false>,
    .no_gradient = "the result is an index",
    .batch = batch_arg,
    .sample =
        [](DType dtype) {
          argmin(constant_like({dtype, {2}}, 1), 0);
        },
};

Tensor argmin(Operand x, int64_t axis, DType index_dtype) {
  return call_arg(op_argmin, x, axis, index_dtype);
}

}  // namespace espalier
