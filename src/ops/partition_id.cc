#include "ops/collective.h"

namespace espalier {
namespace {

void infer_partition_id(InferContext& c) {
  c.require_inputs(0);
  c.result({DType::kU32, {}});
}

void eval_partition_id(EvalContext& c) {
  *c.out(0).as<uint32_t>() = static_cast<uint32_t>(grid_place(c.context).partition);
}

void batch_partition_id(BatchContext& c) { c.outputs = {broadcast_to(partition_id(), {c.size})}; }

}  // namespace

const OpDef op_partition_id = {
    .name = "partition_id",
    .doc = "The number of the partition that runs, from 0, as u32.",
    .infer = infer_partition_id,
    .eval = eval_partition_id,
    .no_gradient = "an integer that depends on no operand",
    .batch = batch_partition_id,
};

Tensor partition_id(Location at) {
  CallScope scope(at);
  return emit(op_partition_id, nullptr, {});
}

}  // namespace espalier
