#include "espalier/ops.h"
#include "ops/registry.h"
#include "passes/pass.h"

namespace espalier {
namespace {

// Whether every element of `value` is the constant `wanted`, with its sign.
bool is_all(const Graph& graph, ValueId value, double wanted) {
  const Literal* literal = constant_of(graph, value);
  if (!literal || !(literal->is_splat() || literal->type().elements() == 1)) return false;
  const double element = load_scalar(literal->type().dtype, literal->raw());
  return element == wanted && std::signbit(element) == std::signbit(wanted);
}

// An older value that this node's only result equals bit for bit (NaN payloads aside); kNone when there is
// none. x + 0 is not x: -0 + 0 is +0. For integers any zero is neutral.
ValueId same_as(const Graph& graph, const Node& node) {
  const auto in = graph.inputs(node);
  const bool floating = is_float(graph.type(node.first_result).dtype);
  if (node.op == &op_add) {
    for (const int side : {0, 1}) {
      if (is_all(graph, in[side], floating ? -0.0 : 0.0)) return in[1 - side];
    }
  }
  if (node.op == &op_subtract && is_all(graph, in[1], 0.0)) return in[0];
  if (node.op == &op_multiply) {
    for (const int side : {0, 1}) {
      if (is_all(graph, in[side], 1.0)) return in[1 - side];
    }
  }
  if (node.op == &op_divide && is_all(graph, in[1], 1.0)) return in[0];
  if (node.op == &op_select) {
    if (in[1] == in[2]) return in[1];
    if (is_all(graph, in[0], 1.0)) return in[1];
    if (is_all(graph, in[0], 0.0)) return in[2];
  }
  if (node.op == &op_negate && graph.producer(in[0]) != kNone) {
    const Node& inner = graph.node(graph.producer(in[0]));
    if (inner.op == &op_negate) return graph.inputs(inner)[0];
  }
  const bool keeps_type = graph.type(node.first_result) == graph.type(in[0]);
  if (node.op == &op_reshape && keeps_type) return in[0];
  if (node.op == &op_convert && keeps_type) return in[0];
  if (node.op == &op_transpose && keeps_type && graph.type(in[0]).rank() < 2) return in[0];
  return kNone;
}

std::shared_ptr<Graph> run_simplify(const Graph& graph) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    if (node.result_count == 1 && node.input_count > 0 && node.region_count == 0) {
      if (const ValueId same = same_as(graph, node); same != kNone) {
        rewriter.replace(node.first_result, same);
        continue;
      }
      // A reshape of a reshape is one reshape.
      const ValueId first = graph.inputs(node)[0];
      if (node.op == &op_reshape && graph.producer(first) != kNone &&
          graph.node(graph.producer(first)).op == &op_reshape) {
        SinkScope sink(rewriter.builder());
        CallScope at(graph.location(node));
        NameScope scope(graph.scope(node));
        const Tensor source = rewriter.mapped(graph.inputs(graph.node(graph.producer(first)))[0]);
        rewriter.replace(node.first_result, reshape(source, graph.type(node.first_result).shape));
        continue;
      }
    }
    rewriter.copy(node, rewrite_regions(graph, node, run_simplify));
  }
  return rewriter.finish();
}

}  // namespace

const Pass pass_simplify = {"simplify", "algebraic identities that hold bit for bit", run_simplify};

}  // namespace espalier
