#include "ops/collective.h"

namespace espalier {
namespace {

struct AllGatherAttributes final : GlobalCollectiveAttributes {
  int64_t axis = 0;
  Shape shape;  // of the first result: the groups alone do not say how many partitions there are
  void fields(FieldVisitor& v) override {
    GlobalCollectiveAttributes::fields(v);
    v.field("all_gather_dim", axis);
    v.field("shape", shape);
  }
};

void infer_all_gather(InferContext& c) {
  const auto& a = c.attributes<AllGatherAttributes>();
  c.require(c.size() > 0, "arity", "takes one or more inputs");
  check_groups(c, a.groups);
  c.require_axis(a.axis, c.in(0).rank(), "c3");
  Shape cut = a.shape;
  if (cut.size() == c.in(0).rank()) cut[a.axis] = c.in(0).shape[a.axis];
  c.require(cut == c.in(0).shape, "c4", "the result may differ in axis ", a.axis, " alone: the operand is ",
            c.in(0), ", the result ", a.shape);
  const int64_t own = c.in(0).shape[a.axis], all = a.shape[a.axis];
  c.require(own ? all >= own && all % own == 0 : all == 0, "c4", "axis ", a.axis,
            " of the result must hold the operands of a group, ", own, " each, got ", all);
  for (size_t i = 0; i < c.size(); ++i) {
    c.require_axis(a.axis, c.in(i).rank(), "c3");
    TensorType out = c.in(i);
    c.require(own || out.shape[a.axis] == 0, "c5", "where axis ", a.axis,
              " of the first operand is empty, that of all is, got ", c.in(i));
    if (own) out.shape[a.axis] *= all / own;
    c.result(std::move(out));
  }
}

void eval_all_gather(EvalContext& c) {
  const auto& a = c.attributes<AllGatherAttributes>();
  const GridPlace place = grid_place(c.context);
  std::vector<int64_t> members = own_group(place, a.groups);
  if (members.empty()) members = {place.process()};
  const auto own = c.in(0).type->shape[a.axis];
  if (own && c.out(0).type->shape[a.axis] != own * static_cast<int64_t>(members.size())) {
    c.failure->set(cat("its result holds ", c.out(0).type->shape[a.axis] / own, " operands, its group has ",
                       members.size(), " processes"));
    return;
  }
  const auto meeting = meet(c, "all_gather", members);
  if (!meeting) return;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Dims strides = row_major_strides(c.out(i).type->shape);
    int64_t base = 0;
    for (const auto& given : meeting->given) {
      const ArrayView from = given[i].view();
      copy_box(from, row_major_strides(from.type->shape), 0, c.out(i), strides, base, from.type->shape);
      base += from.type->shape[a.axis] * strides[a.axis];
    }
  }
}

int64_t group_size_all_gather(const Shape& in, const Shape& out, int64_t axis) {
  return in[axis] ? out[axis] / in[axis] : 1;
}

void gradient_all_gather(GradientContext& c) {
  const auto& a = c.attributes<AllGatherAttributes>();
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.wants(i) || !c.cotangents[i].defined()) continue;
    const int64_t size = group_size_all_gather(c.in(i).shape(), c.out(i).shape(), a.axis);
    c.set(i, reduce_scatter(c.cotangents[i], a.axis, size, Reducer::kSum, a.groups));
  }
}

void batch_all_gather(BatchContext& c) {
  const auto& a = c.attributes<AllGatherAttributes>();
  const std::vector<Tensor> inputs = batch_expand_all(c);
  const Shape in = inputs[0].shape();
  c.outputs = all_gather(inputs, a.axis + 1, in[a.axis + 1] ? a.shape[a.axis] / in[a.axis + 1] : 1, a.groups);
}

void sample_all_gather(DType dtype) { all_gather({constant_like({dtype, {2}}, 1)}, 0, 2); }

}  // namespace

const OpDef op_all_gather = {
    .name = "all_gather",
    .doc =
        "The operands of a group's processes, one behind the other along `all_gather_dim`, in the group's "
        "order. Without groups all ids are one; a process in none is alone. c1: ids are not negative "
        "and stand once. c2: global ids need a channel. c3: axis in range. c4: the result differs there "
        "alone, by a whole factor. c5: empty axes together.",
    .attributes = make_attributes<AllGatherAttributes>,
    .infer = infer_all_gather,
    .eval = eval_all_gather,
    .gradient = gradient_all_gather,
    .batch = batch_all_gather,
    .fallible = true,
    .sample = sample_all_gather,
};

std::vector<Tensor> all_gather(const std::vector<Tensor>& values, int64_t axis, int64_t size,
                               const CollectiveGroups& groups, Location at) {
  CallScope scope(at);
  auto attributes = std::make_shared<AllGatherAttributes>();
  attributes->groups = groups;
  attributes->axis = values.empty() ? axis : normalize_axis("all_gather", axis, values[0].rank());
  if (!values.empty()) {
    attributes->shape = values[0].shape();
    attributes->shape[attributes->axis] *= size;
  }
  return emit_all(op_all_gather, attributes, values);
}

}  // namespace espalier
