#include "text/text.h"

namespace espalier {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// One graph as boxes whose names begin with `prefix`; regions are clusters beside their node.
std::string draw(const Graph& graph, const std::string& prefix, const std::string& indent) {
  std::string out;
  for (const GraphInput& input : graph.inputs()) {
    const char* shape = input.kind == InputKind::kVariable ? "cylinder" : "ellipse";
    out += cat(indent, prefix, "v", input.value, " [shape=", shape, ", label=\"", escaped(input.name), "\\n",
               graph.type(input.value), "\"];\n");
  }
  const auto source = [&](ValueId value) {
    const NodeId producer = graph.producer(value);
    return producer == kNone ? cat(prefix, "v", value) : cat(prefix, "n", producer);
  };
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.nodes()[id];
    const std::string name = cat(prefix, "n", id);
    std::string label = node.op->name;
    if (node.attributes) label += cat("\\n", escaped(to_string(node.attributes)));
    for (uint32_t i = 0; i < node.result_count; ++i) label += cat("\\n", graph.type(node.first_result + i));
    out += cat(indent, name, " [label=\"", label, "\"", node.op->composite ? ", style=rounded" : "", "];\n");
    for (const ValueId input : graph.inputs(node)) out += cat(indent, source(input), " -> ", name, ";\n");
    const auto regions = graph.regions(node);
    for (size_t r = 0; r < regions.size(); ++r) {
      const std::string inner = cat(name, "_", r, "_");
      out += cat(indent, "subgraph cluster_", name, "_", r, " {\n", indent, "  label=\"", node.op->name,
                 " region ", r, "\";\n", draw(*regions[r], inner, indent + "  "), indent, "}\n");
      for (size_t i = 0; i < regions[r]->outputs().size(); ++i)
        out += cat(indent, inner, "o", i, " -> ", name, " [style=dashed];\n");
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const GraphOutput& output = graph.outputs()[i];
    const char* shape = output.kind == OutputKind::kUpdate ? "cylinder" : "ellipse";
    out += cat(indent, prefix, "o", i, " [shape=", shape, ", label=\"", escaped(output.name), "\"];\n",
               indent, source(output.value), " -> ", prefix, "o", i, ";\n");
  }
  return out;
}

}  // namespace

std::string to_dot(const Graph& graph) {
  return cat("digraph \"", escaped(graph.name()), "\" {\n  node [shape=box, fontname=\"monospace\"];\n",
             draw(graph, "", "  "), "}\n");
}

}  // namespace espalier
