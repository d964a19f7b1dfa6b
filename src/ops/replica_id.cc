#include "ops/collective.h"

namespace espalier {
namespace {

void infer_replica_id(InferContext& c) {
  c.require_inputs(0);
  c.result({DType::kU32, {}});
}

void eval_replica_id(EvalContext& c) {
  *c.out(0).as<uint32_t>() = static_cast<uint32_t>(grid_place(c.context).replica);
}

void batch_replica_id(BatchContext& c) { c.outputs = {broadcast_to(replica_id(), {c.size})}; }

}  // namespace

const OpDef op_replica_id = {
    .name = "replica_id",
    .doc = "The number of the replica that runs, from 0, as u32.",
    .infer = infer_replica_id,
    .eval = eval_replica_id,
    .no_gradient = "an integer that depends on no operand",
    .batch = batch_replica_id,
};

Tensor replica_id(Location at) {
  CallScope scope(at);
  return emit(op_replica_id, nullptr, {});
}

}  // namespace espalier
