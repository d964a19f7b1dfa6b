#include "text/c_core.h"

#include "ir/attribute_reader.h"
#include "ir/constant.h"
#include "ops/convolution.h"
#include "ops/dot_general.h"
#include "ops/indexed.h"
#include "ops/reduce_window.h"
#include "ops/registry.h"
#include "text/c_types.h"

namespace espalier::c_text {
namespace {

// sum += x * y in the type of the sum.
std::function<std::string(const std::vector<std::string>&)> multiply_add(DType dtype, DType operand) {
  if (dtype == DType::kBool) {
    return [](const std::vector<std::string>& x) { return cat("sum |= ", x[0], " & ", x[1], ";"); };
  }
  const std::string cast = dtype == operand && is_float(dtype) ? "" : cat("(", sum_type(dtype), ")");
  return [cast](const std::vector<std::string>& x) {
    return cat("sum += ", cast, x[0], " * ", cast, x[1], ";");
  };
}

std::function<std::string(const std::vector<std::string>&)> combine(Reducer reducer, DType dtype) {
  const char* op = nullptr;
  switch (reducer) {
    case Reducer::kSum:
      op = "+";
      break;
    case Reducer::kProd:
      op = "*";
      break;
    case Reducer::kAnd:
      op = "&";
      break;
    case Reducer::kOr:
      op = "|";
      break;
    case Reducer::kXor:
      op = "^";
      break;
    case Reducer::kMax:
    case Reducer::kMin: {
      const char* than = reducer == Reducer::kMax ? " > " : " < ";
      return [than, dtype](const std::vector<std::string>& x) {
        const std::string nan = is_float(dtype) ? cat(" || ", x[0], " != ", x[0]) : "";
        return cat("if (", x[0], than, "sum", nan, ") sum = ", x[0], ";");
      };
    }
    case Reducer::kUpdate:
    case Reducer::kRegion:
      throw UnsupportedError("c.op", "a reduction by a region has no C form");
  }
  if (dtype == DType::kBool && (reducer == Reducer::kSum || reducer == Reducer::kProd))
    op = reducer == Reducer::kSum ? "|" : "&";
  const std::string cast = is_float(dtype) ? "" : cat("(", sum_type(dtype), ")");
  return [op = std::string(op), cast](const std::vector<std::string>& x) {
    return cat("sum ", op, "= ", cast, x[0], ";");
  };
}

Core dot_core(const Graph& graph, const Node& node) {
  const auto& a = static_cast<const DotAttributes&>(*node.attributes);
  const ValueId lhs = graph.inputs(node)[0], rhs = graph.inputs(node)[1];
  const Shape &ls = graph.type(lhs).shape, &rs = graph.type(rhs).shape;
  Core core;
  Indices l(ls.size()), r(rs.size());
  for (size_t i = 0; i < a.axes.lhs_batching.size(); ++i) {
    const int64_t axis = a.axes.lhs_batching[i];
    l[axis] = r[a.axes.rhs_batching[i]] = Affine::counter(core.nest.add(ls[axis]));
  }
  for (const int64_t axis : free_axes(ls.size(), a.axes.lhs_batching, a.axes.lhs_contracting))
    l[axis] = Affine::counter(core.nest.add(ls[axis]));
  for (const int64_t axis : free_axes(rs.size(), a.axes.rhs_batching, a.axes.rhs_contracting))
    r[axis] = Affine::counter(core.nest.add(rs[axis]));
  core.nest.outer = core.nest.sizes.size();
  core.result = identity(core.nest.outer);
  for (size_t i = 0; i < a.axes.lhs_contracting.size(); ++i) {
    const int64_t axis = a.axes.lhs_contracting[i];
    l[axis] = r[a.axes.rhs_contracting[i]] = Affine::counter(core.nest.add(ls[axis]));
  }
  core.reads = {{lhs, l}, {rhs, r}};
  core.initial = "0";
  core.update = multiply_add(a.dtype, graph.type(lhs).dtype);
  return core;
}

// The element of the base under element `k` of the window at `place`, along one axis.
Affine under_window(const Window& window, size_t axis, size_t place, size_t k) {
  if (window.base_dilation(axis) != 1)
    throw UnsupportedError("c.window", cat("gaps of ", window.base_dilation(axis) - 1,
                                           " between the elements that a window moves over have no C form"));
  return Affine::counter(place, window.stride(axis), -window.pad_low(axis))
      .add(Affine::counter(k), window.window_dilation(axis));
}

Core convolution_core(const Graph& graph, const Node& node) {
  const auto& a = static_cast<const ConvolutionAttributes&>(*node.attributes);
  const ConvolutionOptions& o = a.options;
  const ConvolutionDimensions& d = o.dimensions;
  if (o.batch_group_count != 1)
    throw UnsupportedError("c.batches",
                           cat("a convolution in ", o.batch_group_count, " groups of batches has no C form"));
  const ValueId input = graph.inputs(node)[0], kernel = graph.inputs(node)[1];
  const Shape &x = graph.type(input).shape, &w = graph.type(kernel).shape,
              &y = graph.type(node.first_result).shape;
  const Window window = window_of(o, w);
  const int64_t groups = o.feature_group_count, features = w[d.kernel_input_feature];
  const int64_t results = w[d.kernel_output_feature] / groups;
  Core core;
  Indices from(x.size()), by(w.size()), to(y.size());
  from[d.input_batch] = to[d.output_batch] = Affine::counter(core.nest.add(y[d.output_batch]));
  std::vector<size_t> places;
  for (const int64_t axis : d.output_spatial) {
    places.push_back(core.nest.add(y[axis]));
    to[axis] = Affine::counter(places.back());
  }
  const size_t group = core.nest.add(groups), result = core.nest.add(results);
  core.nest.outer = core.nest.sizes.size();
  to[d.output_feature] = by[d.kernel_output_feature] =
      Affine::counter(group, results).add(Affine::counter(result));
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t k = core.nest.add(window.sizes[i]);
    const bool reversed = !o.window_reversal.empty() && o.window_reversal[i];
    by[d.kernel_spatial[i]] = reversed ? Affine::counter(k, -1, window.sizes[i] - 1) : Affine::counter(k);
    from[d.input_spatial[i]] = under_window(window, i, places[i], k);
    core.nest.bounds.push_back({from[d.input_spatial[i]], x[d.input_spatial[i]]});
  }
  const size_t feature = core.nest.add(features);
  by[d.kernel_input_feature] = Affine::counter(feature);
  from[d.input_feature] = Affine::counter(group, features).add(Affine::counter(feature));
  core.result = to;
  core.reads = {{input, from}, {kernel, by}};
  core.initial = "0";
  core.update = multiply_add(a.dtype, graph.type(input).dtype);
  return core;
}

Core reduce_core(const Graph& graph, const Node& node) {
  const ValueId x = graph.inputs(node)[0];
  const TensorType& type = graph.type(x);
  const Dims axes = read_dims(node.attributes.get(), "dimensions");
  Core core;
  Indices indices(type.rank());
  for (const bool reduced : {false, true}) {
    for (size_t i = 0; i < type.rank(); ++i) {
      if (axes.contains(static_cast<int64_t>(i)) == reduced)
        indices[i] = Affine::counter(core.nest.add(type.shape[i]));
    }
    if (!reduced) core.nest.outer = core.nest.sizes.size();
  }
  core.result = identity(core.nest.outer);
  core.reads = {{x, indices}};
  core.initial_read = {graph.inputs(node)[1]};
  core.update = combine(static_cast<Reducer>(read_integer(node.attributes.get(), "reducer")), type.dtype);
  return core;
}

Core window_core(const Graph& graph, const Node& node) {
  const auto& a = static_cast<const ReduceWindowAttributes&>(*node.attributes);
  const ValueId x = graph.inputs(node)[0], initial = graph.inputs(node)[1];
  const TensorType &type = graph.type(x), &result = graph.type(node.first_result);
  Core core;
  for (const int64_t size : result.shape) core.nest.add(size);
  core.nest.outer = core.nest.sizes.size();
  core.result = identity(core.nest.outer);
  core.update = combine(a.reducer, type.dtype);
  Indices indices;
  bool padded = false;
  for (size_t i = 0; i < type.rank(); ++i) {
    indices.push_back(under_window(a.window, i, i, core.nest.add(a.window.sizes[i])));
    core.nest.bounds.push_back({indices.back(), type.shape[i]});
    padded = padded || a.window.pad_low(i) > 0 || a.window.pad_high(i) > 0;
  }
  // Padding is left out, which is right for what changes nothing.
  const NodeId producer = graph.producer(initial);
  const Literal* first =
      producer == kNone || graph.node(producer).op != &op_constant
          ? nullptr
          : &static_cast<const ConstantAttributes&>(*graph.node(producer).attributes).value;
  if (padded && (!first || !(*first == reducer_identity(a.reducer, type.dtype))))
    throw UnsupportedError(
        "c.initial", cat("a padded window over ", type, " has a C form only from the reducer's identity"));
  core.reads = {{x, indices}};
  core.initial_read = {initial};
  return core;
}

Core gather_core(const Graph& graph, const Node& node) {
  const Attributes* attributes = node.attributes.get();
  const auto list = [&](const char* name) { return read_dims(attributes, name); };
  const IndexAxes axes{.window = list("dimension_numbers.offset_dims"),
                       .collapsed = list("dimension_numbers.collapsed_slice_dims"),
                       .operand_batching = list("dimension_numbers.operand_batching_dims"),
                       .indices_batching = list("dimension_numbers.start_indices_batching_dims"),
                       .index_map = list("dimension_numbers.start_index_map"),
                       .index_vector = read_integer(attributes, "dimension_numbers.index_vector_dim")};
  const Dims sizes = list("slice_sizes");
  const ValueId operand = graph.inputs(node)[0], starts = graph.inputs(node)[1];
  const Shape& shape = graph.type(operand).shape;
  const TensorType &indices = graph.type(starts), &result = graph.type(node.first_result);
  Core core;
  for (const int64_t size : result.shape) core.nest.add(size);
  core.nest.outer = core.nest.sizes.size();
  core.result = identity(core.nest.outer);

  // Axes of the result that are no window's are those of the indices, without the one of index vectors.
  Indices at(indices.rank());
  size_t axis = 0;
  for (size_t k = 0; k < result.rank(); ++k) {
    if (axes.window.contains(static_cast<int64_t>(k))) continue;
    axis += static_cast<int64_t>(axis) == axes.index_vector;
    at[axis++] = core.result[k];
  }
  Indices from(shape.size());
  const Dims kept = kept_axes(axes, shape.size());
  for (size_t i = 0; i < kept.size(); ++i) from[kept[i]] = core.result[axes.window[i]];
  for (size_t i = 0; i < axes.operand_batching.size(); ++i)
    from[axes.operand_batching[i]] = at[axes.indices_batching[i]];
  for (size_t i = 0; i < axes.index_map.size(); ++i) {
    if (static_cast<size_t>(axes.index_vector) < indices.rank())
      at[axes.index_vector] = Affine{static_cast<int64_t>(i)};
    const int64_t mapped = axes.index_map[i];
    core.starts.push_back({{starts, at}, shape[mapped] - sizes[mapped]});
    from[mapped].add(Affine::counter(core.nest.sizes.size() + i));
  }
  core.initial_read = {operand, from};
  return core;
}

Core dynamic_slice_core(const Graph& graph, const Node& node) {
  const auto inputs = graph.inputs(node);
  const Shape &shape = graph.type(inputs[0]).shape, &result = graph.type(node.first_result).shape;
  Core core;
  for (const int64_t size : result) core.nest.add(size);
  core.nest.outer = core.nest.sizes.size();
  core.result = identity(core.nest.outer);
  Indices from = core.result;
  for (size_t i = 0; i < shape.size(); ++i) {
    core.starts.push_back({{inputs[i + 1], {}}, shape[i] - result[i]});
    from[i].add(Affine::counter(core.nest.outer + i));
  }
  core.initial_read = {inputs[0], from};
  return core;
}

}  // namespace

Core core_of(const Graph& graph, const Node& node) {
  if (node.op == &op_dot_general) return dot_core(graph, node);
  if (node.op == &op_convolution) return convolution_core(graph, node);
  if (node.op == &op_reduce) return reduce_core(graph, node);
  if (node.op == &op_reduce_window) return window_core(graph, node);
  if (node.op == &op_dynamic_slice) return dynamic_slice_core(graph, node);
  return gather_core(graph, node);
}

}  // namespace espalier::c_text
