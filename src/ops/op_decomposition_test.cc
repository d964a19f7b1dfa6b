#include <algorithm>

#include "interp/interpreter.h"
#include "ops/op_checks_test.h"

namespace espalier {
namespace {

// Every composite in the graph is decomposed in turn; raises when one has no decomposition or calls itself.
void expect_ends_in_primitives(const Graph& graph, std::vector<const OpDef*>& open) {
  for (const Node& node : graph.nodes()) {
    for (const GraphPtr& region : graph.regions(node)) expect_ends_in_primitives(*region, open);
    if (!node.op->composite) continue;
    ASSERT_TRUE(node.op->decompose) << node.op->name;
    ASSERT_EQ(std::count(open.begin(), open.end(), node.op), 0) << node.op->name << " decomposes into itself";
    GraphBuilder builder;
    SinkScope scope(builder);
    std::vector<Tensor> arguments;
    for (const ValueId input : graph.inputs(node))
      arguments.push_back(builder.argument("x", graph.type(input)));
    for (const Tensor& result : node.op->decompose({node.attributes.get(), arguments, graph.regions(node)}))
      builder.result("y", result);
    open.push_back(node.op);
    expect_ends_in_primitives(*builder.finish(), open);
    open.pop_back();
  }
}

std::shared_ptr<Graph> traced_decomposition(const TapeEntry& call) {
  GraphBuilder builder;
  SinkScope scope(builder);
  std::vector<Tensor> arguments;
  for (const Tensor& input : call.inputs) arguments.push_back(builder.argument("x", input.type()));
  for (const Tensor& result : call.op->decompose({call.attributes.get(), arguments, call.regions}))
    builder.result("y", result);
  return builder.finish();
}

void check_gradient_agrees(const TapeEntry& call) {
  std::vector<Tensor> sources, weights;
  for (const Tensor& input : call.inputs) {
    if (is_float(input.dtype())) sources.push_back(input);
  }
  for (const Tensor& output : call.outputs) {
    std::vector<double> values;
    for (int64_t i = 0; i < output.type().elements(); ++i)
      values.push_back(0.5 + 0.25 * static_cast<double>(i % 7));
    weights.push_back(is_float(output.dtype()) ? to_tensor(output.type(), values) : Tensor());
  }
  const auto float_targets = [&](std::span<const Tensor> outputs) {
    std::pair<std::vector<Tensor>, std::vector<Tensor>> out;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!weights[i].defined()) continue;
      out.first.push_back(outputs[i]);
      out.second.push_back(weights[i]);
    }
    return out;
  };
  CallLog log;
  const std::vector<Tensor> results = call.op->decompose({call.attributes.get(), call.inputs, call.regions});
  const std::vector<TapeEntry> parts = log.calls;
  const auto [targets, cotangents] = float_targets(call.outputs);
  const auto [part_targets, part_cotangents] = float_targets(results);
  const std::vector<Tensor> own = reverse({&call, 1}, targets, cotangents, sources);
  const std::vector<Tensor> other = reverse(parts, part_targets, part_cotangents, sources);
  for (size_t i = 0; i < sources.size(); ++i) {
    const Tensor zero = make_concrete(Literal::splat(sources[i].type(), 0.0));
    expect_close(own[i].defined() ? own[i] : zero, to_array(other[i].defined() ? other[i] : zero),
                 {.ulp = 1e5, .absolute = 1e5}, cat("own gradient and the decomposition's, input ", i));
  }
}

}  // namespace

void check_decomposition(const OpDef& op, const OpCase& c, DType dtype) {
  CallLog log(&op);
  c.call(draw_inputs(c, dtype, 2), dtype);
  const TapeEntry call = log.calls.at(0);
  const auto graph = traced_decomposition(call);
  graph->verify();
  std::vector<const OpDef*> open{&op};
  expect_ends_in_primitives(*graph, open);
  std::vector<Literal> inputs;
  for (const Tensor& input : call.inputs) inputs.push_back(input.node()->literal());
  const std::vector<Literal> results = interpret(*graph, inputs, RunContext::current());
  ASSERT_EQ(results.size(), call.outputs.size());
  for (size_t i = 0; i < results.size(); ++i)
    expect_close(make_concrete(results[i]), to_array(call.outputs[i]), c.decomposition,
                 cat("decomposition, result ", i));
  // A loop has no gradient to agree with.
  const bool loops = std::any_of(graph->nodes().begin(), graph->nodes().end(),
                                 [](const Node& node) { return node.op == &op_while; });
  if (dtype == DType::kF64 && op.gradient && !c.no_gradient && !loops) check_gradient_agrees(call);
}

}  // namespace espalier
