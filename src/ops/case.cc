#include "ops/regions.h"

namespace espalier {
namespace {

void infer_case(InferContext& c) {
  c.require(c.regions() >= 1, "regions", "takes at least one region");
  c.require(c.size() >= 1, "arity", "takes an index and captured values");
  c.require_dtype(c.in(0) == TensorType{DType::kI32, {}}, "c1", "the index must be i32[], got ", c.in(0));
  infer_branches(c);
}

void eval_case(EvalContext& c) {
  const auto count = static_cast<int64_t>(c.regions.size());
  const int64_t index = *c.in(0).as<int32_t>();
  c.runner->run(*c.regions[index < 0 || index >= count ? count - 1 : index], c.inputs.subspan(1), c.outputs);
}

void gradient_case(GradientContext& c) { gradient_by_regions(c, op_case, 1); }

void batch_case(BatchContext& c) {
  if (!c.batched[0]) return batch_by_regions(c, 1);
  c.outputs = batched_branch(c, c.regions.size() - 1);
  for (size_t r = 0; r + 1 < c.regions.size(); ++r) {
    const Tensor here = compare(c.in(0), static_cast<int64_t>(r), Comparison::kEQ);
    const std::vector<Tensor> results = batched_branch(c, r);
    for (size_t i = 0; i < results.size(); ++i)
      c.outputs[i] = select_examples(here, results[i], c.outputs[i]);
  }
}

}  // namespace

const OpDef op_case = {
    .name = "case",
    .doc =
        "The results of the region at `index`, of the last one when there is none. Inputs: index, then what "
        "the "
        "regions capture. c1: the index is i32[]. c2: all regions take the captured values. c3: all give the "
        "same types.",
    .infer = infer_case,
    .eval = eval_case,
    .gradient = gradient_case,
    .batch = batch_case,
    .sample =
        [](DType dtype) {
          sample_regions(op_case, nullptr, {Tensor::scalar(int32_t{0}), constant_like({dtype, {2}}, 1)}, 1,
                         3);
        },
};

}  // namespace espalier
