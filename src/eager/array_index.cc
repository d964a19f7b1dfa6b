#include <algorithm>

#include "eager/array.h"
#include "espalier/indexing.h"
#include "ops/indexed.h"

namespace espalier {
namespace {

// One axis of the sliced operand: taken whole, or picked from by `tensor`.
struct Axis {
  int64_t size = 1;
  Tensor tensor;
};

struct Range {
  int64_t first = 0, count = 0, step = 1;
};

Range resolve(const Slice& slice, int64_t size) {
  if (slice.step == 0) throw ValueError("index.step", "the step of a slice must not be 0");
  const bool back = slice.step < 0;
  const int64_t low = back ? -1 : 0, high = back ? size - 1 : size;
  const auto bound = [&](const std::optional<int64_t>& value, int64_t missing) {
    return value ? std::clamp(*value < 0 ? *value + size : *value, low, high) : missing;
  };
  const int64_t start = bound(slice.start, back ? high : low), stop = bound(slice.stop, back ? low : high);
  // A step beyond the axis takes one element, however long it is; the lowest int64_t has no absolute value.
  const int64_t longest = std::max<int64_t>(size, 1), step = std::clamp(slice.step, -longest, longest);
  const int64_t distance = back ? start - stop : stop - start;
  return {start, distance > 0 ? (distance - 1) / std::abs(step) + 1 : 0, step};
}

int64_t resolve(int64_t position, int64_t size, size_t axis) {
  if (position < -size || position >= size)
    throw ShapeError("index.range",
                     cat("position ", position, " is outside of axis ", axis, " of size ", size));
  return position < 0 ? position + size : position;
}

// The items with "..." written out and bool tensors replaced by their places: one item an axis of x, and new
// axes between them.
std::vector<Index::Item> complete(const Tensor& x, const std::vector<Index>& indices) {
  std::vector<Index::Item> out;
  std::optional<size_t> dots;
  size_t axes = 0;
  for (const Index& index : indices) {
    if (std::holds_alternative<Ellipsis>(index.item())) {
      if (dots) throw ValueError("index.ellipsis", "only one kEllipsis has a meaning");
      dots = out.size();
    } else if (const auto* tensor = std::get_if<Tensor>(&index.item());
               tensor && tensor->dtype() == DType::kBool) {
      if (tensor->rank() == 0)
        throw ShapeError("index.mask", "a bool scalar is no mask: it has no axis",
                         "where(condition, a, b) chooses");
      for (size_t i = 0; i < tensor->rank(); ++i) {
        if (axes + i >= x.rank() || tensor->shape()[i] != x.shape()[axes + i]) {
          throw ShapeError("index.mask", cat("a mask of ", tensor->type(), " does not fit the axes of ",
                                             x.type(), " from axis ", axes, " on"));
        }
      }
      for (Tensor& places : true_places("index", *tensor)) out.emplace_back(std::move(places));
      axes += tensor->rank();
    } else {
      out.push_back(index.item());
      axes += !std::holds_alternative<NewAxis>(index.item());
    }
  }
  if (axes > x.rank()) throw ShapeError("index.count", cat(axes, " indices for ", x.type()));
  const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(dots.value_or(out.size()));
  out.insert(out.begin() + at, x.rank() - axes, Slice{});
  return out;
}

// x after its slices: a slice, a reverse and a reshape, each only where it changes something. With `picking`,
// integers stay as axes to pick from.
Tensor slice_basic(const Tensor& x, const std::vector<Index::Item>& items, bool picking,
                   std::vector<Axis>* axes) {
  Dims start, limit, strides, flipped;
  Shape shape;
  for (const Index::Item& item : items) {
    if (std::holds_alternative<NewAxis>(item)) {
      axes->push_back({});
      shape.push_back(1);
      continue;
    }
    const size_t axis = start.size();
    const int64_t size = x.shape()[axis];
    Range range{0, size, 1};
    if (const auto* slice = std::get_if<Slice>(&item)) range = resolve(*slice, size);
    const auto* position = std::get_if<int64_t>(&item);
    if (position && !picking) range = {resolve(*position, size, axis), 1, 1};
    const int64_t last = range.first + (range.count - 1) * range.step;
    if (range.step < 0 && range.count > 1) flipped.push_back(static_cast<int64_t>(axis));
    start.push_back(range.count == 0 ? 0 : std::min(range.first, last));
    limit.push_back(range.count == 0 ? 0 : std::max(range.first, last) + 1);
    strides.push_back(std::abs(range.step));
    if (position && !picking) continue;
    Tensor tensor;
    if (position) tensor = full({}, static_cast<double>(resolve(*position, size, axis)), DType::kI64);
    if (const auto* given = std::get_if<Tensor>(&item)) tensor = checked_indices("index", *given, size);
    axes->push_back({range.count, tensor});
    shape.push_back(range.count);
  }
  const bool whole =
      start == Dims::filled(x.rank(), 0) && limit == x.shape() && strides == Dims::filled(x.rank(), 1);
  Tensor out = whole ? x : slice(x, start, limit, strides);
  if (!flipped.empty()) out = reverse(out, flipped);
  return reshape(out, shape);
}

// x picked from along the axes that have a tensor.
Tensor pick(const Tensor& x, const std::vector<Axis>& axes) {
  Shape batch;
  Dims picked;
  bool apart = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!axes[i].tensor.defined()) continue;
    batch = broadcast_shapes("index", batch, axes[i].tensor.shape());
    apart = apart || (!picked.empty() && picked.back() + 1 != static_cast<int64_t>(i));
    picked.push_back(static_cast<int64_t>(i));
  }
  std::vector<Tensor> columns;
  for (const int64_t axis : picked)
    columns.push_back(expand_dims(broadcast_to(convert(axes[axis].tensor, DType::kI64), batch), -1));
  const auto batch_rank = static_cast<int64_t>(batch.size());
  const Tensor vectors = columns.size() == 1 ? columns[0] : concatenate(columns, batch_rank);
  const int64_t first = apart ? 0 : picked[0];
  IndexAxes where;
  where.collapsed = picked;
  where.index_map = picked;
  where.index_vector = batch_rank;
  const size_t rank = x.rank() - picked.size() + batch.size();
  for (int64_t i = 0; i < static_cast<int64_t>(rank); ++i) {
    if (i < first || i >= first + batch_rank) where.window.push_back(i);
  }
  Dims sizes = x.shape();
  for (const int64_t axis : picked) {
    if (sizes[axis] == 0 && num_elements(batch) > 0)
      throw ShapeError("index.range", cat("picks from axis ", axis, " of ", x.type(), ", which is empty"));
    sizes[axis] = std::min<int64_t>(sizes[axis], 1);
  }
  return gather(x, vectors, where, sizes);
}

