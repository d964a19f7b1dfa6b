// Running totals along an axis: cumsum, cumprod, cummax, cummin, cumlogsumexp.
#pragma once

#include "ops/composite/axis.h"
#include "ops/reducer.h"

namespace espalier {

struct CumulativeAttributes final : Attributes {
  int64_t axis = 0;
  bool reverse = false;
  void fields(FieldVisitor& v) override {
    v.field("axis", axis);
    v.field("reverse", reverse);
  }
};

// c1: the dtype is in the set. c2: the axis is in range.
template <unsigned kSet>
void infer_cumulative(InferContext& c) {
  c.require_inputs(1);
  c.require_dtype(in_set(c.in(0).dtype, kSet), "c1", "takes ", set_text(kSet), " elements, got ", c.in(0));
  c.require_axis(c.attributes<CumulativeAttributes>().axis, c.in(0).rank(), "c2");
  c.result(c.in(0));
}

// out = total so far, where total = f(total, next) in A.
template <class T, class A, class F>
void run_along(EvalContext& c, F f) {
  const auto& a = c.attributes<CumulativeAttributes>();
  const AxisView view(c.in(0).type->shape, a.axis);
  const int64_t step = a.reverse ? -view.inner : view.inner;
  if (view.size == 0) return;
  view.lines([&](int64_t start) {
    int64_t at = start + (a.reverse ? (view.size - 1) * view.inner : 0);
    const T* x = c.in(0).as<T>();
    T* out = c.out(0).as<T>();
    A total = static_cast<A>(x[at]);
    out[at] = x[at];
    for (int64_t i = 1; i < view.size; ++i) {
      at += step;
      total = f(total, static_cast<A>(x[at]));
      out[at] = static_cast<T>(total);
    }
  });
}

template <Reducer R>
void eval_cumulative(EvalContext& c) {
  visit_dtype(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<R, T>;
    run_along<T, A>(c, [](A total, A next) { return combine<R, A>(total, next); });
  });
}

// log2(size) steps: each element is combined with the one 1, 2, 4, ... places before it, where `identity`
// stands in for what lies outside. The two runs that meet are disjoint and in order.
template <class F>
std::vector<Tensor> decompose_cumulative(const DecomposeContext& c, const Tensor& identity, F f) {
  const auto& a = c.attributes<CumulativeAttributes>();
  Tensor total = c.in(0);
  const size_t rank = total.rank();
  for (int64_t distance = 1; distance < total.shape()[a.axis]; distance *= 2) {
    Dims low = Dims::filled(rank, 0), high = low;
    low[a.axis] = a.reverse ? -distance : distance;
    high[a.axis] = -low[a.axis];
    total = f(pad(total, identity, low, high), total);
  }
  return {total};
}

inline void batch_cumulative(BatchContext& c) {
  auto attributes = std::make_shared<CumulativeAttributes>(c.attributes<CumulativeAttributes>());
  ++attributes->axis;
  c.outputs = emit_all(c.op, attributes, c.inputs);
}

inline Tensor call_cumulative(const OpDef& op, const Operand& x, int64_t axis, bool reverse) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<CumulativeAttributes>();
  attributes->axis = normalize_axis(op.name, axis, x.tensor().rank());
  attributes->reverse = reverse;
  return emit(op, attributes, {x.tensor()});
}

}  // namespace espalier
