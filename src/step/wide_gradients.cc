#include "step/wide_gradients.h"

#include "ir/attribute_reader.h"
#include "ir/builder.h"
#include "ops/dot_general.h"
#include "ops/reducer.h"
#include "ops/registry.h"

namespace espalier {
namespace {

bool is_sum(const Node& node) {
  return node.op == &op_reduce &&
         read_integer(node.attributes.get(), "reducer") == static_cast<int64_t>(Reducer::kSum);
}
bool moves_elements(const Node& node) { return node.op == &op_transpose || node.op == &op_reshape; }

// Conversions of gradients whose narrow value can be had wide.
class Widening {
 public:
  explicit Widening(const TracedGraph& program) : graph_(*program.graph), widens_(graph_.value_count()) {
    for (size_t i = 0; i < program.results; ++i)
      if (is_gradient(graph_.outputs()[i].name)) find(graph_.outputs()[i].value);
  }
  bool any() const { return any_; }
  std::shared_ptr<Graph> run() {
    Rewriter rewriter(graph_);
    for (const Node& node : graph_.nodes()) {
      if (!widens_[node.first_result]) {
        rewriter.copy(node);
        continue;
      }
      CallScope at(graph_.location(node));
      NameScope name(graph_.scope(node));
      SinkScope scope(rewriter.builder());
      rewriter.replace(node.first_result,
                       wide(rewriter, graph_.inputs(node)[0], graph_.type(node.first_result).dtype));
    }
    return rewriter.finish();
  }

 private:
  // A gradient that several uses of a variable have is a sum of theirs.
  void find(ValueId value) {
    const NodeId producer = graph_.producer(value);
    if (producer == kNone) return;
    const Node& node = graph_.node(producer);
    if (node.op == &op_add) {
      for (const ValueId input : graph_.inputs(node)) find(input);
    } else if (node.op == &op_convert && can(graph_.inputs(node)[0], graph_.type(value).dtype)) {
      widens_[value] = any_ = true;
    }
  }
  bool can(ValueId value, DType wanted) const {
    const DType dtype = graph_.type(value).dtype;
    const NodeId producer = graph_.producer(value);
    if (wanted != DType::kF32 || (dtype != DType::kBF16 && dtype != DType::kF16) || producer == kNone)
      return false;
    const Node& node = graph_.node(producer);
    return node.op == &op_dot_general || is_sum(node) ||
           (moves_elements(node) && can(graph_.inputs(node)[0], wanted));
  }
  // REQUIRES: can(value, dtype).
  Tensor wide(Rewriter& rewriter, ValueId value, DType dtype) {
    const Node& node = graph_.node(graph_.producer(value));
    std::vector<Tensor> inputs = rewriter.mapped_inputs(node);
    if (node.op == &op_dot_general)
      return dot_general(inputs[0], inputs[1], static_cast<const DotAttributes&>(*node.attributes).axes,
                         dtype);
    if (moves_elements(node))
      inputs = {wide(rewriter, graph_.inputs(node)[0], dtype)};
    else
      for (Tensor& input : inputs) input = convert(input, dtype);
    return emit(*node.op, node.attributes, inputs);
  }

  const Graph& graph_;
  std::vector<bool> widens_;  // by value
  bool any_ = false;
};

}  // namespace

Rewrite widen_gradients() {
  const auto run = [](const TracedGraph& program, bool) {
    TracedGraph out = program;
    if (Widening widening(program); widening.any()) out.graph = widening.run();
    // rewrite() adds what `program` has of both.
    out.observations.clear();
    out.gradients.clear();
    return Rewritten{std::move(out), {}};
  };
  return {"widen_gradients", run};
}

}  // namespace espalier
