#include <algorithm>

#include "eager/array.h"

namespace espalier {
namespace {

Shape with_size(const Shape& shape, int64_t axis, int64_t size) {
  Shape out = shape;
  out[axis] = size;
  return out;
}

Tensor slice_axis(const Tensor& x, int64_t axis, int64_t begin, int64_t end) {
  Dims start = Dims::filled(x.rank(), 0), limit = x.shape();
  start[axis] = begin;
  limit[axis] = end;
  return slice(x, start, limit, Dims::filled(x.rank(), 1));
}

// The index along an axis of size n of each element of the padded axis.
std::vector<int32_t> padded_index(int64_t n, int64_t before, int64_t after, PadMode mode) {
  std::vector<int32_t> out;
  const int64_t period = std::max<int64_t>(mode == PadMode::kReflect ? 2 * n - 2 : 2 * n, 1);
  for (int64_t i = -before; i < n + after; ++i) {
    int64_t source = std::clamp<int64_t>(i, 0, n - 1);
    if (mode != PadMode::kEdge) {
      const int64_t phase = ((i % period) + period) % period;
      source = phase < n ? phase : (mode == PadMode::kReflect ? period - phase : period - 1 - phase);
    }
    out.push_back(static_cast<int32_t>(source));
  }
  return out;
}

}  // namespace

Tensor ravel(Operand x) { return reshape(std::move(x), {-1}); }

Tensor transpose(Operand x) {
  Dims order;
  for (size_t i = x.tensor().rank(); i-- > 0;) order.push_back(static_cast<int64_t>(i));
  return transpose(std::move(x), order);
}

Tensor squeeze(Operand x, Axes axes) {
  CallScope scope(x.at());
  const Shape& shape = x.tensor().shape();
  const Dims list = axes.of("squeeze", shape.size());
  Shape out;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool named = list.contains(static_cast<int64_t>(i));
    if (named && !axes.all() && shape[i] != 1)
      throw ShapeError("squeeze.size", cat("axis ", i, " of ", x.tensor().type(), " is not 1"));
    if (!named || shape[i] != 1) out.push_back(shape[i]);
  }
  return reshape(x, out);
}

Tensor expand_dims(Operand x, Axes axes) {
  CallScope scope(x.at());
  const Shape& shape = x.tensor().shape();
  if (axes.all()) throw ValueError("expand_dims.axes", "names the positions of the new axes");
  const size_t rank = shape.size() + axes.count();
  const Dims list = axes.of("expand_dims", rank);
  Shape out;
  for (size_t i = 0, next = 0; i < rank; ++i)
    out.push_back(list.contains(static_cast<int64_t>(i)) ? 1 : shape[next++]);
  return reshape(x, out);
}

Tensor swapaxes(Operand x, int64_t a, int64_t b) {
  CallScope scope(x.at());
  Dims order = Dims::range(x.tensor().rank());
  std::swap(order[normalize_axis("swapaxes", a, order.size())],
            order[normalize_axis("swapaxes", b, order.size())]);
  return transpose(x, order);
}

Tensor moveaxis(Operand x, Axes from, Axes to) {
  CallScope scope(x.at());
  const size_t rank = x.tensor().rank();
  const Dims source = from.of("moveaxis", rank), target = to.of("moveaxis", rank);
  if (source.size() != target.size())
    throw ShapeError("moveaxis.count",
                     cat("moves ", source.size(), " axes to ", target.size(), " positions"));
  const Dims rest = other_axes(rank, source);
  Dims order = Dims::filled(rank, -1);
  for (size_t i = 0; i < source.size(); ++i) order[target[i]] = source[i];
  size_t next = 0;
  for (int64_t& axis : order) {
    if (axis < 0) axis = rest[next++];
  }
  return transpose(x, order);
}

Tensor concat(const std::vector<Tensor>& inputs, int64_t axis, Location at) {
  CallScope scope(at);
  return concatenate(inputs, axis);
}

Tensor stack(const std::vector<Tensor>& inputs, int64_t axis, Location at) {
  CallScope scope(at);
  if (inputs.empty()) throw ValueError("stack.count", "needs at least one input");
  std::vector<Tensor> parts;
  for (const Tensor& input : inputs) {
    if (input.type() != inputs[0].type()) {
      throw ShapeError("stack.type", cat("inputs must have one type: input 0 is ", inputs[0].type(),
                                         ", input ", parts.size(), " is ", input.type()));
    }
    parts.push_back(expand_dims(input, axis));
  }
  return concatenate(parts, normalize_axis("stack", axis, inputs[0].rank() + 1));
}

std::vector<Tensor> split(Operand operand, const Dims& sizes, int64_t axis) {
  CallScope scope(operand.at());
  const Tensor& x = operand.tensor();
  const int64_t along = normalize_axis("split", axis, x.rank());
  int64_t total = 0;
  for (const int64_t size : sizes) total += size;
  if (total != x.shape()[along])
    throw ShapeError("split.sizes", cat("sizes ", sizes, " sum to ", total, ", axis ", along, " of ",
                                        x.type(), " is ", x.shape()[along]));
  std::vector<Tensor> out;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    out.push_back(slice_axis(x, along, begin, begin + size));
    begin += size;
  }
  return out;
}

