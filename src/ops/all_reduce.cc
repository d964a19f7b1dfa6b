#include "ops/collective.h"

namespace espalier {
namespace {

struct AllReduceAttributes final : GlobalCollectiveAttributes {
  Reducer reducer = Reducer::kSum;
  void fields(FieldVisitor& v) override {
    GlobalCollectiveAttributes::fields(v);
    v.word("reducer", reducer, kReducerWords);
  }
};

void infer_all_reduce(InferContext& c) {
  const auto& a = c.attributes<AllReduceAttributes>();
  c.require(c.size() > 0, "arity", "takes one or more inputs");
  check_groups(c, a.groups);
  c.require(a.reducer < Reducer::kUpdate, "c3",
            "takes a sum, product, max, min, and, or or xor, no other region");
  for (size_t i = 0; i < c.size(); ++i) {
    c.require_dtype(in_set(c.in(i).dtype, reducer_set(a.reducer)), "c4",
                    kReducerWords[static_cast<int>(a.reducer)], " takes ", set_text(reducer_set(a.reducer)),
                    " elements, got ", c.in(i));
    c.require_dtype(c.in(i).dtype == c.in(0).dtype, "c5", "operands must have one dtype: ", c.in(0), " and ",
                    c.in(i));
    c.result(c.in(i));
  }
}

void eval_all_reduce(EvalContext& c) {
  const auto& a = c.attributes<AllReduceAttributes>();
  const GridPlace place = grid_place(c.context);
  std::vector<int64_t> members = own_group(place, a.groups);
  if (members.empty()) members = {place.process()};
  const auto meeting = meet(c, "all_reduce", members);
  if (!meeting) return;
  for (size_t i = 0; i < c.inputs.size(); ++i) reduce_given(a.reducer, *meeting, i, c.out(i));
}

// A sum is its own transpose: what each process gave is in the results of all.
void gradient_all_reduce(GradientContext& c) {
  const auto& a = c.attributes<AllReduceAttributes>();
  const auto [positions, cotangents] = wanted_cotangents(c);
  if (positions.empty()) return;
  const bool extreme = a.reducer == Reducer::kMax || a.reducer == Reducer::kMin;
  if (a.reducer != Reducer::kSum && !extreme) {
    throw UnsupportedError("all_reduce.gradient",
                           cat("a reduction over processes by ", kReducerWords[static_cast<int>(a.reducer)],
                               " has no gradient"));
  }
  std::vector<Tensor> sent = cotangents, hits;
  if (extreme) {
    // Those that reach the extreme share what comes, as in reduce; where one is NaN all get NaN.
    const Comparison loses = a.reducer == Reducer::kMax ? Comparison::kLT : Comparison::kGT;
    for (const size_t i : positions) {
      hits.push_back(bitwise_not(compare(c.in(i), c.out(i), loses)));
      sent.push_back(convert(hits.back(), c.in(i).dtype()));
    }
  }
  const std::vector<Tensor> sums = all_reduce(sent, Reducer::kSum, a.groups);
  for (size_t k = 0; k < positions.size(); ++k) {
    const size_t i = positions[k];
    if (!extreme) {
      c.set(i, sums[k]);
      continue;
    }
    const Tensor& out = c.out(i);
    const Tensor nan = constant_like(out.type(), std::numeric_limits<double>::quiet_NaN());
    const Tensor count = select(compare(out, out, Comparison::kEQ), sums[positions.size() + k], nan);
    c.set(i, select(hits[k], sums[k] / count, 0));
  }
}

}  // namespace

const OpDef op_all_reduce = {
    .name = "all_reduce",
    .doc =
        "Each operand combined with those of the other processes of its group, in the group's order; sums "
        "accumulate as in reduce. Without groups all ids are one; a process in none is alone. c1: ids "
        "are not negative and stand once. c2: global ids need a channel. c3: a named reducer. c4: and, or, "
        "xor take integers and bool. c5: operands of one dtype.",
    .attributes = make_attributes<AllReduceAttributes>,
    .infer = infer_all_reduce,
    .eval = eval_all_reduce,
    .gradient = gradient_all_reduce,
    .batch = batch_elementwise,
    .fallible = true,
};

std::vector<Tensor> all_reduce(const std::vector<Tensor>& values, Reducer reducer,
                               const CollectiveGroups& groups, Location at) {
  CallScope scope(at);
  auto attributes = std::make_shared<AllReduceAttributes>();
  attributes->groups = groups;
  attributes->reducer = reducer;
  return emit_all(op_all_reduce, attributes, values);
}

}  // namespace espalier
