// argmax and argmin: the first index of the extreme element along an axis.
#pragma once

#include "ops/composite/axis.h"
#include "ops/registry.h"

namespace espalier {

struct ArgAttributes final : Attributes {
  int64_t axis = 0;
  DType index_dtype = DType::kI32;
  void fields(FieldVisitor& v) override {
    v.field("axis", axis);
    v.field("index_dtype", index_dtype);
  }
};

inline void infer_arg(InferContext& c) {
  c.require_inputs(1);
  const auto& a = c.attributes<ArgAttributes>();
  c.require_axis(a.axis, c.in(0).rank(), "c1");
  c.require(c.in(0).shape[a.axis] > 0, "c2", "axis ", a.axis, " of ", c.in(0), " has no element to name");
  c.require_dtype(is_integer(a.index_dtype), "c3", "indices are integers, not ", a.index_dtype);
  c.require(holds(a.index_dtype, static_cast<double>(c.in(0).shape[a.axis] - 1)), "c4", a.index_dtype,
            " does not hold the indices of axis ", a.axis, " of ", c.in(0));
  Shape shape = c.in(0).shape;
  shape.erase(static_cast<size_t>(a.axis));
  c.result({a.index_dtype, shape});
}

template <bool kLargest>
void eval_arg(EvalContext& c) {
  const auto& a = c.attributes<ArgAttributes>();
  const AxisView view(c.in(0).type->shape, a.axis);
  const size_t size = size_of(a.index_dtype);
  auto* out = c.out(0).as<std::byte>();
  visit_dtype(c.in(0).type->dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using F = Compute<T>;
    view.lines([&](int64_t start) {
      const T* x = c.in(0).as<T>() + start;
      int64_t best = 0;
      F top = static_cast<F>(x[0]);
      for (int64_t i = 1; i < view.size; ++i) {
        const F next = static_cast<F>(x[i * view.inner]);
        bool better = kLargest ? next > top : next < top;
        if constexpr (is_floating<T>) better = !std::isnan(top) && (better || std::isnan(next));
        if (better) best = i, top = next;
      }
      store_scalar(a.index_dtype, best, out);
      out += size;
    });
  });
}

// The smallest position among those that equal the extreme, or are NaN.
template <bool kLargest>
std::vector<Tensor> decompose_arg(const DecomposeContext& c) {
  const auto& a = c.attributes<ArgAttributes>();
  const Tensor& x = c.in(0);
  const Tensor top = spread(kLargest ? reduce_max(x, {a.axis}) : reduce_min(x, {a.axis}), x.shape(), a.axis);
  const Tensor place = iota({DType::kI64, x.shape()}, a.axis);
  const Tensor none = make_concrete(Literal::splat(place.type(), x.shape()[a.axis]));
  Tensor found = select(compare(x, top, Comparison::kEQ), place, none);
  if (is_float(x.dtype())) found = select(compare(x, x, Comparison::kNE), place, found);
  return {convert(reduce_min(found, {a.axis}), a.index_dtype)};
}

inline void batch_arg(BatchContext& c) {
  auto attributes = std::make_shared<ArgAttributes>(c.attributes<ArgAttributes>());
  ++attributes->axis;
  c.outputs = emit_all(c.op, attributes, c.inputs);
}

inline Tensor call_arg(const OpDef& op, const Operand& x, int64_t axis, DType index_dtype) {
  CallScope scope(x.at());
  auto attributes = std::make_shared<ArgAttributes>();
  attributes->axis = normalize_axis(op.name, axis, x.tensor().rank());
  attributes->index_dtype = index_dtype;
  return emit(op, attributes, {x.tensor()});
}

}  // namespace espalier
