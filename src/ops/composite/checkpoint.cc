#include "ops/regions.h"

namespace espalier {
namespace {

void infer_checkpoint(InferContext& c) {
  require_regions(c, 1);
  require_region_inputs(c, 0, 0, "c1");
  for (size_t i = 0; i < c.region(0)->outputs().size(); ++i) c.result(output_type(*c.region(0), i));
}

void eval_checkpoint(EvalContext& c) { c.runner->run(*c.regions[0], c.inputs, c.outputs); }
std::vector<Tensor> decompose_checkpoint(const DecomposeContext& c) {
  return inline_graph(*c.regions[0], c.inputs);
}

// The barrier ties the second forward computation to the gradients that need it, so that nothing merges it
// with the first or moves it up.
void gradient_checkpoint(GradientContext& c) {
  std::vector<Tensor> operands(c.inputs.begin(), c.inputs.end());
  for (const Tensor& cotangent : c.cotangents) {
    if (cotangent.defined()) operands.push_back(cotangent);
  }
  operands = optimization_barrier(operands);
  std::vector<Tensor> cotangents(c.cotangents.size());
  for (size_t i = 0, next = c.inputs.size(); i < cotangents.size(); ++i) {
    if (c.cotangents[i].defined()) cotangents[i] = operands[next++];
  }
  operands.resize(c.inputs.size());
  c.gradients = region_vjp(*c.regions[0], operands, cotangents, c.wanted);
}

void batch_checkpoint(BatchContext& c) { batch_by_regions(c, 0); }

}  // namespace

const OpDef op_checkpoint = {
    .name = "checkpoint",
    .doc =
        "The results of its region on the inputs; the gradient computes them again instead of keeping what "
        "lies "
        "between. c1: the region takes the inputs.",
    .composite = true,
    .infer = infer_checkpoint,
    .eval = eval_checkpoint,
    .decompose = decompose_checkpoint,
    .gradient = gradient_checkpoint,
    .batch = batch_checkpoint,
    .sample =
        [](DType dtype) {
          sample_regions(op_checkpoint, nullptr, {constant_like({dtype, {2}}, 1)}, 0, 1);
        },
};

}  // namespace espalier
