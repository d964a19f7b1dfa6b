#include <algorithm>
#include <cstdlib>

#include "format/onnx/importer.h"
#include "ops/call.h"
#include "ops/indexed.h"

namespace espalier::onnx {
namespace {

// `shape` with 0 for "as it is" and one -1 for "the rest".
Tensor reshape(const Operator& o) {
  const Tensor& x = o.in(0);
  Shape shape(o.known(1));
  const bool zero_copies = o.integer("allowzero", 0) == 0;
  int64_t open = -1, known = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && zero_copies) {
      if (i >= x.rank()) bad_node(cat("size ", i, " copies an axis that ", x.type(), " lacks"));
      shape[i] = x.shape()[i];
    }
    if (shape[i] == -1) {
      if (open >= 0) bad_node(cat("the shape ", shape, " leaves two sizes open"));
      open = static_cast<int64_t>(i);
    } else if (shape[i] < 0 || __builtin_mul_overflow(known, shape[i], &known)) {
      bad_node(cat("the shape ", shape));
    }
  }
  if (open >= 0) {
    if (known == 0) bad_node(cat("the shape ", shape, " leaves a size open and has no elements"));
    shape[open] = x.type().elements() / known;
  }
  return espalier::reshape(x, shape);
}

Tensor flatten(const Operator& o) {
  const Tensor& x = o.in(0);
  int64_t axis = o.integer("axis", 1), rows = 1, columns = 1;
  if (axis != static_cast<int64_t>(x.rank())) axis = axis_of(axis, x.rank());
  for (size_t i = 0; i < x.rank(); ++i) (static_cast<int64_t>(i) < axis ? rows : columns) *= x.shape()[i];
  return espalier::reshape(x, {rows, columns});
}

Tensor squeeze(const Operator& o) {
  const Tensor& x = o.in(0);
  const auto list = o.list_or_input("axes", 1);
  const Dims axes = list ? axes_of(list, x.rank()) : Dims();
  Shape shape;
  for (size_t i = 0; i < x.rank(); ++i) {
    const bool goes = list ? axes.contains(static_cast<int64_t>(i)) : x.shape()[i] == 1;
    if (goes && x.shape()[i] != 1) bad_node(cat("axis ", i, " of ", x.type(), " is not 1"));
    if (!goes) shape.push_back(x.shape()[i]);
  }
  return espalier::reshape(x, shape);
}

Tensor unsqueeze(const Operator& o) {
  const Tensor& x = o.in(0);
  const auto list = o.list_or_input("axes", 1);
  if (!list) bad_node("needs axes");
  if (list->size() > 64) bad_node(cat(list->size(), " new axes"));
  Shape shape = x.shape();
  for (const int64_t axis : axes_of(list, x.rank() + list->size()))
    shape.insert(static_cast<size_t>(axis), 1);
  return espalier::reshape(x, shape);
}

Tensor transpose(const Operator& o) {
  const Tensor& x = o.in(0);
  Dims permutation = Dims::range(x.rank());
  std::reverse(permutation.begin(), permutation.end());
  if (const auto list = o.list("perm")) permutation = Dims(*list);
  return espalier::transpose(x, permutation);
}

Tensor concat(const Operator& o) {
  if (!o.has_attribute("axis")) bad_node("needs the attribute axis");
  std::vector<Tensor> parts;
  for (size_t i = 0; i < o.inputs().size(); ++i) parts.push_back(o.in(i));
  return concatenate(parts, axis_of(o.integer("axis", 0), o.in(0).rank()));
}

