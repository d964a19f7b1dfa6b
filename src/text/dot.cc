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

}  // namespace

std::string to_dot(const Graph& graph) {
  std::string out =
      cat("digraph \"", escaped(graph.name()), "\" {\n  node [shape=box, fontname=\"monospace\"];\n");
  for (const GraphInput& input : graph.inputs()) {
    const char* shape = input.kind == InputKind::kVariable ? "cylinder" : "ellipse";
    out += cat("  v", input.value, " [shape=", shape, ", label=\"", escaped(input.name), "\\n",
               graph.type(input.value), "\"];\n");
  }
  const auto source = [&](ValueId value) {
    const NodeId producer = graph.producer(value);
    return producer == kNone ? cat("v", value) : cat("n", producer);
  };
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.nodes()[id];
    std::string label = node.op->name;
    if (node.attributes) label += cat("\\n", escaped(to_string(node.attributes)));
    for (uint32_t i = 0; i < node.result_count; ++i) label += cat("\\n", graph.type(node.first_result + i));
    out += cat("  n", id, " [label=\"", label, "\"", node.op->composite ? ", style=rounded" : "", "];\n");
    for (const ValueId input : graph.inputs(node)) out += cat("  ", source(input), " -> n", id, ";\n");
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const GraphOutput& output = graph.outputs()[i];
    const char* shape = output.kind == OutputKind::kUpdate ? "cylinder" : "ellipse";
    out += cat("  o", i, " [shape=", shape, ", label=\"", escaped(output.name), "\"];\n  ",
               source(output.value), " -> o", i, ";\n");
  }
  return out + "}\n";
}

}  // namespace espalier
