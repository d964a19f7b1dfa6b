#include "espalier/error.h"
#include "format/onnx/exporter.h"
#include "passes/inline_composites.h"
#include "passes/pass.h"

namespace espalier {
namespace {

using onnx::Exporter;
using onnx::Model;

// Composites that are an operator of ONNX as well.
bool is_operator(const Graph& graph, const Node& node) {
  const OpDef* const composites[] = {
      &op_acos,        &op_acosh,     &op_argmax, &op_argmin, &op_asin,    &op_asinh,    &op_atan,
      &op_atanh,       &op_cosh,      &op_cumsum, &op_elu,    &op_erf,     &op_erfc,     &op_leaky_relu,
      &op_log_softmax, &op_logsumexp, &op_relu,   &op_sinh,   &op_softmax, &op_softplus, &op_take};
  for (const OpDef* op : composites) {
    if (node.op == op) return true;
  }
  const auto in = graph.inputs(node);
  return node.op == &op_layer_normalization && graph.type(in[0]).dtype == graph.type(in[1]).dtype &&
         graph.type(in[1]).rank() > 0;
}

std::shared_ptr<Graph> prepared(const Graph& graph) {
  for (const GraphOutput& output : graph.outputs()) {
    if (output.kind == OutputKind::kUpdate)
      throw UnsupportedError("onnx.update", cat("the graph updates the variable \"", output.name,
                                                "\"; an ONNX model keeps no state"));
  }
  return pass_dce.run(*inline_composites(graph, is_operator));
}

// Raises UnsupportedError[onnx.batch] unless both graphs are one program.
void require_same_program(const Graph& a, const Graph& b) {
  const auto same = [](const Graph& x, const Graph& y) {
    if (x.nodes().size() != y.nodes().size() || x.inputs().size() != y.inputs().size() ||
        x.value_count() != y.value_count())
      return false;
    for (size_t i = 0; i < x.nodes().size(); ++i) {
      if (x.nodes()[i].op != y.nodes()[i].op) return false;
    }
    for (ValueId v = 0; v < x.value_count(); ++v) {
      if (x.type(v).rank() != y.type(v).rank()) return false;
    }
    return true;
  };
  if (!same(a, b))
    throw UnsupportedError("onnx.batch", "the program is another one for the other batch size");
}

// Whatever is not the same in both models depends on the batch size in a way that sizes do not show.
void require_same_model(const Model& a, const Model& b) {
  for (size_t i = 0; i < std::max(a.nodes.size(), b.nodes.size()); ++i) {
    if (i < a.nodes.size() && i < b.nodes.size() && node_bytes(a.nodes[i]) == node_bytes(b.nodes[i]))
      continue;
    const onnx::Node& node = i < a.nodes.size() ? a.nodes[i] : b.nodes[i];
    throw UnsupportedError(
        "onnx.batch",
        cat("\"", node.name, "\" (", node.op, ") depends on the batch size by more than its shape"),
        "export for one batch size");
  }
}

}  // namespace

std::string onnx_bytes(const Graph& graph, const std::map<std::string, Literal>& variables,
                       const OnnxWriteOptions& options) {
  const auto program = prepared(graph);
  if (!options.other_batch) return model_bytes(Exporter(*program, *program, options).run(variables));
  const auto other = prepared(*options.other_batch);
  require_same_program(*program, *other);
  const Model model = Exporter(*program, *other, options).run(variables);
  require_same_model(model, Exporter(*other, *program, options).run(variables));
  return model_bytes(model);
}

}  // namespace espalier
