#include "format/onnx/importer.h"
#include "ops/call.h"
#include "ops/composite/power_of_two.h"

namespace espalier::onnx {
namespace {

Tensor with_kept_axes(const Tensor& reduced, const Shape& shape, const Dims& axes, bool keep) {
  if (!keep) return reduced;
  Shape kept = shape;
  for (const int64_t axis : axes) kept[axis] = 1;
  return reshape(reduced, kept);
}

// f(x, axes), with or without the axes in the result.
template <class F>
Results reduce(const Operator& o, F f) {
  const Tensor& x = o.in(0);
  auto list = o.list_or_input("axes", 1);
  if (list && list->empty()) {
    if (o.integer("noop_with_empty_axes", 0) != 0) return {x};
    list.reset();
  }
  const Dims axes = axes_of(list, x.rank());
  return {with_kept_axes(f(x, axes), x.shape(), axes, o.integer("keepdims", 1) != 0)};
}

Tensor mean(const Tensor& x, const Dims& axes) {
  double count = 1;
  for (const int64_t axis : axes) count *= static_cast<double>(x.shape()[axis]);
  return reduce_sum(x, axes) / make_concrete(Literal::splat({x.dtype(), {}}, count));
}

// `reduced` over x's shape again.
Tensor spread(const Tensor& reduced, const Tensor& x, const Dims& axes) {
  Dims kept;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (!axes.contains(static_cast<int64_t>(i))) kept.push_back(static_cast<int64_t>(i));
  }
  return broadcast_in_dim(reduced, x.shape(), kept);
}

Tensor log_sum_exp(const Tensor& x, const Dims& axes) {
  const Tensor top = reduce_max(x, axes), shift = select(is_finite(top), top, 0);
  return log(reduce_sum(exponential(x - spread(shift, x, axes)), axes)) + shift;
}

// Of squares that are scaled so as not to overflow before the root.
Tensor l2(const Tensor& x, const Dims& axes) {
  if (x.dtype() != DType::kF32 && x.dtype() != DType::kF64) return sqrt(reduce_sum(x * x, axes));
  const Tensor scale = power_of_two_near(reduce_max(abs(x), axes)), scaled = x / spread(scale, x, axes);
  return sqrt(reduce_sum(scaled * scaled, axes)) * scale;
}

template <class F>
Results arg(const Operator& o, F f) {
  if (o.integer("select_last_index", 0) != 0) unread_node("the last of equal elements");
  const Tensor& x = o.in(0);
  const int64_t axis = axis_of(o.integer("axis", 0), x.rank());
  return {with_kept_axes(f(x, axis, DType::kI64), x.shape(), {axis}, o.integer("keepdims", 1) != 0)};
}

// Before operator set 13, the axes from `axis` on were one.
template <class F>
Results along_axis(const Operator& o, F f) {
  const Tensor& x = o.in(0);
  const int64_t axis = axis_of(o.integer("axis", o.opset() < 13 ? 1 : -1), x.rank());
  if (o.opset() >= 13) return {f(x, axis)};
  int64_t rows = 1, columns = 1;
  for (size_t i = 0; i < x.rank(); ++i) (static_cast<int64_t>(i) < axis ? rows : columns) *= x.shape()[i];
  return {reshape(f(reshape(x, {rows, columns}), 1), x.shape())};
}

Tensor cumulative_sum(const Operator& o) {
  if (o.integer("exclusive", 0) != 0) unread_node("an exclusive sum");
  const std::vector<int64_t> axis = o.known(1);
  if (axis.size() != 1) bad_node("takes one axis");
  return cumsum(o.in(0), axis_of(axis[0], o.in(0).rank()), o.integer("reverse", 0) != 0);
}

const ImportRule kReductionRules[] = {
    {"ReduceSum", [](const Operator& o) { return reduce(o, reduce_sum); }},
    {"ReduceMax", [](const Operator& o) { return reduce(o, reduce_max); }},
    {"ReduceMin", [](const Operator& o) { return reduce(o, reduce_min); }},
    {"ReduceProd", [](const Operator& o) { return reduce(o, reduce_prod); }},
    {"ReduceMean", [](const Operator& o) { return reduce(o, mean); }},
    {"ReduceLogSumExp", [](const Operator& o) { return reduce(o, log_sum_exp); }},
    {"ReduceSumSquare",
     [](const Operator& o) {
       return reduce(o, [](const Tensor& x, const Dims& axes) { return reduce_sum(x * x, axes); });
     }},
    {"ReduceL2", [](const Operator& o) { return reduce(o, l2); }},
    {"ArgMax", [](const Operator& o) { return arg(o, argmax); }},
    {"ArgMin", [](const Operator& o) { return arg(o, argmin); }},
    {"Softmax", [](const Operator& o) { return along_axis(o, softmax); }},
    {"LogSoftmax", [](const Operator& o) { return along_axis(o, log_softmax); }},
    {"CumSum", [](const Operator& o) -> Results { return {cumulative_sum(o)}; }},
};

}  // namespace

std::span<const ImportRule> reduction_imports() { return kReductionRules; }

}  // namespace espalier::onnx
