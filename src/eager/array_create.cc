#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "eager/array.h"

namespace espalier {
namespace {

// [rows, columns] of (column - row), i32.
Tensor diagonal_index(int64_t rows, int64_t columns) {
  const TensorType type{DType::kI32, {rows, columns}};
  return iota(type, 1) - iota(type, 0);
}

// k, or the nearest diagonal that lies outside of the matrix: the indices are i32.
int64_t near_diagonal(int64_t k, int64_t rows, int64_t columns) { return std::clamp(k, -rows, columns); }

Tensor triangle(const char* rule, const Operand& operand, int64_t k, bool lower) {
  CallScope scope(operand.at());
  const Tensor& x = operand.tensor();
  if (x.rank() < 2) throw ShapeError(cat(rule, ".rank"), cat("needs at least two axes, got ", x.type()));
  const Tensor index = diagonal_index(x.size(-2), x.size(-1));
  const int64_t bound = near_diagonal(k, x.size(-2), x.size(-1));
  const Tensor inside = compare(index, bound, lower ? Comparison::kLE : Comparison::kGE);
  return select(broadcast_to(inside, x.shape()), x, 0);
}

Tensor diagonal_of(const Tensor& x, int64_t diagonal) {
  const int64_t k = near_diagonal(diagonal, x.size(0), x.size(1));
  const Tensor hit = compare(diagonal_index(x.size(0), x.size(1)), k, Comparison::kEQ);
  const int64_t first_row = k < 0 ? -k : 0, first_column = k > 0 ? k : 0;
  const int64_t count = std::max<int64_t>(std::min(x.size(0) - first_row, x.size(1) - first_column), 0);
  const Tensor column = reduce_sum(select(hit, x, 0), {1});
  return slice(column, {std::min(first_row, x.size(0))}, {std::min(first_row, x.size(0)) + count}, {1});
}

}  // namespace

Tensor zeros(const Shape& shape, DType dtype, Location at) { return full(shape, 0, dtype, at); }
Tensor ones(const Shape& shape, DType dtype, Location at) { return full(shape, 1, dtype, at); }
Tensor full_like(Operand x, double value) {
  CallScope scope(x.at());
  return full(x.tensor().shape(), value, x.tensor().dtype());
}
Tensor zeros_like(Operand x) { return full_like(std::move(x), 0); }
Tensor ones_like(Operand x) { return full_like(std::move(x), 1); }

Tensor arange_of(double start, double stop, double step, DType dtype, Location at) {
  CallScope scope(at);
  if (step == 0) throw ValueError("arange.step", "the step must not be 0");
  const bool whole = start == std::trunc(start) && step == std::trunc(step);
  if (dtype == DType::kBool || (!is_float(dtype) && !whole))
    throw DTypeError("arange.dtype", cat(dtype, " cannot hold ", start, " + i * ", step));
  const double count = std::max(std::ceil((stop - start) / step), 0.0);
  if (!(count < 0x1p53))
    throw ValueError("arange.stop", cat("from ", start, " to ", stop, " by ", step, " has no end"));
  for (const double end : {start, start + (count - 1) * step}) {
    if (count > 0 && !holds(dtype, end)) throw ValueError("arange.range", cat(dtype, " does not hold ", end));
  }
  Tensor values = iota({wide(dtype), {static_cast<int64_t>(count)}}, 0);
  if (step != 1) values = values * full({}, step, values.dtype());
  if (start != 0) values = values + full({}, start, values.dtype());
  return convert(values, dtype);
}

Tensor linspace(double start, double stop, int64_t count, bool endpoint, DType dtype, Location at) {
  CallScope scope(at);
  if (count < 0) throw ValueError("linspace.count", cat("must not be negative, got ", count));
  if (!is_float(dtype)) throw DTypeError("linspace.dtype", cat("takes a floating-point dtype, got ", dtype));
  for (const double end : {start, stop}) {
    const double most =
        dtype == DType::kF64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
    if (!(std::fabs(end) <= most)) throw ValueError("linspace.range", cat(dtype, " does not hold ", end));
  }
  const double steps = static_cast<double>(endpoint ? count - 1 : count);
  if (steps <= 0) return full({count}, start, dtype);
  // Both ends are exact in this form.
  const Tensor part = iota({wide(dtype), {count}}, 0) / steps;
  return convert(start * (1 - part) + stop * part, dtype);
}

Tensor eye(int64_t rows, int64_t columns, int64_t k, DType dtype, Location at) {
  CallScope scope(at);
  if (rows < 0) throw ValueError("eye.rows", cat("must not be negative, got ", rows));
  const int64_t width = columns < 0 ? rows : columns;
  const int64_t diagonal = near_diagonal(k, rows, width);
  return convert(compare(diagonal_index(rows, width), diagonal, Comparison::kEQ), dtype);
}

Tensor tril(Operand x, int64_t k) { return triangle("tril", x, k, true); }
Tensor triu(Operand x, int64_t k) { return triangle("triu", x, k, false); }

Tensor diag(Operand operand, int64_t k) {
  CallScope scope(operand.at());
  const Tensor& x = operand.tensor();
  if (x.rank() == 2) return diagonal_of(x, k);
  if (x.rank() != 1) throw ShapeError("diag.rank", cat("takes one or two axes, got ", x.type()));
  if (std::cmp_greater(k < 0 ? -(k + 1) : k, int64_t{1} << 40))
    throw ValueError("diag.k", cat("diagonal ", k, " is too far out"));
  const int64_t n = x.size(0), size = n + std::abs(k);
  const int64_t before = k < 0 ? -k : 0, after = k > 0 ? k : 0;
  const Tensor column = reshape(pad(x, {{before, after}}), {size, 1});
  return select(compare(diagonal_index(size, size), k, Comparison::kEQ), column, 0);
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& inputs, std::string_view indexing, Location at) {
  CallScope scope(at);
  if (indexing != "xy" && indexing != "ij")
    throw ValueError("meshgrid.indexing", cat("is \"xy\" or \"ij\", got \"", indexing, "\""));
  Dims axis_of = Dims::range(inputs.size());
  if (indexing == "xy" && inputs.size() >= 2) std::swap(axis_of[0], axis_of[1]);
  Shape shape = Dims::filled(inputs.size(), 1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].rank() > 1)
      throw ShapeError("meshgrid.rank", cat("input ", i, " is ", inputs[i].type(), ", not 1-d"));
    shape[axis_of[i]] = inputs[i].type().elements();
  }
  std::vector<Tensor> out;
  for (size_t i = 0; i < inputs.size(); ++i)
    out.push_back(broadcast_in_dim(ravel(inputs[i]), shape, {axis_of[i]}));
  return out;
}

}  // namespace espalier
