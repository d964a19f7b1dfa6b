#include "runtime/integer_products.h"

#include <algorithm>

#include "espalier/ops.h"
#include "ir/builder.h"
#include "ir/constant.h"
#include "ops/convolution.h"
#include "ops/dot_general.h"
#include "ops/registry.h"
#include "passes/pass.h"

namespace espalier {
namespace {

constexpr int64_t kMostTerms = 1024;

// How a product is cut: parts of `size` along one axis of each factor. No parts: not at all.
struct Cut {
  int64_t lhs_axis = 0, rhs_axis = 0, length = 0, size = 0;
};

// Nothing where a part would still have too many terms.
std::optional<Cut> cut_of(int64_t terms, int64_t lhs_axis, int64_t rhs_axis, int64_t length) {
  if (length == 0) return std::nullopt;
  const int64_t others = terms / length;
  if (others > kMostTerms) return std::nullopt;
  return Cut{lhs_axis, rhs_axis, length, kMostTerms / std::max<int64_t>(others, 1)};
}

std::optional<Cut> cut_of(const Graph& graph, const Node& node) {
  if (node.op != &op_dot_general && node.op != &op_convolution) return std::nullopt;
  const TensorType &lhs = graph.type(graph.inputs(node)[0]), &rhs = graph.type(graph.inputs(node)[1]);
  if (lhs.dtype != DType::kI8 || rhs.dtype != DType::kI8 ||
      graph.type(node.first_result).dtype != DType::kI32)
    return std::nullopt;
  if (node.op == &op_dot_general) {
    const DotAxes& axes = static_cast<const DotAttributes&>(*node.attributes).axes;
    if (axes.lhs_contracting.empty()) return std::nullopt;
    const Dims& of = axes.lhs_contracting;
    const auto longest =
        std::ranges::max_element(of, [&](int64_t a, int64_t b) { return lhs.shape[a] < lhs.shape[b]; });
    return cut_of(num_elements(pick(lhs.shape, of)), *longest,
                  axes.rhs_contracting[static_cast<size_t>(longest - of.begin())], lhs.shape[*longest]);
  }
  const ConvolutionOptions& o = static_cast<const ConvolutionAttributes&>(*node.attributes).options;
  const ConvolutionDimensions& d = o.dimensions;
  const int64_t features = rhs.shape[d.kernel_input_feature], outputs = rhs.shape[d.kernel_output_feature];
  if (outputs == 0) return std::nullopt;
  const int64_t terms = rhs.elements() / outputs;
  // The channels of one group are not beside each other's.
  if (o.feature_group_count != 1 && terms > kMostTerms) return std::nullopt;
  return cut_of(terms, d.input_feature, d.kernel_input_feature, features);
}

// The part [first, last) of a factor along an axis, in f32: of one that is known now, and not in every run.
Tensor part_of(const Rewriter& rewriter, ValueId value, int64_t axis, int64_t first, int64_t last) {
  const Graph& graph = rewriter.old();
  const TensorType& type = graph.type(value);
  const NodeId producer = graph.producer(value);
  if (producer == kNone || graph.node(producer).op != &op_constant) {
    const Tensor x = convert(rewriter.mapped(value), DType::kF32);
    if (last - first == type.shape[axis]) return x;
    Dims start = Dims::filled(type.rank(), 0), limit = type.shape;
    start[axis] = first;
    limit[axis] = last;
    return slice(x, start, limit);
  }
  const Literal whole =
      static_cast<const ConstantAttributes&>(*graph.node(producer).attributes).value.expanded();
  Shape shape = type.shape;
  shape[axis] = last - first;
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
  const int64_t block = inner * shape[axis], stride = inner * type.shape[axis];
  const Buffer bytes = allocate_buffer(static_cast<size_t>(num_elements(shape)) * sizeof(float));
  const auto* from = static_cast<const int8_t*>(whole.raw()) + first * inner;
  auto* to = reinterpret_cast<float*>(bytes.get());
  for (int64_t done = 0; done < num_elements(shape); done += block, from += stride)
    to = std::copy_n(from, block, to);
  return make_concrete(Literal({DType::kF32, shape}, bytes));
}

Tensor product_of(const Node& node, const Tensor& lhs, const Tensor& rhs) {
  const Tensor sums =
      node.op == &op_dot_general
          ? dot_general(lhs, rhs, static_cast<const DotAttributes&>(*node.attributes).axes)
          : convolution(lhs, rhs, static_cast<const ConvolutionAttributes&>(*node.attributes).options);
  return convert(sums, DType::kI32);
}

bool has_products(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return cut_of(graph, node).has_value() ||
           std::ranges::any_of(graph.regions(node),
                               [](const GraphPtr& region) { return has_products(*region); });
  });
}

std::shared_ptr<Graph> rewrite_products(const Graph& graph) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    const std::optional<Cut> cut = cut_of(graph, node);
    if (!cut) {
      rewriter.copy(node, rewrite_regions(graph, node, rewrite_products));
      continue;
    }
    CallScope at(graph.location(node));
    NameScope name(graph.scope(node));
    SinkScope scope(rewriter.builder());
    const auto inputs = graph.inputs(node);
    Tensor sum;
    for (int64_t first = 0; first < cut->length; first += cut->size) {
      const int64_t last = std::min(first + cut->size, cut->length);
      // Whole, a factor of groups has other lengths along the axis than the other one.
      const auto part = [&](ValueId value, int64_t axis) {
        const bool whole = cut->size >= cut->length;
        return part_of(rewriter, value, axis, first, whole ? graph.type(value).shape[axis] : last);
      };
      const Tensor product = product_of(node, part(inputs[0], cut->lhs_axis), part(inputs[1], cut->rhs_axis));
      sum = sum.defined() ? sum + product : product;
    }
    rewriter.replace(node.first_result, sum);
  }
  return rewriter.finish();
}

}  // namespace

std::shared_ptr<const Graph> integer_products_in_f32(std::shared_ptr<const Graph> graph) {
  return has_products(*graph) ? rewrite_products(*graph) : std::move(graph);
}

}  // namespace espalier
