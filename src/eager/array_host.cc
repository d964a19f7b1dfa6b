#include <algorithm>
#include <numeric>

#include "eager/array.h"
#include "eager/trace.h"
#include "ir/dispatch.h"
#include "ir/sink.h"

namespace espalier {
namespace {

void require_concrete(const char* rule, const Tensor& x) {
  if (x.concrete()) return;
  throw StateError(cat(rule, ".traced"),
                   cat("the shape of the result depends on the values of ", x.type(),
                       ", which are not known while a function is traced"),
                   "choose with where(condition, a, b), which keeps the shape, or call it outside of the "
                   "traced function");
}

// Goes where it is needed: on a device that is where the array lies that it tells places of.
Tensor list_of(const std::vector<int32_t>& values) {
  const Tensor out = Tensor::of(values, {static_cast<int64_t>(values.size())});
  out.node()->let_move();
  return out;
}

}  // namespace

std::vector<Tensor> true_places(const char* rule, const Tensor& mask) {
  require_concrete(rule, mask);
  const auto data = mask.data<bool>();
  const Dims strides = row_major_strides(mask.shape());
  std::vector<std::vector<int32_t>> places(mask.rank());
  for (int64_t i = 0; i < static_cast<int64_t>(data.size()); ++i) {
    if (!data[static_cast<size_t>(i)]) continue;
    for (size_t axis = 0; axis < mask.rank(); ++axis)
      places[axis].push_back(static_cast<int32_t>(i / strides[axis] % mask.shape()[axis]));
  }
  std::vector<Tensor> out;
  for (const auto& list : places) out.push_back(list_of(list));
  return out;
}

std::vector<Tensor> nonzero(Operand operand) {
  CallScope scope(operand.at());
  const Tensor& x = operand.tensor();
  require_concrete("nonzero", x);
  if (x.rank() == 0) throw ShapeError("nonzero.rank", cat("takes no scalars, got ", x.type()));
  const EagerScope eager;
  return true_places("nonzero", convert(x, DType::kBool));
}

Tensor boolean_mask(Operand operand, Operand mask, int64_t axis) {
  CallScope scope(operand.at());
  const Tensor &x = operand.tensor(), &m = mask.tensor();
  if (m.dtype() != DType::kBool || m.rank() == 0)
    throw DTypeError("boolean_mask.dtype",
                     cat("the mask must be bool with an axis at least, got ", m.type()));
  require_concrete("boolean_mask", m);
  const auto first = static_cast<size_t>(normalize_axis("boolean_mask", axis, x.rank()));
  for (size_t i = 0; i < m.rank(); ++i) {
    if (first + i >= x.rank() || m.shape()[i] != x.shape()[first + i])
      throw ShapeError("boolean_mask.mask", cat("a mask of ", m.type(), " does not fit the axes of ",
                                                x.type(), " from axis ", first, " on"));
  }
  Shape merged;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (i == first) merged.push_back(m.type().elements());
    if (i < first || i >= first + m.rank()) merged.push_back(x.shape()[i]);
  }
  const Tensor places = [&] {
    const EagerScope eager;
    return true_places("boolean_mask", ravel(m))[0];
  }();
  return take(reshape(x, merged), places, static_cast<int64_t>(first));
}

Unique unique(Operand operand) {
  CallScope scope(operand.at());
  const Tensor& x = operand.tensor();
  require_concrete("unique", x);
  std::vector<int32_t> first, inverse(static_cast<size_t>(x.type().elements())), counts;
  visit_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = static_cast<const T*>(x.bytes());
    // NaN stands above every number.
    const auto below = [](Compute<T> a, Compute<T> b) {
      if constexpr (is_floating<T>) {
        if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
      }
      return a < b;
    };
    std::vector<int32_t> order(inverse.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return below(data[a], data[b]); });
    for (const int32_t i : order) {
      if (first.empty() || below(data[first.back()], data[i])) {
        first.push_back(i);
        counts.push_back(0);
      }
      inverse[static_cast<size_t>(i)] = static_cast<int32_t>(counts.size()) - 1;
      ++counts.back();
    }
  });
  return {take(ravel(x), list_of(first)), Tensor::of(inverse, x.shape()), list_of(counts)};
}

}  // namespace espalier