Tensor slice(const Operator& o) {
  const Tensor& x = o.in(0);
  const std::vector<int64_t> starts = o.known(1), ends = o.known(2);
  std::vector<int64_t> axes = o.has(3) ? o.known(3) : std::vector<int64_t>{}, steps(starts.size(), 1);
  if (o.has(4)) steps = o.known(4);
  if (!o.has(3)) {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (starts.size() != ends.size() || starts.size() != axes.size() || starts.size() != steps.size())
    bad_node("starts, ends, axes and steps differ in length");
  axes_of(axes, x.rank());
  Dims start = Dims::filled(x.rank(), 0), limit = x.shape(), stride = Dims::filled(x.rank(), 1), reversed;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axis_of(axes[i], x.rank()), size = x.shape()[axis], step = steps[i];
    if (step == 0) bad_node("a step of 0");
    const auto place = [&](int64_t at) { return at < 0 ? at + size : at; };
    int64_t first = 0, last = 0;
    if (step > 0) {
      first = std::clamp<int64_t>(place(starts[i]), 0, size);
      last = std::clamp<int64_t>(place(ends[i]), first, size);
    } else if (size > 0) {
      // From `from` down to behind `to`, counted on the reversed axis. A start before the first element is
      // that element, which is ONNX's rule; NumPy takes none.
      const int64_t from = std::clamp<int64_t>(place(starts[i]), 0, size - 1);
      const int64_t to = std::clamp<int64_t>(place(ends[i]), -1, size - 1);
      first = size - 1 - from;
      last = std::max(first, size - 1 - to);
      reversed.push_back(axis);
    }
    start[axis] = first;
    limit[axis] = last;
    // The lowest int64_t has no absolute value.
    const int64_t longest = std::max<int64_t>(size, 1);
    stride[axis] = std::abs(std::clamp(step, -longest, longest));
  }
  return espalier::slice(reversed.empty() ? x : reverse(x, reversed), start, limit, stride);
}

Results split(const Operator& o) {
  const Tensor& x = o.in(0);
  const int64_t axis = axis_of(o.integer("axis", 0), x.rank()), size = x.shape()[axis];
  const auto count = static_cast<int64_t>(o.outputs());
  auto sizes = o.list_or_input("split", 1);
  if (!sizes) {
    // Equal parts; the last one may be smaller.
    const int64_t part = (size + count - 1) / std::max<int64_t>(count, 1);
    sizes.emplace();
    for (int64_t i = 0; i < count; ++i) sizes->push_back(std::clamp<int64_t>(size - i * part, 0, part));
  }
  if (sizes->size() != o.outputs()) bad_node(cat(sizes->size(), " parts for ", o.outputs(), " outputs"));
  Results out;
  Dims start = Dims::filled(x.rank(), 0), limit = x.shape();
  for (const int64_t part : *sizes) {
    if (part < 0 || part > size - start[axis]) bad_node(cat("a part of ", part, " of ", size));
    limit[axis] = start[axis] + part;
    out.push_back(espalier::slice(x, start, limit));
    start[axis] = limit[axis];
  }
  if (start[axis] != size) bad_node(cat("the parts are ", start[axis], " of ", size));
  return out;
}

Tensor shape(const Operator& o) {
  const Shape& all = o.in(0).shape();
  const auto rank = static_cast<int64_t>(all.size());
  const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = place(o.integer("start", 0)), end = std::max(start, place(o.integer("end", rank)));
  return Tensor::of(std::vector<int64_t>(all.begin() + start, all.begin() + end));
}

Tensor constant(const Operator& o) {
  if (const Literal* value = o.tensor("value")) return make_concrete(*value);
  if (o.has_attribute("value_float")) return Tensor::scalar(static_cast<float>(o.real("value_float", 0)));
  if (o.has_attribute("value_int")) return Tensor::scalar(o.integer("value_int", 0));
  if (const auto list = o.list("value_ints")) return Tensor::of(*list);
  unread_node("a constant that is no tensor of numbers");
}

Tensor constant_of_shape(const Operator& o) {
  const Literal* given = o.tensor("value");
  const Literal value = given ? *given : Literal::splat({DType::kF32, {1}}, 0.0);
  if (value.type().elements() != 1) bad_node(cat("value must be one element, got ", value.type()));
  const TensorType type{value.type().dtype, Shape(o.known(0))};
  check_type(type);
  return make_concrete(Literal::splat(type, value.raw()));
}

