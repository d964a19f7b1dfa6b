#include "ops/composite/axis.h"
#include "ops/registry.h"

namespace espalier {
namespace {

struct OneHotAttributes final : Attributes {
  int64_t depth = 0, axis = 0;
  DType dtype = DType::kF32;
  void fields(FieldVisitor& v) override {
    v.field("depth", depth);
    v.field("axis", axis);
    v.field("dtype", dtype);
  }
};

void infer_one_hot(InferContext& c) {
  c.require_inputs(1);
  const auto& a = c.attributes<OneHotAttributes>();
  c.require_dtype(is_integer(c.in(0).dtype), "c1", "indices must be integers, got ", c.in(0));
  c.require_axis(a.axis, c.in(0).rank() + 1, "c2");
  c.require(a.depth >= 0, "c3", "depth must not be negative: ", a.depth);
  Shape shape = c.in(0).shape;
  shape.insert(static_cast<size_t>(a.axis), a.depth);
  c.result({a.dtype, shape});
}

std::vector<Tensor> decompose_one_hot(const DecomposeContext& c) {
  const auto& a = c.attributes<OneHotAttributes>();
  Shape shape = c.in(0).shape();
  shape.insert(static_cast<size_t>(a.axis), a.depth);
  // In i64: a narrow index dtype may not hold `depth`. A u64 index beyond i64 becomes negative, outside too.
  const Tensor index = convert(c.in(0), DType::kI64);
  const Tensor place = iota({DType::kI64, shape}, a.axis);
  return {convert(compare(spread(index, shape, a.axis), place, Comparison::kEQ), a.dtype)};
}

void batch_one_hot(BatchContext& c) {
  const auto& a = c.attributes<OneHotAttributes>();
  c.outputs = {one_hot(c.in(0), a.depth, a.axis + 1, a.dtype)};
}

}  // namespace

const OpDef op_one_hot = {
    .name = "one_hot",
    .doc =
        "1 where the position along a new `axis` of size `depth` equals the index, else 0. c1: integer "
        "indices. c2: axis in range. c3: depth >= 0.",
    .composite = true,
    .attributes = make_attributes<OneHotAttributes>,
    .infer = infer_one_hot,
    .decompose = decompose_one_hot,
    .no_gradient = "the operand holds indices",
    .batch = batch_one_hot,
    .sample =
        [](DType dtype) {
          one_hot(constant_like({DType::kI32, {2}}, 0), 2, -1, dtype);
        },
};

Tensor one_hot(Operand indices, int64_t depth, int64_t axis, DType dtype) {
  CallScope scope(indices.at());
  auto attributes = std::make_shared<OneHotAttributes>();
  attributes->depth = depth;
  attributes->axis = normalize_axis("one_hot", axis, indices.tensor().rank() + 1);
  attributes->dtype = dtype;
  return emit(op_one_hot, attributes, {indices.tensor()});
}

}  // namespace espalier
