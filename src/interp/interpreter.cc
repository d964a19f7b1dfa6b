#include "interp/interpreter.h"

#include "base/float_environment.h"
#include "ir/builder.h"
#include "ir/constant.h"

namespace espalier {
namespace {

std::vector<Literal> run_call(const OpDef& op, const AttributesPtr& attributes,
                              std::span<const Literal> inputs, std::span<const GraphPtr> regions,
                              std::span<const TensorType> result_types, const RunContext& context);

class InterpretRegions final : public RegionRunner {
 public:
  explicit InterpretRegions(const RunContext& context) : context_(context) {}
  void run(const Graph& region, std::span<const ArrayView> arguments,
           std::span<const MutableArrayView> results) override {
    std::vector<Literal> inputs;
    for (const ArrayView& argument : arguments) inputs.push_back(Literal::borrow(argument));
    const std::vector<Literal> outputs = interpret(region, inputs, context_);
    for (size_t i = 0; i < results.size(); ++i) {
      const Literal dense = outputs[i].expanded();
      if (dense.raw_bytes()) std::memcpy(results[i].data, dense.raw(), dense.raw_bytes());
    }
  }

 private:
  const RunContext& context_;
};

std::vector<Literal> run_call(const OpDef& op, const AttributesPtr& attributes,
                              std::span<const Literal> inputs, std::span<const GraphPtr> regions,
                              std::span<const TensorType> result_types, const RunContext& context) {
  if (&op == &op_constant) return {static_cast<const ConstantAttributes&>(*attributes).value};
  if (!op.eval) {
    std::vector<TensorType> types;
    for (const Literal& input : inputs) types.push_back(input.type());
    return interpret(*decomposition(op, attributes.get(), types, regions), inputs, context);
  }
  std::vector<Literal> dense;
  std::vector<ArrayView> views;
  dense.reserve(inputs.size());
  for (const Literal& input : inputs) {
    dense.push_back(input.expanded());
    views.push_back(dense.back().view());
  }
  std::vector<Literal> outputs;
  std::vector<MutableArrayView> targets;
  outputs.reserve(result_types.size());
  for (const TensorType& type : result_types) {
    Buffer buffer = allocate_buffer(type.bytes());
    outputs.emplace_back(type, buffer);
    targets.push_back({&outputs.back().type(), buffer.get()});
  }
  InterpretRegions runner(context);
  Failure failure;
  EvalContext body{attributes.get(), views, targets, regions, &runner, &context, &failure};
  op.eval(body);
  if (failure.failed()) throw failed_run(op, CallScope::current(), failure);
  return outputs;
}

}  // namespace

std::vector<Literal> interpret(const Graph& graph, std::span<const Literal> inputs,
                               const RunContext& context) {
  FloatEnvironment mode;
  if (inputs.size() != graph.inputs().size()) {
    throw ShapeError("run.inputs",
                     cat(graph.name(), " takes ", graph.inputs().size(), " inputs, got ", inputs.size()));
  }
  std::vector<uint32_t> uses(graph.value_count(), 0);
  for (const Node& node : graph.nodes()) {
    for (const ValueId input : graph.inputs(node)) ++uses[input];
  }
  for (const GraphOutput& output : graph.outputs()) ++uses[output.value];

  std::vector<Literal> values(graph.value_count());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const GraphInput& input = graph.inputs()[i];
    if (inputs[i].type() != graph.type(input.value)) {
      throw ShapeError("run.inputs", cat("input ", i, " \"", input.name, "\" of ", graph.name(), " is ",
                                         graph.type(input.value), ", got ", inputs[i].type()));
    }
    values[input.value] = inputs[i];
  }
  std::vector<Literal> operands;
  std::vector<TensorType> types;
  for (const Node& node : graph.nodes()) {
    CallScope at(graph.location(node));
    operands.clear();
    types.clear();
    for (const ValueId input : graph.inputs(node)) operands.push_back(values[input]);
    for (uint32_t i = 0; i < node.result_count; ++i) types.push_back(graph.type(node.first_result + i));
    auto results = run_call(*node.op, node.attributes, operands, graph.regions(node), types, context);
    for (uint32_t i = 0; i < node.result_count; ++i) {
      if (uses[node.first_result + i]) values[node.first_result + i] = std::move(results[i]);
    }
    for (const ValueId input : graph.inputs(node)) {
      if (--uses[input] == 0) values[input] = Literal();
    }
  }
  std::vector<Literal> out;
  for (const GraphOutput& output : graph.outputs()) out.push_back(values[output.value]);
  return out;
}

std::vector<Literal> evaluate(const Call& call, const RunContext& context) {
  FloatEnvironment mode;
  std::vector<Literal> inputs;
  std::vector<const TensorType*> types;
  for (const Tensor& input : call.inputs) {
    if (!input.concrete()) {
      throw StateError("trace.ended",
                       cat("a symbolic tensor of ", input.type(), " is used outside of its trace"),
                       "return it from the traced function and use the result");
    }
    inputs.push_back(input.node()->literal());
    types.push_back(&input.type());
  }
  const std::vector<TensorType> results = infer_types(call.op, call.attributes.get(), types, call.regions);
  return run_call(call.op, call.attributes, inputs, call.regions, results, context);
}

}  // namespace espalier
