#include <algorithm>

#include "format/onnx/exporter.h"
#include "ops/convolution.h"
#include "ops/dot_general.h"
#include "ops/reduce_window.h"
#include "passes/pass.h"

namespace espalier::onnx {
namespace {

template <class... Lists>
Dims joined(const Lists&... lists) {
  Dims out;
  const auto append = [&](const Dims& list) {
    for (const int64_t axis : list) out.push_back(axis);
  };
  (append(lists), ...);
  return out;
}

void dot_general(Exporter& e, const espalier::Node& node) {
  const auto inputs = e.graph().inputs(node);
  const ValueId lhs = inputs[0], rhs = inputs[1];
  const DotAxes& a = static_cast<const DotAttributes&>(*node.attributes).axes;
  const DType dtype = e.type(node.first_result).dtype;
  const size_t lhs_rank = e.type(lhs).rank(), rhs_rank = e.type(rhs).rank();
  const Dims lhs_free = free_axes(lhs_rank, a.lhs_batching, a.lhs_contracting),
             rhs_free = free_axes(rhs_rank, a.rhs_batching, a.rhs_contracting);
  const auto operand = [&](ValueId value, const Dims& axes) {
    return e.cast(e.arranged(value, axes), e.type(value).dtype, dtype);
  };
  const bool one = a.lhs_contracting.size() == 1, stacked = !a.lhs_batching.empty();
  if (one && (stacked ? lhs_free.size() == 1 && rhs_free.size() == 1 : rhs_free.size() <= 1)) {
    return e.set(node.first_result,
                 e.emit("MatMul", {operand(lhs, joined(a.lhs_batching, lhs_free, a.lhs_contracting)),
                                   operand(rhs, joined(a.rhs_batching, a.rhs_contracting, rhs_free))}));
  }
  if (lhs_rank + rhs_rank > 26) e.refuse(node, "more than 26 axes");
  std::string left(lhs_rank, ' '), right(rhs_rank, ' '), result;
  char next = 'a';
  const auto pair = [&](const Dims& x, const Dims& y) {
    for (size_t i = 0; i < x.size(); ++i) left[x[i]] = right[y[i]] = next++;
  };
  pair(a.lhs_batching, a.rhs_batching);
  result.assign(left, 0, 0);
  for (const int64_t axis : a.lhs_batching) result += left[axis];
  pair(a.lhs_contracting, a.rhs_contracting);
  for (const int64_t axis : lhs_free) result += left[axis] = next++;
  for (const int64_t axis : rhs_free) result += right[axis] = next++;
  e.set(node.first_result,
        e.emit("Einsum", {operand(lhs, Dims::range(lhs_rank)), operand(rhs, Dims::range(rhs_rank))},
               {{"equation", cat(left, ",", right, "->", result)}}));
}

// Padding in the order of ONNX: all low ones, then all high ones.
std::vector<int64_t> pads(Exporter& e, const espalier::Node& node, const Dims& low, const Dims& high) {
  for (const Dims* side : {&low, &high}) {
    for (const int64_t count : *side) {
      if (count < 0) e.refuse(node, "ONNX takes no negative padding of a window");
    }
  }
  return list(joined(low, high));
}

bool all_are(const Dims& dims, int64_t value) {
  return std::all_of(dims.begin(), dims.end(), [&](int64_t x) { return x == value; });
}
Dims or_filled(const Dims& dims, size_t count, int64_t value) {
  return dims.empty() ? Dims::filled(count, value) : dims;
}

void convolution(Exporter& e, const espalier::Node& node) {
  const auto inputs = e.graph().inputs(node);
  const ConvolutionOptions& o = static_cast<const ConvolutionAttributes&>(*node.attributes).options;
  const ConvolutionDimensions& d = o.dimensions;
  const size_t rank = d.input_spatial.size();
  if (!all_are(o.lhs_dilation, 1)) e.refuse(node, "ONNX's Conv does not dilate its input");
  if (!all_are(o.window_reversal, 0)) e.refuse(node, "ONNX's Conv does not reverse its window");
  if (o.batch_group_count != 1) e.refuse(node, "ONNX's Conv does not group the batch");
  if (rank == 0) e.refuse(node, "ONNX's Conv needs a spatial axis");
  const DType dtype = e.type(node.first_result).dtype;
  const auto operand = [&](ValueId value, const Dims& axes) {
    return e.cast(e.arranged(value, axes), e.type(value).dtype, dtype);
  };
  const std::string x = operand(inputs[0], joined(Dims{d.input_batch, d.input_feature}, d.input_spatial));
  const std::string kernel =
      operand(inputs[1], joined(Dims{d.kernel_output_feature, d.kernel_input_feature}, d.kernel_spatial));
  Dims size;
  for (const int64_t axis : d.kernel_spatial) size.push_back(e.type(inputs[1]).shape[axis]);
  Stored out = Exporter::plain("", rank + 2);
  out.order[d.output_batch] = 0;
  out.order[d.output_feature] = 1;
  for (size_t i = 0; i < rank; ++i) out.order[d.output_spatial[i]] = static_cast<int64_t>(i) + 2;
  out.name =
      e.emit("Conv", {x, kernel},
             {{"kernel_shape", list(size)},
              {"strides", list(or_filled(o.window_strides, rank, 1))},
              {"dilations", list(or_filled(o.rhs_dilation, rank, 1))},
              {"pads", pads(e, node, or_filled(o.padding_low, rank, 0), or_filled(o.padding_high, rank, 0))},
              {"group", o.feature_group_count}});
  e.set(node.first_result, std::move(out));
}

// The axes of a window as ONNX wants them: two that it does not cover, in front of the others.
Dims pooled_axes(Exporter& e, const espalier::Node& node, const Window& w) {
  Dims bare, covered;
  for (size_t i = 0; i < w.rank(); ++i) {
    const bool is_bare = w.sizes[i] == 1 && w.stride(i) == 1 && w.pad_low(i) == 0 && w.pad_high(i) == 0;
    (is_bare ? bare : covered).push_back(static_cast<int64_t>(i));
  }
  if (bare.size() < 2 || w.rank() < 3 || w.rank() > 5)
    e.refuse(node, cat("ONNX pools over 1 to 3 axes behind two that the window does not cover, this one is ",
                       w.sizes));
  Dims out{bare[0], bare.back()};
  for (size_t i = 0; i < w.rank(); ++i) {
    if (!out.contains(static_cast<int64_t>(i))) out.push_back(static_cast<int64_t>(i));
  }
  return out;
}

void reduce_window(Exporter& e, const espalier::Node& node) {
  const auto& a = static_cast<const ReduceWindowAttributes&>(*node.attributes);
  const auto inputs = e.graph().inputs(node);
  const ValueId x = inputs[0];
  const DType dtype = e.type(x).dtype;
  const bool sum = a.reducer == Reducer::kSum, max = a.reducer == Reducer::kMax;
  if ((!sum && !max && a.reducer != Reducer::kMin) || !is_float(dtype))
    e.refuse(node, "ONNX pools floats by sum, maximum and minimum");
  const Literal* initial = constant_of(e.graph(), inputs[1]);
  if (!initial || !(*initial == reducer_identity(a.reducer, dtype)))
    e.refuse(node, "ONNX pools from the identity of the reduction");
  const Window& w = a.window;
  if (!all_are(w.base_dilations, 1) || (sum && !all_are(w.window_dilations, 1)))
    e.refuse(node, "ONNX does not pool with these dilations");
  const Dims axes = pooled_axes(e, node, w);
  Dims sizes, strides, dilations, low, high;
  for (const int64_t axis : axes.span().subspan(2)) {
    const auto i = static_cast<size_t>(axis);
    sizes.push_back(w.sizes[i]);
    strides.push_back(w.stride(i));
    dilations.push_back(w.window_dilation(i));
    low.push_back(w.pad_low(i));
    high.push_back(w.pad_high(i));
  }
  std::vector<Attribute> attributes{
      {"kernel_shape", list(sizes)}, {"strides", list(strides)}, {"pads", pads(e, node, low, high)}};
  // Along axes that the window does not cover, a repeated value stays one.
  const Dims lazy{axes[0], axes[1]};
  std::string in = e.arranged(x, axes, lazy), out;
  if (sum) {
    attributes.push_back({"count_include_pad", int64_t{1}});
    out = e.emit("Mul", {e.emit("AveragePool", {in}, attributes),
                         e.scalar(dtype, static_cast<double>(num_elements(sizes)))});
  } else {
    attributes.push_back({"dilations", list(dilations)});
    if (!max) in = e.emit("Neg", {in});
    out = e.emit("MaxPool", {in}, attributes);
    if (!max) out = e.emit("Neg", {out});
  }
  Stored stored = Exporter::plain(out, axes.size());
  for (size_t i = 0; i < axes.size(); ++i) stored.order[axes[i]] = static_cast<int64_t>(i);
  for (const int64_t axis : lazy) stored.repeated[axis] = e.stored(x).repeated[axis];
  e.set(node.first_result, std::move(stored));
}

}  // namespace

bool export_product(Exporter& e, const espalier::Node& node) {
  if (node.op == &op_dot_general) {
    dot_general(e, node);
  } else if (node.op == &op_convolution) {
    convolution(e, node);
  } else if (node.op == &op_reduce_window) {
    reduce_window(e, node);
  } else {
    return false;
  }
  return true;
}

}  // namespace espalier::onnx
