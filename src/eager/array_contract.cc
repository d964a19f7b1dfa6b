#include "eager/array.h"

namespace espalier {
namespace {

Dims joined(const Dims& a, const Dims& b) {
  Dims out = a;
  for (const int64_t value : b) out.push_back(value);
  return out;
}

Shape leading(const Shape& shape) { return Shape(shape.span().first(shape.size() - 2)); }

// [..., m, k] times [..., k, n].
Tensor matmul_matrices(Tensor a, Tensor b) {
  const auto ra = static_cast<int64_t>(a.rank()), rb = static_cast<int64_t>(b.rank());
  if (a.size(-1) != b.size(-2)) {
    throw ShapeError("matmul.k", cat("the last axis of a and the last but one of b must be equal: ", a.type(),
                                     " and ", b.type(), " (", a.size(-1), " vs ", b.size(-2), ")"));
  }
  if (rb == 2) return dot_general(a, b, {.lhs_contracting = {ra - 1}, .rhs_contracting = {0}});
  if (ra == 2) {
    const Tensor out = dot_general(a, b, {.lhs_contracting = {1}, .rhs_contracting = {rb - 2}});
    return moveaxis(out, 0, -2);
  }
  const Shape batch = broadcast_shapes("matmul", leading(a.shape()), leading(b.shape()));
  a = broadcast_to(a, joined(batch, {a.size(-2), a.size(-1)}));
  b = broadcast_to(b, joined(batch, {b.size(-2), b.size(-1)}));
  const Dims axes = Dims::range(batch.size());
  const auto last = static_cast<int64_t>(a.rank()) - 1;
  return dot_general(
      a, b,
      {.lhs_batching = axes, .rhs_batching = axes, .lhs_contracting = {last}, .rhs_contracting = {last - 1}});
}

}  // namespace

Tensor matmul(Operand left, Operand right) {
  CallScope scope(left.at());
  Tensor a = left.tensor(), b = right.tensor();
  if (a.rank() == 0 || b.rank() == 0)
    throw ShapeError("matmul.rank", cat("takes no scalars: ", a.type(), " and ", b.type()),
                     "multiply with *");
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a = expand_dims(a, 0);
  if (column) b = expand_dims(b, 1);
  Tensor out = matmul_matrices(a, b);
  if (column) out = squeeze(out, -1);
  if (row) out = squeeze(out, column ? -1 : -2);
  return out;
}

Tensor tensordot(Operand a, Operand b, int64_t axes) {
  CallScope scope(a.at());
  const auto ra = static_cast<int64_t>(a.tensor().rank()), rb = static_cast<int64_t>(b.tensor().rank());
  if (axes < 0 || axes > std::min(ra, rb)) {
    throw ShapeError("tensordot.axes", cat(axes, " axes of ", a.tensor().type(), " and ", b.tensor().type()));
  }
  Dims from_a;
  for (int64_t i = ra - axes; i < ra; ++i) from_a.push_back(i);
  return tensordot(a, b, from_a, Dims::range(static_cast<size_t>(axes)));
}

Tensor tensordot(Operand a, Operand b, const Dims& axes_a, const Dims& axes_b) {
  CallScope scope(a.at());
  const Dims from_a = Axes(axes_a).of("tensordot", a.tensor().rank());
  const Dims from_b = Axes(axes_b).of("tensordot", b.tensor().rank());
  return dot_general(a, b, {.lhs_contracting = from_a, .rhs_contracting = from_b});
}

Tensor outer(Operand a, Operand b) {
  CallScope scope(a.at());
  return expand_dims(ravel(a), 1) * expand_dims(ravel(b), 0);
}

}  // namespace espalier
