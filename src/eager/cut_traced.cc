#include "eager/cut_traced.h"

#include <algorithm>

#include "base/format.h"
#include "espalier/error.h"
#include "espalier/ops.h"
#include "ops/registry.h"
#include "passes/cut_graph.h"

namespace espalier {
namespace {

constexpr const char* kScope = "parts of a batch";

bool is_meeting(const Graph& graph, const Node& node) {
  return node.op == &op_optimization_barrier && graph.scope(node).ends_with(kScope);
}

// Those of a piece and, as in each trace, those that it updates.
void add_variables(const TracedGraph& program, const GraphPiece& piece, std::vector<GraphInput>& inputs,
                   TracedGraph& out) {
  size_t variable = 0;
  for (const GraphInput& input : program.graph->inputs()) {
    if (input.kind != InputKind::kVariable) continue;
    const VariablePtr& state = program.variables[variable++];
    if (!std::ranges::count(piece.inputs, input.value) && !std::ranges::count(out.updated, state)) continue;
    inputs.push_back(input);
    out.variables.push_back(state);
  }
}

}  // namespace

std::vector<Tensor> meet_parts(const std::vector<Tensor>& values) {
  const NameScope scope(kScope);
  return optimization_barrier(values);
}

CutTraced cut_traced(const TracedGraph& program, std::span<const std::string> names,
                     const std::string& rest_name) {
  const Graph& graph = *program.graph;
  CutOptions options{.remakes_shared = true};
  for (const GraphInput& input : graph.inputs())
    options.of_parts.push_back(input.kind == InputKind::kArgument);
  const CutGraph cut = cut_graph(
      graph, [&](const Node& node) { return is_meeting(graph, node); }, options);
  if (cut.cuts.size() != 1 || cut.cuts[0].outputs.size() != names.size())
    throw InternalError(cat("graph ", graph.name(), " does not meet the parts of its batch once"));
  const GraphPiece &meeting = cut.cuts[0], &rest = cut.stages.back();
  const GraphPiece none, &part = cut.behind[0] ? cut.stages[0] : none;
  const auto is_of_part = [&](ValueId value) {
    const auto input = std::ranges::find(graph.inputs(), value, &GraphInput::value);
    if (input != graph.inputs().end()) return input->kind == InputKind::kArgument;
    return !std::ranges::count(meeting.outputs, value);
  };
  if (cut.stages.size() != cut.behind[0] + 1 || std::ranges::any_of(rest.inputs, is_of_part))
    throw InternalError(cat("graph ", graph.name(), " depends on rows behind the meeting of its parts"));

  CutTraced out;
  std::vector<GraphInput> inputs;
  std::vector<GraphOutput> outputs;
  for (const GraphInput& input : graph.inputs())
    if (input.kind == InputKind::kArgument) inputs.push_back(input);
  add_variables(program, part, inputs, out.part);
  const auto operands = graph.inputs(graph.node(meeting.nodes[0]));
  for (size_t i = 0; i < names.size(); ++i) outputs.push_back({OutputKind::kResult, names[i], operands[i]});
  out.part.graph = graph_of(graph, graph.name(), part.nodes, inputs, outputs);
  out.part.results = names.size();
  out.part.structures = program.structures;

  inputs.clear();
  for (size_t i = 0; i < names.size(); ++i)
    inputs.push_back({InputKind::kArgument, names[i], meeting.outputs[i]});
  out.rest.updated = program.updated;
  add_variables(program, rest, inputs, out.rest);
  out.rest.graph = graph_of(graph, rest_name, rest.nodes, inputs, graph.outputs());
  out.rest.results = program.results;
  out.rest.structures = program.structures;
  return out;
}

}  // namespace espalier