bool is_box(const std::vector<Index>& indices) {
  return std::all_of(indices.begin(), indices.end(), [](const Index& index) {
    const auto* slice = std::get_if<Slice>(&index.item());
    return !std::holds_alternative<Tensor>(index.item()) && (!slice || slice->step == 1);
  });
}

// The box of x that basic indices name, replaced.
Tensor assign_box(const Tensor& x, const std::vector<Index>& indices, const Tensor& value) {
  std::vector<Tensor> starts;
  Shape box, shape;
  size_t axis = 0;
  for (const Index::Item& item : complete(x, indices)) {
    if (std::holds_alternative<NewAxis>(item)) {
      shape.push_back(1);
      continue;
    }
    const int64_t size = x.shape()[axis];
    const auto* position = std::get_if<int64_t>(&item);
    const Range range =
        position ? Range{resolve(*position, size, axis), 1, 1} : resolve(std::get<Slice>(item), size);
    starts.push_back(full({}, static_cast<double>(range.first), DType::kI64));
    box.push_back(range.count);
    if (!position) shape.push_back(range.count);
    ++axis;
  }
  const Tensor update = reshape(broadcast_to(value, shape), box);
  return box == x.shape() ? update : dynamic_update_slice(x, update, starts);
}

}  // namespace

Tensor index(Operand operand, const std::vector<Index>& indices) {
  CallScope scope(operand.at());
  const Tensor& x = operand.tensor();
  const std::vector<Index::Item> items = complete(x, indices);
  const bool picking = std::any_of(items.begin(), items.end(), [](const Index::Item& item) {
    return std::holds_alternative<Tensor>(item);
  });
  std::vector<Axis> axes;
  const Tensor sliced = slice_basic(x, items, picking, &axes);
  return picking ? pick(sliced, axes) : sliced;
}

Tensor assign_at(Operand operand, const std::vector<Index>& indices, Operand value) {
  CallScope scope(operand.at());
  const Tensor& x = operand.tensor();
  const Tensor given = value.as(x.dtype());
  if (given.dtype() != x.dtype())
    throw DTypeError("assign_at.dtype", cat("the value is ", given.type(), ", the tensor ", x.type()));
  if (is_box(indices)) return assign_box(x, indices, given);
  // The same index on the numbers of the elements says which they are.
  const int64_t count = x.type().elements();
  const Tensor numbers = index(reshape(arange(count, DType::kI64), x.shape()), indices);
  const Tensor values = broadcast_to(given, numbers.shape());
  if (numbers.type().elements() == 0) return x;
  const IndexAxes where{.collapsed = {0}, .index_map = {0}, .index_vector = 1};
  return reshape(scatter_update(ravel(x), expand_dims(ravel(numbers), 1), ravel(values), where), x.shape());
}

}  // namespace espalier
