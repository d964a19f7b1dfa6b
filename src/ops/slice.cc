#include "ops/slice.h"

#include "ops/call.h"
#include "ops/movement.h"
#include "ops/registry.h"

namespace espalier {
namespace {

void infer_slice(InferContext& c) {
  c.require_inputs(1);
  const auto& a = c.attributes<SliceAttributes>();
  const size_t rank = c.in(0).rank();
  c.require(a.start.size() == rank && a.limit.size() == rank && a.strides.size() == rank, "c1",
            "needs a start, a limit and a stride for each axis of ", c.in(0), ", got ", a.start, ", ",
            a.limit, " and ", a.strides);
  Shape shape;
  for (size_t i = 0; i < rank; ++i) {
    c.require(0 <= a.start[i] && a.start[i] <= a.limit[i] && a.limit[i] <= c.in(0).shape[i], "c2",
              "needs 0 <= start <= limit <= size in axis ", i, " of ", c.in(0), ": start ", a.start[i],
              ", limit ", a.limit[i]);
    c.require(a.strides[i] > 0, "c3", "strides must be positive: ", a.strides);
    const int64_t room = a.limit[i] - a.start[i];
    shape.push_back(room ? (room - 1) / a.strides[i] + 1 : 0);
  }
  c.result({c.in(0).dtype, shape});
}

void eval_slice(EvalContext& c) {
  const auto& a = c.attributes<SliceAttributes>();
  Dims strides = row_major_strides(c.in(0).type->shape);
  const int64_t base = offset_of(a.start, strides);
  for (size_t i = 0; i < strides.size(); ++i) {
    if (c.out(0).type->shape[i] > 1) strides[i] *= a.strides[i];
  }
  gather_strided(c.in(0), c.out(0), strides, base);
}

void gradient_slice(GradientContext& c) {
  const auto& a = c.attributes<SliceAttributes>();
  const Shape &in = c.in(0).shape(), &out = c.out(0).shape();
  Dims high, interior;
  for (size_t i = 0; i < in.size(); ++i) {
    const int64_t span = out[i] ? (out[i] - 1) * a.strides[i] + 1 : 0;
    high.push_back(in[i] - a.start[i] - span);
    interior.push_back(out[i] > 1 ? a.strides[i] - 1 : 0);
  }
  c.set(0, pad(c.cotangent(), 0, a.start, high, interior));
}

void batch_slice(BatchContext& c) {
  auto a = c.attributes<SliceAttributes>();
  a.start.insert(0, 0);
  a.limit.insert(0, c.size);
  a.strides.insert(0, 1);
  c.outputs = {slice(c.in(0), a.start, a.limit, a.strides)};
}

}  // namespace

const OpDef op_slice = {
    .name = "slice",
    .doc =
        "Elements start, start + stride, ... below limit of each axis. c1: one of each per axis. c2: "
        "0 <= start <= limit <= size. c3: positive strides.",
    .attributes = make_attributes<SliceAttributes>,
    .infer = infer_slice,
    .eval = eval_slice,
    .gradient = gradient_slice,
    .batch = batch_slice,
    .fusion = Fusion::kView,
};

Tensor slice(Operand x, const Dims& start, const Dims& limit, const Dims& strides) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<SliceAttributes>();
  attributes->start = start;
  attributes->limit = limit;
  attributes->strides = strides.empty() ? Dims::filled(start.size(), 1) : strides;
  return emit(op_slice, attributes, {x.tensor()});
}

}  // namespace espalier
