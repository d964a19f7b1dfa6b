#include "passes/cut_graph.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/format.h"
#include "ir/builder.h"
#include "ops/registry.h"

namespace espalier {
namespace {

class Cutter {
 public:
  Cutter(const Graph& graph, const std::function<bool(const Node&)>& is_cut, const CutOptions& options)
      : graph_(graph),
        remakes_(options.remakes_shared),
        cuts_(graph.nodes().size()),
        of_parts_(graph.value_count()),
        stage_of_(graph.nodes().size(), kNone),
        made_in_(graph.value_count()) {
    for (size_t i = 0; i < options.of_parts.size(); ++i)
      of_parts_[graph.inputs()[i].value] = options.of_parts[i];
    for (NodeId id = 0; id < graph.nodes().size(); ++id) {
      const Node& node = graph.node(id);
      cuts_[id] = is_cut(node);
      const bool own = std::ranges::any_of(graph.inputs(node), [&](ValueId v) { return of_parts_[v]; });
      if (cuts_[id])
        out_.cuts.push_back({{id}, {}, {}, own});
      else
        std::fill_n(of_parts_.begin() + node.first_result, node.result_count, own);
    }
  }

  CutGraph run() {
    for (GraphPiece& cut : out_.cuts) {
      take(graph_.inputs(graph_.node(cut.nodes[0])), false);
      out_.behind.push_back(out_.stages.size());
    }
    std::vector<ValueId> outputs, own;
    for (const GraphOutput& output : graph_.outputs()) {
      outputs.push_back(output.value);
      if (of_parts_[output.value]) own.push_back(output.value);
    }
    take(own, false);
    take(outputs, true);
    for (GraphPiece& cut : out_.cuts) {
      const Node& node = graph_.node(cut.nodes[0]);
      for (const ValueId input : graph_.inputs(node)) need(input, cut);
      for (uint32_t i = 0; i < node.result_count; ++i) cut.outputs.push_back(node.first_result + i);
    }
    for (GraphPiece& stage : out_.stages)
      for (const NodeId id : stage.nodes)
        for (const ValueId input : graph_.inputs(graph_.node(id))) need_or_make(input, stage);
    for (const ValueId output : outputs) remakes_ ? need_or_make(output, out_.stages.back()) : give(output);
    return std::move(out_);
  }

 private:
  // Stages of what computes the values, and is in none yet: of nodes that parts share, and of those of parts.
  void take(std::span<const ValueId> values, bool last) {
    std::vector<NodeId> todo, shared, own;
    for (const ValueId value : values) todo.push_back(graph_.producer(value));
    while (!todo.empty()) {
      const NodeId id = todo.back();
      todo.pop_back();
      if (id == kNone || cuts_[id] || stage_of_[id] != kNone) continue;
      const Node& node = graph_.node(id);
      stage_of_[id] = 0;  // until it is known
      const bool of_part = node.result_count && of_parts_[node.first_result];
      (of_part || (remakes_ && !last) ? own : shared).push_back(id);
      for (const ValueId input : graph_.inputs(node)) todo.push_back(graph_.producer(input));
    }
    if (!shared.empty() || last) add({std::move(shared), {}, {}, false});
    if (!own.empty()) add({std::move(own), {}, {}, true});
  }
  void add(GraphPiece stage) {
    std::ranges::sort(stage.nodes);
    for (const NodeId id : stage.nodes) stage_of_[id] = static_cast<uint32_t>(out_.stages.size());
    out_.stages.push_back(std::move(stage));
  }
  bool is_own(ValueId value, const GraphPiece& piece) const {
    const NodeId producer = graph_.producer(value);
    return producer != kNone && !cuts_[producer] && &piece == &out_.stages[stage_of_[producer]];
  }
  // From less than would cross a cut.
  bool is_made_anywhere(ValueId value) const {
    const NodeId producer = graph_.producer(value);
    if (producer == kNone || cuts_[producer]) return false;
    const Node& node = graph_.node(producer);
    return node.input_count == 0 || node.op == &op_broadcast_in_dim || (remakes_ && !of_parts_[value]);
  }
  void need_or_make(ValueId value, GraphPiece& stage) {
    if (is_own(value, stage)) return;
    if (!is_made_anywhere(value)) return need(value, stage);
    if (std::exchange(made_in_[value], &stage) == &stage) return;
    for (const ValueId input : graph_.inputs(graph_.node(graph_.producer(value)))) need_or_make(input, stage);
  }
  void need(ValueId value, GraphPiece& piece) {
    if (is_own(value, piece) || std::ranges::count(piece.inputs, value)) return;
    piece.inputs.push_back(value);
    give(value);
  }
  // Its stage gives it to others.
  void give(ValueId value) {
    const NodeId producer = graph_.producer(value);
    if (producer == kNone || cuts_[producer]) return;
    std::vector<ValueId>& outputs = out_.stages[stage_of_[producer]].outputs;
    if (!std::ranges::count(outputs, value)) outputs.push_back(value);
  }

  const Graph& graph_;
  const bool remakes_;
  std::vector<bool> cuts_;      // by node
  std::vector<bool> of_parts_;  // by value
  std::vector<uint32_t> stage_of_;
  std::vector<const GraphPiece*> made_in_;  // by value: the last stage that makes it for itself
  CutGraph out_;
};

}  // namespace

CutGraph cut_graph(const Graph& graph, const std::function<bool(const Node&)>& is_cut,
                   const CutOptions& options) {
  return Cutter(graph, is_cut, options).run();
}

std::shared_ptr<Graph> graph_of(const Graph& graph, const std::string& name, std::span<const NodeId> nodes,
                                std::span<const GraphInput> inputs, std::span<const GraphOutput> outputs) {
  GraphBuilder builder(name);
  std::map<ValueId, ValueId> map;
  for (const GraphInput& input : inputs)
    map[input.value] = builder.value_of(builder.input(input.kind, input.name, graph.type(input.value)));
  std::vector<uint32_t> types;
  const std::function<void(const Node&)> copy = [&](const Node& node) {
    if (node.result_count && map.contains(node.first_result)) return;
    std::vector<ValueId> operands;
    for (const ValueId input : graph.inputs(node)) {
      if (!map.contains(input)) copy(graph.node(graph.producer(input)));
      operands.push_back(map.at(input));
    }
    const NodeId id = builder.append(graph, node, operands, graph.regions(node), types);
    for (uint32_t i = 0; i < node.result_count; ++i)
      map[node.first_result + i] = builder.graph().node(id).first_result + i;
  };
  for (const NodeId id : nodes) copy(graph.node(id));
  for (const GraphOutput& output : outputs) {
    if (!map.contains(output.value)) copy(graph.node(graph.producer(output.value)));
    builder.output(output.kind, output.name, builder.tensor_of(map.at(output.value)));
  }
  return builder.finish();
}

std::shared_ptr<Graph> graph_of(const Graph& graph, const GraphPiece& piece, const std::string& name) {
  std::vector<GraphInput> inputs;
  std::vector<GraphOutput> outputs;
  for (const ValueId input : piece.inputs) inputs.push_back({InputKind::kArgument, cat("v", input), input});
  for (const ValueId output : piece.outputs)
    outputs.push_back({OutputKind::kResult, cat("v", output), output});
  return graph_of(graph, name, piece.nodes, inputs, outputs);
}

}  // namespace espalier
