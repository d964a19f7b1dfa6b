#include "pjrt/program_text.h"

#include <algorithm>

#include "base/format.h"
#include "espalier/ops.h"
#include "ops/collective.h"
#include "ops/indexed.h"
#include "ops/reduce_window.h"
#include "ops/registry.h"
#include "ops/scatter.h"
#include "ops/slice.h"
#include "passes/inline_composites.h"
#include "passes/pass.h"
#include "text/text.h"

namespace espalier::pjrt {
namespace {

[[noreturn]] void refuse(const Graph& graph, const Node& node, const std::string& why) {
  CallScope call(graph.location(node));
  NameScope name(graph.scope(node));
  throw UnsupportedError("device.program", cat(node.op->name, ": ", why));
}

void check_scatter(const Graph& graph, const Node& node) {
  const auto& a = static_cast<const ScatterAttributes&>(*node.attributes);
  const std::span<const ValueId> inputs = graph.inputs(node);
  const size_t operands = (inputs.size() - 1) / 2;
  const Shape& operand = graph.type(inputs[0]).shape;
  const Shape sizes = window_sizes(a.axes, operand.size(), graph.type(inputs[operands + 1]).shape);
  for (const int64_t axis : a.axes.index_map) {
    if (sizes[static_cast<size_t>(axis)] > 1)
      refuse(graph, node,
             cat("a window of ", sizes[static_cast<size_t>(axis)], " elements on axis ", axis, " of ",
                 graph.type(inputs[0]),
                 " may hang over its edge, where XLA drops all of it and StableHLO what is outside"));
  }
}

void check_reduce_window(const Graph& graph, const Node& node) {
  const auto& a = static_cast<const ReduceWindowAttributes&>(*node.attributes);
  const auto positive = [](int64_t pad) { return pad > 0; };
  if (std::ranges::none_of(a.window.low.span(), positive) &&
      std::ranges::none_of(a.window.high.span(), positive))
    return;
  const std::span<const ValueId> inputs = graph.inputs(node);
  for (size_t i = inputs.size() / 2; i < inputs.size(); ++i) {
    const Literal* initial = constant_of(graph, inputs[i]);
    const bool known = initial && a.reducer != Reducer::kRegion;
    if (!known || !(*initial == reducer_identity(a.reducer, initial->type().dtype)))
      refuse(graph, node,
             "the operand is padded, and what windows begin with is not known to be the reducer's identity: "
             "XLA counts it once a window, StableHLO once a padded element, too");
  }
}

// The same elements with a stride of 1 where there is but one.
Tensor plain_slice(const Tensor& x, const SliceAttributes& a, const Shape& out) {
  Dims limit = a.limit, strides = a.strides;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (out[i] > 1) continue;
    strides[i] = 1;
    limit[i] = a.start[i] + out[i];
  }
  return slice(x, a.start, limit, strides);
}

// XLA's exchange needs its groups, and of several operands only a sum and a gather are one op there.
void check_all_to_all(const Graph& graph, const Node& node) {
  if (static_cast<const CollectiveAttributes&>(*node.attributes).groups.replica_groups.empty())
    refuse(graph, node, "without replica groups XLA does not know how many exchange");
}
bool has_replica_groups(const OpDef& op) {
  return &op == &op_all_reduce || &op == &op_all_gather || &op == &op_reduce_scatter ||
         &op == &op_all_to_all || &op == &op_collective_broadcast;
}
void check_replicas(const Graph& graph, size_t replicas) {
  for (const Node& node : graph.nodes()) {
    for (const GraphPtr& region : graph.regions(node)) check_replicas(*region, replicas);
    if (!has_replica_groups(*node.op)) continue;
    const auto& a = static_cast<const CollectiveAttributes&>(*node.attributes);
    for (const int64_t id : a.groups.replica_groups.span())
      if (id >= static_cast<int64_t>(replicas))
        refuse(graph, node,
               cat("its groups have replica ", id, ", and ", replicas, replicas == 1 ? " runs" : " run"));
  }
}
bool takes_one_operand(const OpDef& op) {
  return &op == &op_collective_permute || &op == &op_collective_broadcast || &op == &op_all_to_all;
}

bool is_constant(const Graph& graph, ValueId value) {
  if (constant_of(graph, value)) return true;
  if (graph.producer(value) == kNone) return false;
  const Node& node = graph.node(graph.producer(value));
  return node.op == &op_broadcast_in_dim && constant_of(graph, graph.inputs(node)[0]);
}

std::shared_ptr<Graph> for_xla(const Graph& graph) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    if (node.op == &op_scatter) check_scatter(graph, node);
    if (node.op == &op_reduce_window) check_reduce_window(graph, node);
    if (node.op == &op_all_to_all) check_all_to_all(graph, node);
    const bool apart = node.input_count > 1 && takes_one_operand(*node.op);
    const std::span<const ValueId> inputs = graph.inputs(node);
    const bool hidden =
        node.op == &op_atan2 && (is_constant(graph, inputs[0]) || is_constant(graph, inputs[1]));
    if (node.op != &op_slice && !apart && !hidden) {
      rewriter.copy(node, rewrite_regions(graph, node, for_xla));
      continue;
    }
    CallScope call(graph.location(node));
    NameScope name(graph.scope(node));
    SinkScope sink(rewriter.builder());
    if (apart) {
      const std::vector<Tensor> operands = rewriter.mapped_inputs(node);
      for (uint32_t i = 0; i < node.input_count; ++i)
        rewriter.replace(node.first_result + i, emit(*node.op, node.attributes, {operands[i]}));
      continue;
    }
    if (hidden) {
      const std::vector<Tensor> operands = optimization_barrier(rewriter.mapped_inputs(node));
      rewriter.replace(node.first_result, atan2(operands[0], operands[1]));
      continue;
    }
    rewriter.replace(node.first_result, plain_slice(rewriter.mapped(graph.inputs(node)[0]),
                                                    static_cast<const SliceAttributes&>(*node.attributes),
                                                    graph.type(node.first_result).shape));
  }
  return rewriter.finish();
}

}  // namespace

std::string program_text(const Graph& graph, const ProgramOptions& options, size_t replicas) {
  if (replicas) check_replicas(graph, replicas);
  static constexpr std::string_view kPrecisions[] = {"HIGHEST", "HIGH", "DEFAULT"};
  return print_program(
      *for_xla(*inline_composites(graph)),
      {.aliases = options.aliases, .precision = kPrecisions[static_cast<size_t>(options.precision)]});
}

}  // namespace espalier::pjrt