Tensor range(const Operator& o) {
  if (!is_integer(o.in(0).dtype())) unread_node(cat("a range of ", o.in(0).dtype()));
  const DType dtype = o.in(0).dtype();
  int64_t numbers[3];
  for (size_t i = 0; i < 3; ++i) {
    const std::vector<int64_t> value = o.known(i);
    if (value.size() != 1) bad_node(cat("input ", i, " must be one number"));
    numbers[i] = value[0];
  }
  const auto [start, limit, step] = numbers;
  if (step == 0) bad_node("a step of 0");
  // Numbers lie within 2^61, so that differences do not overflow.
  const int64_t span = step > 0 ? limit - start : start - limit, width = step > 0 ? step : -step;
  const TensorType type{dtype, {span <= 0 ? 0 : (span - 1) / width + 1}};
  check_type(type);
  if (!holds(dtype, static_cast<double>(step)) || !holds(dtype, static_cast<double>(start)))
    bad_node(cat("the range does not fit ", dtype));
  return iota(type, 0) * make_concrete(Literal::splat({dtype, {}}, step)) +
         make_concrete(Literal::splat({dtype, {}}, start));
}

Tensor expand(const Operator& o) {
  const Tensor& x = o.in(0);
  return broadcast_like(x, broadcast_shapes("expand", x.shape(), Shape(o.known(1))));
}

Tensor pad(const Operator& o) {
  const Tensor& x = o.in(0);
  if (const std::string mode = o.word("mode", "constant"); mode != "constant")
    unread_node(cat("padding of the mode \"", mode, "\""));
  const std::vector<int64_t> pads = o.known(1);
  std::vector<int64_t> axes;
  if (o.has(3)) {
    axes = o.known(3);
    axes_of(axes, x.rank());
  } else {
    for (size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (pads.size() != 2 * axes.size()) bad_node(cat(pads.size(), " paddings for ", axes.size(), " axes"));
  Dims low = Dims::filled(x.rank(), 0), high = low;
  for (size_t i = 0; i < axes.size(); ++i) {
    low[axis_of(axes[i], x.rank())] = pads[i];
    high[axis_of(axes[i], x.rank())] = pads[i + axes.size()];
  }
  const Tensor value = o.has(2) ? espalier::reshape(o.in(2), {}) : constant_like({x.dtype(), {}}, 0);
  return espalier::pad(x, value, low, high);
}

const ImportRule kShapeRules[] = {
    {"Reshape", [](const Operator& o) -> Results { return {reshape(o)}; }},
    {"Flatten", [](const Operator& o) -> Results { return {flatten(o)}; }},
    {"Squeeze", [](const Operator& o) -> Results { return {squeeze(o)}; }},
    {"Unsqueeze", [](const Operator& o) -> Results { return {unsqueeze(o)}; }},
    {"Transpose", [](const Operator& o) -> Results { return {transpose(o)}; }},
    {"Concat", [](const Operator& o) -> Results { return {concat(o)}; }},
    {"Slice", [](const Operator& o) -> Results { return {slice(o)}; }},
    {"Split", split},
    {"Shape", [](const Operator& o) -> Results { return {shape(o)}; }},
    {"Constant", [](const Operator& o) -> Results { return {constant(o)}; }},
    {"ConstantOfShape", [](const Operator& o) -> Results { return {constant_of_shape(o)}; }},
    {"Range", [](const Operator& o) -> Results { return {range(o)}; }},
    {"Expand", [](const Operator& o) -> Results { return {expand(o)}; }},
    {"Pad", [](const Operator& o) -> Results { return {pad(o)}; }},
    {"Gather",
     [](const Operator& o) -> Results {
       return {take(o.in(0), o.in(1), axis_of(o.integer("axis", 0), o.in(0).rank()))};
     }},
    {"GatherElements",
     [](const Operator& o) -> Results {
       return {take_along_axis(o.in(0), o.in(1), axis_of(o.integer("axis", 0), o.in(0).rank()))};
     }},
};

}  // namespace

std::span<const ImportRule> shape_imports() { return kShapeRules; }

}  // namespace espalier::onnx