std::vector<Tensor> split(Operand operand, int64_t parts, int64_t axis) {
  CallScope scope(operand.at());
  const Tensor& x = operand.tensor();
  const int64_t size = x.shape()[normalize_axis("split", axis, x.rank())];
  if (parts <= 0 || size % parts != 0) {
    throw ShapeError("split.parts",
                     cat("axis ", axis, " of ", x.type(), " does not split into ", parts, " equal parts"),
                     "name the sizes: split(x, {2, 3}, axis)");
  }
  return split(operand, Dims::filled(static_cast<size_t>(parts), size / parts), axis);
}

std::vector<Tensor> unstack(Operand x, int64_t axis) {
  CallScope scope(x.at());
  const int64_t along = normalize_axis("unstack", axis, x.tensor().rank());
  const int64_t count = x.tensor().shape()[along];
  if (count == 0) return {};
  std::vector<Tensor> out = split(x, count, along);
  for (Tensor& part : out) part = squeeze(part, along);
  return out;
}

Tensor tile(Operand operand, const Dims& repeats) {
  CallScope scope(operand.at());
  const Tensor& x = operand.tensor();
  const size_t rank = std::max(x.rank(), repeats.size());
  Shape wide, out;
  Dims axes;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = i + x.rank() >= rank ? x.shape()[i + x.rank() - rank] : 1;
    const int64_t times = i + repeats.size() >= rank ? repeats[i + repeats.size() - rank] : 1;
    if (times < 0) throw ValueError("tile.repeats", cat("must not be negative: ", repeats));
    wide.push_back(times);
    if (i + x.rank() >= rank) {
      axes.push_back(static_cast<int64_t>(wide.size()));
      wide.push_back(size);
    }
    out.push_back(size * times);
  }
  return reshape(broadcast_in_dim(x, wide, axes), out);
}

Tensor repeat(Operand operand, int64_t repeats, int64_t axis) {
  CallScope scope(operand.at());
  const Tensor& x = operand.tensor();
  const int64_t along = normalize_axis("repeat", axis, x.rank());
  if (repeats < 0) throw ValueError("repeat.repeats", cat("must not be negative, got ", repeats));
  Shape wide = x.shape();
  wide.insert(static_cast<size_t>(along) + 1, repeats);
  return reshape(broadcast_in_dim(x, wide, other_axes(wide.size(), {along + 1})),
                 with_size(x.shape(), along, x.shape()[along] * repeats));
}

Tensor flip(Operand x, Axes axes) {
  CallScope scope(x.at());
  const Dims list = axes.of("flip", x.tensor().rank());
  return list.empty() ? x.tensor() : reverse(x, list);
}

Tensor roll(Operand operand, int64_t shift, int64_t axis) {
  CallScope scope(operand.at());
  const Tensor& x = operand.tensor();
  const int64_t along = normalize_axis("roll", axis, x.rank()), n = x.shape()[along];
  if (n == 0) return x;
  const int64_t cut = (n - shift % n) % n;
  if (cut == 0) return x;
  return concatenate({slice_axis(x, along, cut, n), slice_axis(x, along, 0, cut)}, along);
}

Tensor pad(Operand operand, const std::vector<std::pair<int64_t, int64_t>>& widths, PadMode mode,
           double value) {
  CallScope scope(operand.at());
  Tensor x = operand.tensor();
  if (widths.size() != x.rank())
    throw ShapeError("pad.widths", cat("needs ", x.rank(), " pairs for ", x.type(), ", got ", widths.size()));
  Dims low, high;
  for (const auto& [before, after] : widths) {
    if (before < 0 || after < 0)
      throw ValueError("pad.widths", cat("must not be negative: {", before, ", ", after, "}"));
    low.push_back(before);
    high.push_back(after);
  }
  TensorType padded = x.type();
  for (size_t i = 0; i < low.size(); ++i) {
    constexpr int64_t kWidest = int64_t{1} << 48;
    if (low[i] > kWidest || high[i] > kWidest)
      throw ValueError("pad.widths", cat("{", low[i], ", ", high[i], "} is wider than any tensor"));
    padded.shape[i] += low[i] + high[i];
  }
  check_type(padded);
  if (mode == PadMode::kConstant)
    return pad(x, full({}, value, x.dtype()), low, high, Dims::filled(x.rank(), 0));
  for (size_t i = 0; i < widths.size(); ++i) {
    const auto [before, after] = widths[i];
    const int64_t n = x.shape()[i];
    if (before + after == 0) continue;
    if (n == 0) throw ShapeError("pad.empty", cat("axis ", i, " of ", x.type(), " has no element to repeat"));
    const std::vector<int32_t> index = padded_index(n, before, after, mode);
    x = take(x, Tensor::of(index, {static_cast<int64_t>(index.size())}), static_cast<int64_t>(i));
  }
  return x;
}

}  // namespace espalier
