#include "ops/collective.h"

namespace espalier {
namespace {

struct ReduceScatterAttributes final : GlobalCollectiveAttributes {
  int64_t axis = 0;
  Reducer reducer = Reducer::kSum;
  Shape shape;  // of the result: the groups alone do not say how many partitions there are
  void fields(FieldVisitor& v) override {
    GlobalCollectiveAttributes::fields(v);
    v.field("scatter_dimension", axis);
    v.word("reducer", reducer, kReducerWords);
    v.field("shape", shape);
  }
};

void infer_reduce_scatter(InferContext& c) {
  const auto& a = c.attributes<ReduceScatterAttributes>();
  c.require_inputs(1);
  check_groups(c, a.groups);
  c.require(a.reducer < Reducer::kUpdate, "c3",
            "takes a sum, product, max, min, and, or or xor, no other region");
  c.require_dtype(in_set(c.in(0).dtype, reducer_set(a.reducer)), "c4",
                  kReducerWords[static_cast<int>(a.reducer)], " takes ", set_text(reducer_set(a.reducer)),
                  " elements, got ", c.in(0));
  c.require_axis(a.axis, c.in(0).rank(), "c5");
  Shape whole = a.shape;
  if (whole.size() == c.in(0).rank()) whole[a.axis] = c.in(0).shape[a.axis];
  c.require(whole == c.in(0).shape, "c6", "the result may differ in axis ", a.axis, " alone: the operand is ",
            c.in(0), ", the result ", a.shape);
  const int64_t part = a.shape[a.axis], all = c.in(0).shape[a.axis];
  c.require(part > 0 ? all >= part && all % part == 0 : all == 0 && part == 0, "c6", "axis ", a.axis, ", ",
            all, " long, must be cut in equal parts, got parts of ", part);
  c.result({c.in(0).dtype, a.shape});
}

void eval_reduce_scatter(EvalContext& c) {
  const auto& a = c.attributes<ReduceScatterAttributes>();
  const GridPlace place = grid_place(c.context);
  std::vector<int64_t> members = own_group(place, a.groups);
  if (members.empty()) members = {place.process()};
  const int64_t part = a.shape[a.axis], all = c.in(0).type->shape[a.axis];
  if (all != part * static_cast<int64_t>(members.size())) {
    c.failure->set(
        cat("it cuts in ", part ? all / part : 0, " parts, its group has ", members.size(), " processes"));
    return;
  }
  const auto meeting = meet(c, "reduce_scatter", members);
  if (!meeting) return;
  const Buffer buffer = allocate_buffer(c.in(0).type->bytes());
  const MutableArrayView whole{c.in(0).type, buffer.get()};
  reduce_given(a.reducer, *meeting, 0, whole);
  const Dims strides = row_major_strides(whole.type->shape);
  copy_box(whole, strides, static_cast<int64_t>(meeting->place) * part * strides[a.axis], c.out(0),
           row_major_strides(a.shape), 0, a.shape);
}

void gradient_reduce_scatter(GradientContext& c) {
  const auto& a = c.attributes<ReduceScatterAttributes>();
  if (!c.wants(0)) return;
  if (a.reducer != Reducer::kSum) {
    throw UnsupportedError("reduce_scatter.gradient",
                           cat("a reduction over processes by ", kReducerWords[static_cast<int>(a.reducer)],
                               " has no gradient"));
  }
  const int64_t part = a.shape[a.axis];
  c.set(0, all_gather({c.cotangent()}, a.axis, part ? c.in(0).shape()[a.axis] / part : 1, a.groups)[0]);
}

void batch_reduce_scatter(BatchContext& c) {
  const auto& a = c.attributes<ReduceScatterAttributes>();
  const Tensor in = batch_expand(c, 0);
  const int64_t part = a.shape[a.axis];
  c.outputs = {reduce_scatter(in, a.axis + 1, part ? in.shape()[a.axis + 1] / part : 1, a.reducer, a.groups)};
}

void sample_reduce_scatter(DType dtype) { reduce_scatter(constant_like({dtype, {2}}, 1), 0, 2); }

}  // namespace

const OpDef op_reduce_scatter = {
    .name = "reduce_scatter",
    .doc =
        "As all_reduce, then each process of the group keeps its part along `scatter_dimension`, in the "
        "group's order. c1: ids are not negative and stand once. c2: global ids need a channel. c3: a named "
        "reducer. c4: and, or, xor take integers and bool. c5: axis in range. c6: equal parts.",
    .attributes = make_attributes<ReduceScatterAttributes>,
    .infer = infer_reduce_scatter,
    .eval = eval_reduce_scatter,
    .gradient = gradient_reduce_scatter,
    .batch = batch_reduce_scatter,
    .fallible = true,
    .sample = sample_reduce_scatter,
};

Tensor reduce_scatter(Operand x, int64_t axis, int64_t size, Reducer reducer,
                      const CollectiveGroups& groups) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<ReduceScatterAttributes>();
  const Tensor& t = x.tensor();
  attributes->groups = groups;
  attributes->reducer = reducer;
  attributes->axis = normalize_axis("reduce_scatter", axis, t.rank());
  attributes->shape = t.shape();
  if (size < 1 || t.shape()[attributes->axis] % size != 0) {
    throw ShapeError("reduce_scatter.c6", cat("axis ", attributes->axis, " of ", t.type(),
                                              " cannot be cut in ", size, " equal parts"));
  }
  attributes->shape[attributes->axis] /= size;
  return emit(op_reduce_scatter, attributes, {&t, 1});
}

}  // namespace espalier
