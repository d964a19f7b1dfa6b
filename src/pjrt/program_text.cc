#include "pjrt/program_text.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/format.h"
#include "espalier/ops.h"
#include "ir/attribute_reader.h"
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

// Where the root of a broadcast stands among all replicas; nothing where others have no part in it.
std::optional<size_t> root_of_all(const Node& node, size_t replicas) {
  if (!replicas || node.op != &op_collective_broadcast ||
      read_integer(node.attributes.get(), "has_dynamic_root"))
    return {};
  const auto& groups = static_cast<const CollectiveAttributes&>(*node.attributes).groups;
  const auto all = split_groups(groups.replica_groups);
  // None stands twice.
  if (groups.channel > 0 || all.size() != 1 || all[0].size() != replicas) return {};
  return static_cast<size_t>(all[0][0]);
}

// XLA's CPUs and TPUs have no broadcast: the root's of what all gather.
Tensor broadcast_by_gather(const Tensor& x, size_t root, size_t replicas) {
  const auto count = static_cast<int64_t>(replicas), at = static_cast<int64_t>(root);
  std::vector<int64_t> group(replicas);
  std::iota(group.begin(), group.end(), 0);
  Shape row = x.shape();
  row.insert(0, 1);
  const Tensor all = all_gather({reshape(x, row)}, 0, count, {flat_groups({group})})[0];
  Dims start(std::vector<int64_t>(row.size())), limit = row;
  start[0] = at;
  limit[0] = at + 1;
  return reshape(slice(all, start, limit), x.shape());
}

std::shared_ptr<Graph> for_xla(const Graph& graph, size_t replicas) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    if (node.op == &op_scatter) check_scatter(graph, node);
    if (node.op == &op_reduce_window) check_reduce_window(graph, node);
    if (node.op == &op_all_to_all) check_all_to_all(graph, node);
    const std::optional<size_t> root = root_of_all(node, replicas);
    const bool apart = root || (node.input_count > 1 && takes_one_operand(*node.op));
    const std::span<const ValueId> inputs = graph.inputs(node);
    const bool hidden =
        node.op == &op_atan2 && (is_constant(graph, inputs[0]) || is_constant(graph, inputs[1]));
    if (node.op != &op_slice && !apart && !hidden) {
      std::vector<GraphPtr> regions;
      for (const GraphPtr& region : graph.regions(node)) regions.push_back(for_xla(*region, replicas));
      rewriter.copy(node, std::move(regions));
      continue;
    }
    CallScope call(graph.location(node));
    NameScope name(graph.scope(node));
    SinkScope sink(rewriter.builder());
    if (apart) {
      const std::vector<Tensor> operands = rewriter.mapped_inputs(node);
      for (uint32_t i = 0; i < node.input_count; ++i)
        rewriter.replace(node.first_result + i, root ? broadcast_by_gather(operands[i], *root, replicas)
                                                     : emit(*node.op, node.attributes, {operands[i]}));
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
      *for_xla(*inline_composites(graph), replicas),
      {.aliases = options.aliases, .precision = kPrecisions[static_cast<size_t>(options.precision)]});
}

}  // namespace espalier::pjrt
