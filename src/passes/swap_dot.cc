// transpose(dot(a, b)) as dot(b, a): the gradient of a weight comes out in the weight's own layout. Products
// and the order of their sum stay, so bits do.
#include "ops/dot_general.h"
#include "ops/registry.h"
#include "passes/pass.h"

namespace espalier {
namespace {

// The permutation that swaps the free axes of lhs and rhs behind `batch` axes.
bool swaps_sides(const Dims& permutation, size_t batch, size_t lhs, size_t rhs) {
  for (size_t i = 0; i < permutation.size(); ++i) {
    size_t wanted = i;
    if (i >= batch) wanted = i < batch + rhs ? i + lhs : i - rhs;
    if (permutation[i] != static_cast<int64_t>(wanted)) return false;
  }
  return true;
}

// An attribute struct of another file, read by its field list.
struct PermutationReader final : FieldVisitor {
  Dims permutation;
  void field(const char*, bool&) override {}
  void field(const char*, int64_t&) override {}
  void field(const char*, double&) override {}
  void field(const char*, std::string&) override {}
  void field(const char*, Dims& value) override { permutation = value; }
  void field(const char*, DType&) override {}
  void field(const char*, TensorType&) override {}
  void field(const char*, Literal&) override {}
  void word(const char*, int&, std::span<const char* const>) override {}
};

std::shared_ptr<Graph> run_swap_dot(const Graph& graph) {
  std::vector<uint32_t> uses(graph.value_count());
  for (const Node& node : graph.nodes()) {
    for (const ValueId input : graph.inputs(node)) ++uses[input];
  }
  for (const GraphOutput& output : graph.outputs()) ++uses[output.value];

  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    const ValueId input = node.input_count == 1 ? graph.inputs(node)[0] : kNone;
    const NodeId producer = node.op == &op_transpose ? graph.producer(input) : kNone;
    if (producer == kNone || graph.node(producer).op != &op_dot_general || uses[input] != 1) {
      rewriter.copy(node, rewrite_regions(graph, node, run_swap_dot));
      continue;
    }
    const Node& dot = graph.node(producer);
    const auto& old = static_cast<const DotAttributes&>(*dot.attributes);
    const ValueId lhs = graph.inputs(dot)[0], rhs = graph.inputs(dot)[1];
    const size_t batch = old.axes.lhs_batching.size(), contracted = old.axes.lhs_contracting.size();
    PermutationReader reader;
    const_cast<Attributes&>(*node.attributes).fields(reader);
    if (!swaps_sides(reader.permutation, batch, graph.type(lhs).rank() - batch - contracted,
                     graph.type(rhs).rank() - batch - contracted)) {
      rewriter.copy(node);
      continue;
    }
    CallScope at(graph.location(dot));
    NameScope name(graph.scope(dot));
    SinkScope scope(rewriter.builder());
    rewriter.replace(node.first_result, dot_general(rewriter.mapped(rhs), rewriter.mapped(lhs),
                                                    {.lhs_batching = old.axes.rhs_batching,
                                                     .rhs_batching = old.axes.lhs_batching,
                                                     .lhs_contracting = old.axes.rhs_contracting,
                                                     .rhs_contracting = old.axes.lhs_contracting},
                                                    old.dtype));
  }
  return rewriter.finish();
}

}  // namespace

const Pass pass_swap_dot = {
    .name = "swap_dot",
    .doc = "transpose(dot(a, b)) becomes dot(b, a); dce drops the old product.",
    .run = run_swap_dot,
};

}  // namespace espalier
