#include "ops/call.h"
#include "ops/movement.h"
#include "ops/registry.h"

namespace espalier {
namespace {

struct BroadcastAttributes final : Attributes {
  Shape shape;
  Dims axes;
  void fields(FieldVisitor& v) override {
    v.field("shape", shape);
    v.field("broadcast_dimensions", axes);
  }
};

void infer_broadcast_in_dim(InferContext& c) {
  c.require_inputs(1);
  const auto& a = c.attributes<BroadcastAttributes>();
  c.require(a.axes.size() == c.in(0).rank(), "c1", "needs one target axis per operand axis: ", a.axes,
            " for ", c.in(0));
  for (size_t i = 0; i < a.axes.size(); ++i) {
    c.require_axis(a.axes[i], a.shape.size(), "c2");
    for (size_t j = 0; j < i; ++j)
      c.require(a.axes[i] != a.axes[j], "c3", "target axes must be distinct: ", a.axes);
    const int64_t size = c.in(0).shape[i];
    c.require(size == 1 || size == a.shape[a.axes[i]], "c4", "axis ", i, " of ", c.in(0), " must be 1 or ",
              a.shape[a.axes[i]], " to become axis ", a.axes[i], " of ", a.shape);
  }
  c.result({c.in(0).dtype, a.shape});
}

void eval_broadcast_in_dim(EvalContext& c) {
  const auto& a = c.attributes<BroadcastAttributes>();
  const Dims source = row_major_strides(c.in(0).type->shape);
  Dims strides = Dims::filled(a.shape.size(), 0);
  for (size_t i = 0; i < a.axes.size(); ++i) {
    if (c.in(0).type->shape[i] != 1) strides[a.axes[i]] = source[i];
  }
  gather_strided(c.in(0), c.out(0), strides, 0);
}

void gradient_broadcast_in_dim(GradientContext& c) {
  const auto& a = c.attributes<BroadcastAttributes>();
  const Shape& in = c.in(0).shape();
  Dims summed, order;
  for (size_t axis = 0; axis < a.shape.size(); ++axis) {
    bool keep = false;
    for (size_t i = 0; i < a.axes.size(); ++i) {
      keep = keep || (a.axes[i] == static_cast<int64_t>(axis) && (in[i] != 1 || a.shape[axis] == 1));
    }
    if (!keep) summed.push_back(static_cast<int64_t>(axis));
  }
  const Tensor reduced = reduce_sum(c.cotangent(), summed);
  // The kept axes stand in the order of the result; put them into the order of the operand.
  Dims kept_axes;
  for (size_t axis = 0; axis < a.shape.size(); ++axis) {
    if (!summed.contains(static_cast<int64_t>(axis))) kept_axes.push_back(static_cast<int64_t>(axis));
  }
  for (size_t i = 0; i < a.axes.size(); ++i) {
    for (size_t k = 0; k < kept_axes.size(); ++k) {
      if (kept_axes[k] == a.axes[i]) order.push_back(static_cast<int64_t>(k));
    }
  }
  c.set(0, reshape(transpose(reduced, order), in));
}

void batch_broadcast_in_dim(BatchContext& c) {
  const auto& a = c.attributes<BroadcastAttributes>();
  Shape shape = a.shape;
  shape.insert(0, c.size);
  Dims axes{0};
  for (const int64_t axis : a.axes) axes.push_back(axis + 1);
  c.outputs = {broadcast_in_dim(c.in(0), shape, axes)};
}

}  // namespace

const OpDef op_broadcast_in_dim = {
    .name = "broadcast_in_dim",
    .doc =
        "Axis i of the operand becomes axis broadcast_dimensions[i] of `shape`; size 1 repeats, other axes "
        "repeat. "
        "c1: one target per axis. c2: targets in range. c3: distinct. c4: sizes equal or 1.",
    .attributes = make_attributes<BroadcastAttributes>,
    .infer = infer_broadcast_in_dim,
    .eval = eval_broadcast_in_dim,
    .gradient = gradient_broadcast_in_dim,
    .batch = batch_broadcast_in_dim,
    .fusion = Fusion::kView,
};

Tensor broadcast_in_dim(Operand x, const Shape& shape, const Dims& axes) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<BroadcastAttributes>();
  attributes->shape = shape;
  attributes->axes = axes;
  return emit(op_broadcast_in_dim, attributes, {x.tensor()});
}

Tensor broadcast_to(Operand x, const Shape& shape) {
  const Tensor& t = x.tensor();
  if (t.shape() == shape) return t;
  CallScope scope(x.at());
  if (broadcast_shapes("broadcast_to", t.shape(), shape) != shape) {
    throw ShapeError("broadcast_to.broadcast", cat(t.type(), " does not broadcast to ", shape));
  }
  Dims axes;
  for (size_t i = 0; i < t.rank(); ++i) axes.push_back(static_cast<int64_t>(shape.size() - t.rank() + i));
  return broadcast_in_dim(t, shape, axes);
}

}  // namespace espalier
