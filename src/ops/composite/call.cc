#include "ops/composite/call.h"

namespace espalier {
namespace {

void infer_call(InferContext& c) {
  require_regions(c, 1);
  require_region_inputs(c, 0, 0, "c1");
  for (size_t i = 0; i < c.region(0)->outputs().size(); ++i) c.result(output_type(*c.region(0), i));
}

void eval_call(EvalContext& c) { c.runner->run(*c.regions[0], c.inputs, c.outputs); }
std::vector<Tensor> decompose_call(const DecomposeContext& c) {
  return inline_graph(*c.regions[0], c.inputs);
}
void gradient_call(GradientContext& c) { gradient_by_regions(c, op_call, 0); }
void batch_call(BatchContext& c) { batch_by_regions(c, 0); }

}  // namespace

const OpDef op_call = {
    .name = "call",
    .doc =
        "The results of its region on the inputs: a function called by name. c1: the region takes the "
        "inputs.",
    .composite = true,
    .attributes = make_attributes<CallAttributes>,
    .infer = infer_call,
    .eval = eval_call,
    .decompose = decompose_call,
    .gradient = gradient_call,
    .batch = batch_call,
    .sample =
        [](DType dtype) {
          sample_regions(op_call, std::make_shared<CallAttributes>(), {constant_like({dtype, {2}}, 1)}, 0, 1);
        },
};

}  // namespace espalier
