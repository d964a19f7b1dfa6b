#include "interp/interpreter.h"
#include "ir/constant.h"
#include "ops/registry.h"
#include "passes/pass.h"

namespace espalier {
namespace {

constexpr int64_t kMaxElements = 4096;

// What is folded is small, and the same wherever it is compiled.
const RunContext& alone() {
  static const RunContext one({.threads = 1});
  return one;
}

// Elementwise ops and views on constants: their reference bodies give the bits that any executor gives.
// Splats stay splats, computed on one element.
std::optional<Literal> evaluate_node(const Graph& graph, const Node& node,
                                     std::span<const Literal* const> inputs) {
  const TensorType& type = graph.type(node.first_result);
  bool splat = true;
  for (const Literal* input : inputs) splat = splat && input->is_splat();
  if (!splat && type.elements() > kMaxElements) return std::nullopt;
  if (splat && node.op->fusion == Fusion::kView) return Literal::splat(type, inputs[0]->raw());
  std::vector<Tensor> operands;
  for (const Literal* input : inputs) {
    const Shape shape = splat ? Shape{} : input->type().shape;
    operands.push_back(
        make_concrete(splat ? Literal::splat({input->type().dtype, {}}, input->raw()) : *input));
  }
  Literal result = evaluate({*node.op, node.attributes, operands, {}}, alone())[0];
  if (!splat) return result;
  if (result.type() != TensorType{type.dtype, {}}) return std::nullopt;
  return Literal::splat(type, result.raw());
}

std::shared_ptr<Graph> run_fold(const Graph& graph) {
  Rewriter rewriter(graph);
  std::unordered_map<ValueId, Literal> known;
  std::vector<const Literal*> inputs;
  for (const Node& node : graph.nodes()) {
    const bool candidate = node.result_count == 1 && node.input_count > 0 && !node.op->pinned &&
                           !node.op->fallible && node.op->eval &&
                           (node.op->fusion == Fusion::kElementwise || node.op->fusion == Fusion::kView);
    std::optional<Literal> value;
    if (node.op == &op_iota && graph.type(node.first_result).elements() <= kMaxElements) {
      value = evaluate({*node.op, node.attributes, {}, {}}, alone())[0];
    } else if (candidate) {
      inputs.clear();
      for (const ValueId input : graph.inputs(node)) {
        const auto it = known.find(input);
        if (it == known.end()) break;
        inputs.push_back(&it->second);
      }
      if (inputs.size() == node.input_count) value = evaluate_node(graph, node, inputs);
    } else if (node.op == &op_constant) {
      known.emplace(node.first_result, static_cast<const ConstantAttributes&>(*node.attributes).value);
    }
    if (!value) {
      rewriter.copy(node, rewrite_regions(graph, node, run_fold));
      continue;
    }
    CallScope at(graph.location(node));
    NameScope scope(graph.scope(node));
    rewriter.replace(node.first_result,
                     rewriter.builder().emit({op_constant, constant_attributes(*value), {}, {}})[0]);
    known.emplace(node.first_result, std::move(*value));
  }
  return rewriter.finish();
}

}  // namespace

const Pass pass_fold = {"fold", "evaluates small elementwise calls and views of constants, and small iotas",
                        run_fold};

}  // namespace espalier
