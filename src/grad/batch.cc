#include "grad/batch.h"

#include "ir/builder.h"
#include "ops/regions.h"

namespace espalier {
namespace {

// A composite's decomposition for one example, closed.
GraphPtr decomposition(const Graph& graph, const Node& node) {
  GraphBuilder builder(node.op->name);
  SinkScope scope(builder);
  std::vector<Tensor> arguments;
  for (const ValueId input : graph.inputs(node))
    arguments.push_back(builder.argument("x", graph.type(input)));
  const auto results = node.op->decompose({node.attributes.get(), arguments, graph.regions(node)});
  for (const Tensor& result : results) builder.result("y", result);
  return builder.finish();
}

std::vector<Tensor> call_batched(const Graph& graph, const Node& node, std::span<const Tensor> inputs,
                                 const std::vector<bool>& batched, int64_t size) {
  const OpDef& op = *node.op;
  if (op.batch) {
    BatchContext context{op, node.attributes, inputs, graph.regions(node), batched, size, {}};
    op.batch(context);
    if (!context.outputs.empty() || !op.decompose) return std::move(context.outputs);
  }
  if (!op.decompose) {
    throw UnsupportedError(cat(op.name, ".batch"), cat(op.name, " has no batching rule"),
                           "use map(f, xs), which runs the examples one after the other");
  }
  return region_batch(*decomposition(graph, node), inputs, batched,
                      std::vector<bool>(node.result_count, true), size);
}

}  // namespace

Vectorized vectorize(const Graph& graph, std::span<const Tensor> inputs, const std::vector<bool>& batched,
                     int64_t size) {
  std::vector<Tensor> values(graph.value_count());
  std::vector<bool> has_axis(graph.value_count(), false);
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[graph.inputs()[i].value] = inputs[i];
    has_axis[graph.inputs()[i].value] = batched[i];
  }
  std::vector<Tensor> operands;
  std::vector<bool> flags;
  for (const Node& node : graph.nodes()) {
    CallScope call(graph.location(node));
    operands.clear();
    flags.clear();
    bool any = false;
    for (const ValueId input : graph.inputs(node)) {
      operands.push_back(values[input]);
      flags.push_back(has_axis[input]);
      any = any || has_axis[input];
    }
    auto results = any ? call_batched(graph, node, operands, flags, size)
                       : emit_all(*node.op, node.attributes, operands, graph.regions(node));
    if (results.size() != node.result_count)
      throw InternalError(cat("the batching rule of ", node.op->name, " gives ", results.size(), " results"));
    for (uint32_t i = 0; i < node.result_count; ++i) {
      TensorType type = graph.type(node.first_result + i);
      if (any) type.shape.insert(0, size);
      if (results[i].type() != type) {
        throw InternalError(cat("the batching rule of ", node.op->name, " gives ", results[i].type(),
                                " for result ", i, ", not ", type));
      }
      values[node.first_result + i] = std::move(results[i]);
      has_axis[node.first_result + i] = any;
    }
  }
  Vectorized out;
  for (const GraphOutput& output : graph.outputs()) {
    out.outputs.push_back(values[output.value]);
    out.batched.push_back(has_axis[output.value]);
  }
  return out;
}

std::vector<Tensor> region_batch(const Graph& region, std::span<const Tensor> inputs,
                                 const std::vector<bool>& inputs_batched,
                                 const std::vector<bool>& outputs_batched, int64_t size) {
  Vectorized out = vectorize(region, inputs, inputs_batched, size);
  for (size_t i = 0; i < out.outputs.size(); ++i) {
    if (out.batched[i] && !outputs_batched[i])
      throw InternalError(cat("output ", i, " of ", region.name(), " is batched"));
    if (!out.batched[i] && outputs_batched[i]) out.outputs[i] = repeat_leading(out.outputs[i], size);
  }
  return std::move(out.outputs);
}

}  // namespace espalier
