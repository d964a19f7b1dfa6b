#include "passes/quantize.h"

#include <algorithm>

#include "espalier/ops.h"
#include "ops/convolution.h"
#include "ops/dot_general.h"
#include "ops/movement.h"
#include "ops/registry.h"
#include "passes/pass.h"

namespace espalier {
namespace {

// The axes of a weight whose elements belong to different results, and those of the result they become.
struct Channels {
  Dims of_weight, of_result;
};

Channels channels_of(const Graph& graph, const Node& node) {
  if (node.op == &op_convolution) {
    const ConvolutionDimensions& d =
        static_cast<const ConvolutionAttributes&>(*node.attributes).options.dimensions;
    return {{d.kernel_output_feature}, {d.output_feature}};
  }
  const DotAxes& axes = static_cast<const DotAttributes&>(*node.attributes).axes;
  Channels out;
  out.of_weight =
      free_axes(graph.type(graph.inputs(node)[1]).rank(), axes.rhs_batching, axes.rhs_contracting);
  const auto first = static_cast<int64_t>(graph.type(node.first_result).rank() - out.of_weight.size());
  for (size_t i = 0; i < out.of_weight.size(); ++i) out.of_result.push_back(first + static_cast<int64_t>(i));
  return out;
}

// A weight as 8-bit integers; scales and sums of integers by channel.
struct Weight {
  Tensor values;
  Shape channels;
  std::vector<float> scales;
  std::vector<int32_t> sums;
};

Weight quantized_weight(const Literal& literal, const Dims& axes) {
  const Literal dense = literal.expanded();
  const Shape& shape = literal.type().shape;
  Weight out;
  out.channels = pick(shape, axes);
  const Dims inner = row_major_strides(out.channels);
  Dims strides = Dims::filled(shape.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) strides[axes[i]] = inner[i];
  const auto count = static_cast<size_t>(num_elements(out.channels));
  out.scales.assign(count, 0);
  out.sums.assign(count, 0);
  const auto* w = static_cast<const float*>(dense.raw());
  walk(shape, strides, 0, [&](int64_t i, int64_t channel) {
    out.scales[channel] = std::max(out.scales[channel], std::fabs(w[i]));
  });
  for (float& scale : out.scales) scale = scale > 0 ? scale / 127 : 1;
  const Buffer bytes = allocate_buffer(static_cast<size_t>(num_elements(shape)));
  auto* values = reinterpret_cast<int8_t*>(bytes.get());
  walk(shape, strides, 0, [&](int64_t i, int64_t channel) {
    values[i] = static_cast<int8_t>(std::clamp(std::nearbyint(w[i] / out.scales[channel]), -127.0f, 127.0f));
    out.sums[channel] += values[i];
  });
  out.values = make_concrete(Literal({DType::kI8, shape}, bytes));
  return out;
}

bool is_plain(const Node& node) {
  if (node.op == &op_dot_general)
    return static_cast<const DotAttributes&>(*node.attributes).axes.lhs_batching.empty();
  const ConvolutionOptions& o = static_cast<const ConvolutionAttributes&>(*node.attributes).options;
  return o.batch_group_count == 1 &&
         std::all_of(o.lhs_dilation.begin(), o.lhs_dilation.end(), [](int64_t d) { return d == 1; });
}

bool is_quantized(const Graph& graph, const Node& node) {
  if (node.op != &op_dot_general && node.op != &op_convolution) return false;
  const ValueId lhs = graph.inputs(node)[0], rhs = graph.inputs(node)[1];
  const Literal* weight = constant_of(graph, rhs);
  const int64_t results =
      weight ? num_elements(pick(weight->type().shape, channels_of(graph, node).of_weight)) : 0;
  constexpr int64_t kMostTerms = 1 << 16;
  if (results == 0 || weight->type().dtype != DType::kF32 || constant_of(graph, lhs) || !is_plain(node) ||
      graph.type(node.first_result).dtype != DType::kF32 || weight->type().elements() / results > kMostTerms)
    return false;
  const auto* elements = static_cast<const float*>(weight->raw());
  return std::all_of(elements, elements + weight->raw_bytes() / sizeof(float),
                     [](float w) { return std::isfinite(w); });
}

struct Activation {
  Tensor values;  // i8
  double scale = 1;
  int64_t zero = 0;
};

Activation quantized_activation(const Tensor& x, const ActivationRange& range) {
  const double width = range.high - range.low, scale = width > 0 ? width / 255 : 1;
  const auto zero = static_cast<int64_t>(std::clamp(std::nearbyint(-128 - range.low / scale), -128.0, 127.0));
  const Tensor steps = round_nearest_even(x * (1 / scale)) + static_cast<double>(zero);
  return {convert(clamp(-128, steps, 127), DType::kI8), scale, zero};
}

// The sums of products of integers.
Tensor integer_product(const Node& node, Activation x, const Tensor& weight) {
  if (node.op == &op_dot_general) {
    return dot_general(x.values, weight, static_cast<const DotAttributes&>(*node.attributes).axes,
                       DType::kI32);
  }
  ConvolutionOptions options = static_cast<const ConvolutionAttributes&>(*node.attributes).options;
  const Dims& spatial = options.dimensions.input_spatial;
  Dims low = Dims::filled(x.values.rank(), 0), high = low;
  for (size_t i = 0; i < options.padding_low.size(); ++i) low[spatial[i]] = options.padding_low[i];
  for (size_t i = 0; i < options.padding_high.size(); ++i) high[spatial[i]] = options.padding_high[i];
  const Dims none = Dims::filled(x.values.rank(), 0);
  if (low != none || high != none) x.values = pad(x.values, x.zero, low, high);
  options.padding_low = options.padding_high = {};
  return convolution(x.values, weight, options, DType::kI32);
}

Tensor quantized_product(const Graph& graph, const Node& node, const Activation& x) {
  const Channels channels = channels_of(graph, node);
  const Weight weight = quantized_weight(*constant_of(graph, graph.inputs(node)[1]), channels.of_weight);
  std::vector<float> scales;
  std::vector<int32_t> offsets;
  for (const float scale : weight.scales) scales.push_back(static_cast<float>(x.scale * double{scale}));
  for (const int32_t sum : weight.sums) offsets.push_back(static_cast<int32_t>(x.zero * sum));
  const Tensor sums = integer_product(node, x, weight.values);
  const auto along = [&](const Tensor& t) { return broadcast_in_dim(t, sums.shape(), channels.of_result); };
  return convert(sums - along(Tensor::of(offsets, weight.channels)), DType::kF32) *
         along(Tensor::of(scales, weight.channels));
}

}  // namespace

ActivationRange range_of(std::span<const Literal> batches, double percentile) {
  if (!(percentile > 50 && percentile <= 100))
    throw ValueError("quantize.percentile",
                     cat("a percentile lies above 50 and up to 100, got ", percentile));
  std::vector<float> values;
  for (const Literal& batch : batches) {
    const auto* elements = static_cast<const float*>(batch.raw());
    std::copy_if(elements, elements + batch.raw_bytes() / sizeof(float), std::back_inserter(values),
                 [](float x) { return std::isfinite(x); });
  }
  if (values.empty()) return {};
  const auto cut = static_cast<std::ptrdiff_t>((100 - percentile) / 100 * static_cast<double>(values.size()));
  const auto at = [&](std::ptrdiff_t place) {
    std::nth_element(values.begin(), values.begin() + place, values.end());
    return static_cast<double>(values[static_cast<size_t>(place)]);
  };
  const double high = at(static_cast<std::ptrdiff_t>(values.size()) - 1 - cut), low = at(cut);
  return {std::min(low, 0.0), std::max(high, 0.0)};
}

std::shared_ptr<Graph> quantized_activations(const Graph& graph) {
  GraphBuilder builder("activations");
  std::vector<ValueId> map(graph.value_count(), kNone), operands;
  std::vector<uint32_t> types;
  for (const GraphInput& input : graph.inputs())
    map[input.value] = builder.value_of(builder.input(input.kind, input.name, graph.type(input.value)));
  size_t count = 0;
  for (const Node& node : graph.nodes()) {
    operands.clear();
    for (const ValueId input : graph.inputs(node)) operands.push_back(map[input]);
    if (is_quantized(graph, node)) builder.result(cat("x", count++), builder.tensor_of(operands[0]));
    const NodeId id = builder.append(graph, node, operands, graph.regions(node), types);
    for (uint32_t i = 0; i < node.result_count; ++i)
      map[node.first_result + i] = builder.graph().node(id).first_result + i;
  }
  return pass_dce.run(*builder.finish());
}

std::shared_ptr<Graph> quantize(const Graph& graph, std::span<const ActivationRange> ranges) {
  Rewriter rewriter(graph);
  std::unordered_map<ValueId, Activation> activations;
  size_t count = 0;
  for (const Node& node : graph.nodes()) {
    if (!is_quantized(graph, node)) {
      rewriter.copy(node);
      continue;
    }
    const ValueId lhs = graph.inputs(node)[0];
    CallScope at(graph.location(node));
    NameScope name(graph.scope(node));
    SinkScope scope(rewriter.builder());
    if (count < ranges.size() && !activations.contains(lhs))
      activations.emplace(lhs, quantized_activation(rewriter.mapped(lhs), ranges[count]));
    if (count++ < ranges.size())
      rewriter.replace(node.first_result, quantized_product(graph, node, activations.at(lhs)));
    else
      rewriter.copy(node);
  }
  if (count != ranges.size())
    throw ValueError("quantize.ranges",
                     cat("the graph rounds ", count, " activations, got ", ranges.size(), " ranges"));
  return pass_dce.run(*rewriter.finish());
}

}  // namespace espalier
