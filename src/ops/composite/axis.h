// One axis in the middle of a row-major array, for composites that work along it.
#pragma once

#include "base/elementary.h"
#include "ops/elementwise.h"

namespace espalier {

struct AxisAttributes final : Attributes {
  int64_t axis = 0;
  void fields(FieldVisitor& v) override { v.field("axis", axis); }
};

// An array as [outer, size, inner] around `axis`.
struct AxisView {
  int64_t outer = 1, size = 1, inner = 1;
  AxisView(const Shape& shape, int64_t axis) {
    for (size_t i = 0; i < shape.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      (at < axis ? outer : at == axis ? size : inner) *= shape[i];
    }
  }
  // Calls f(offset of the first element) for each line along the axis.
  template <class F>
  void lines(F f) const {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) f(o * size * inner + i);
    }
  }
};

namespace {

// x - top, where `top` is the largest of x's line: 0 for inf - inf, so that elements of inf share all of the
// probability.
template <class F>
F below(F x, F top) {
  return x == std::numeric_limits<F>::infinity() ? F(0) : x - top;
}

// out[k] = e^(x[k * step] - the largest x), in float for the 16-bit types; returns the largest and the sum of
// the powers. NaN is largest.
template <class T, class F>
std::pair<F, double> exp_below_largest(const T* x, std::vector<F>& out, int64_t step = 1) {
  F top = -std::numeric_limits<F>::infinity();
  for (size_t k = 0; k < out.size(); ++k) {
    const F next = static_cast<F>(x[static_cast<int64_t>(k) * step]);
    top = next > top || std::isnan(next) ? next : top;
  }
  double sum = 0;
  for (size_t k = 0; k < out.size(); ++k)
    sum += out[k] = elementary_exp(below(static_cast<F>(x[static_cast<int64_t>(k) * step]), top));
  return {top, sum};
}

}  // namespace

// `reduced` lacks `axis` of `shape`: repeats it along that axis.
inline Tensor spread(const Tensor& reduced, const Shape& shape, int64_t axis) {
  Dims kept;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (static_cast<int64_t>(i) != axis) kept.push_back(static_cast<int64_t>(i));
  }
  return broadcast_in_dim(reduced, shape, kept);
}

// x - max x along `axis`, as below() takes it.
inline Tensor below_largest(const Tensor& x, int64_t axis) {
  const Tensor infinite = compare(x, std::numeric_limits<double>::infinity(), Comparison::kEQ);
  return select(infinite, constant_like(x.type(), 0), x - spread(reduce_max(x, {axis}), x.shape(), axis));
}

// c1: floating-point elements. c2: the axis is in range. The result has the operand's type.
inline void infer_along_axis(InferContext& c) {
  c.require_inputs(1);
  c.require_dtype(is_float(c.in(0).dtype), "c1", "takes floating-point elements, got ", c.in(0));
  c.require_axis(c.attributes<AxisAttributes>().axis, c.in(0).rank(), "c2");
  c.result(c.in(0));
}

inline void batch_along_axis(BatchContext& c) {
  auto attributes = std::make_shared<AxisAttributes>(c.attributes<AxisAttributes>());
  ++attributes->axis;
  c.outputs = emit_all(c.op, attributes, c.inputs);
}

// Calls `op`, whose attribute is one axis that may count from the back.
inline Tensor call_along_axis(const OpDef& op, const Operand& x, int64_t axis) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<AxisAttributes>();
  attributes->axis = normalize_axis(op.name, axis, x.tensor().rank());
  return emit(op, attributes, {x.tensor()});
}

}  // namespace espalier
