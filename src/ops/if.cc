#include "ops/regions.h"

namespace espalier {
namespace {

void infer_if(InferContext& c) {
  require_regions(c, 2);
  c.require(c.size() >= 1, "arity", "takes a predicate and captured values");
  c.require_dtype(c.in(0) == TensorType{DType::kBool, {}}, "c1", "the predicate must be bool[], got ",
                  c.in(0));
  infer_branches(c);
}

void eval_if(EvalContext& c) {
  c.runner->run(*c.regions[*c.in(0).as<bool>() ? 0 : 1], c.inputs.subspan(1), c.outputs);
}

void gradient_if(GradientContext& c) { gradient_by_regions(c, op_if, 1); }

void batch_if(BatchContext& c) {
  if (!c.batched[0]) return batch_by_regions(c, 1);
  const std::vector<Tensor> yes = batched_branch(c, 0), no = batched_branch(c, 1);
  for (size_t i = 0; i < yes.size(); ++i) c.outputs.push_back(select_examples(c.in(0), yes[i], no[i]));
}

}  // namespace

const OpDef op_if = {
    .name = "if",
    .doc =
        "The results of the first region when the predicate holds, else of the second. Inputs: predicate, "
        "then "
        "what the regions capture. c1: the predicate is bool[]. c2: both regions take the captured values. "
        "c3: "
        "both give the same types.",
    .infer = infer_if,
    .eval = eval_if,
    .gradient = gradient_if,
    .batch = batch_if,
    .sample =
        [](DType dtype) {
          sample_regions(op_if, nullptr, {Tensor::scalar(true), constant_like({dtype, {2}}, 1)}, 1, 2);
        },
};

}  // namespace espalier
