#include "grad/grad.h"

#include <unordered_set>

#include "grad/node_map.h"
#include "ops/call.h"

namespace espalier {
namespace {

using Key = const TensorNode*;

// Reverse mode of `results`, computed from `inputs` by `calls`. An input that stands twice is one source: its
// gradient is at its first place, and the caller's sum over places is right.
std::vector<Tensor> local_gradient(std::span<const TapeEntry> calls, std::span<const Tensor> results,
                                   std::span<const Tensor> cotangents, std::span<const Tensor> inputs,
                                   const std::vector<bool>& wanted) {
  std::vector<Tensor> reached, weights, sources;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!cotangents[i].defined()) continue;
    reached.push_back(results[i]);
    weights.push_back(cotangents[i]);
  }
  std::vector<size_t> places;
  std::unordered_set<Key> seen;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i] || !is_float(inputs[i].dtype()) || !seen.insert(inputs[i].node().get()).second) continue;
    sources.push_back(inputs[i]);
    places.push_back(i);
  }
  const std::vector<Tensor> found = reverse(calls, reached, weights, sources);
  std::vector<Tensor> out(inputs.size());
  for (size_t i = 0; i < places.size(); ++i) out[places[i]] = found[i];
  return out;
}

// The gradient of a composite without a rule of its own: that of its decomposition.
std::vector<Tensor> decomposed_gradient(const TapeEntry& entry, std::span<const Tensor> cotangents,
                                        const std::vector<bool>& wanted) {
  std::vector<Tensor> results;
  std::vector<TapeEntry> calls;
  {
    CallTape log;
    results = entry.op->decompose({entry.attributes.get(), entry.inputs, entry.regions});
    calls = log.take();
  }
  return local_gradient(calls, results, cotangents, entry.inputs, wanted);
}

// The gradients that context.wanted asks for, in context.gradients.
void call_gradient(const TapeEntry& entry, GradientContext& context) {
  const OpDef& op = *entry.op;
  if (op.gradient) {
    context.attribute_struct = entry.attributes.get();
    context.attributes_ptr = entry.attributes;
    context.inputs = entry.inputs;
    context.outputs = entry.outputs;
    context.regions = entry.regions;
    context.gradients.assign(entry.inputs.size(), Tensor());
    op.gradient(context);
  } else if (op.decompose) {
    context.gradients = decomposed_gradient(entry, context.cotangents, context.wanted);
  } else {
    throw UnsupportedError(cat(op.name, ".gradient"), cat(op.name, " has no gradient"),
                           "wrap it in stop_gradient, or give it one with custom_gradient");
  }
}

}  // namespace

void CallTape::record(const Call& call, std::span<const Tensor> outputs) {
  calls_.push_back({&call.op,
                    call.attributes,
                    {call.inputs.begin(), call.inputs.end()},
                    {outputs.begin(), outputs.end()},
                    {call.regions.begin(), call.regions.end()}});
}

std::vector<Tensor> region_vjp(const Graph& region, std::span<const Tensor> inputs,
                               std::span<const Tensor> cotangents, const std::vector<bool>& wanted) {
  std::vector<Tensor> results;
  std::vector<TapeEntry> calls;
  {
    CallTape log;
    results = inline_graph(region, inputs);
    calls = log.take();
  }
  return local_gradient(calls, results, cotangents, inputs, wanted);
}

std::vector<Tensor> reverse(std::span<const TapeEntry> calls, std::span<const Tensor> targets,
                            std::span<const Tensor> cotangents, std::span<const Tensor> sources) {
  // Forward: what depends on a source is numbered. Only those values can carry a gradient that is asked for.
  NodeMap active;
  active.reserve(sources.size() + calls.size());
  const auto number = [&](const Tensor& value) {
    active.insert(value, static_cast<uint32_t>(active.size()));
  };
  for (const Tensor& source : sources) number(source);
  const size_t source_count = active.size();
  std::vector<const TapeEntry*> steps;
  std::vector<uint32_t> operands;  // the numbers of each step's inputs and outputs
  steps.reserve(calls.size());
  operands.reserve(3 * calls.size());
  for (const TapeEntry& call : calls) {
    if (call.op->no_gradient) continue;
    const size_t first = operands.size();
    bool depends = false;
    for (const Tensor& input : call.inputs) {
      operands.push_back(active.find(input));
      depends = depends || operands.back() != NodeMap::kNone;
    }
    if (!depends) {
      operands.resize(first);
      continue;
    }
    for (const Tensor& output : call.outputs) {
      if (is_float(output.dtype())) number(output);
      operands.push_back(active.find(output));
    }
    steps.push_back(&call);
  }

  std::vector<Tensor> gradients(active.size());
  const auto accumulate = [&](uint32_t value, Tensor gradient) {
    if (value == NodeMap::kNone) return;
    Tensor& sum = gradients[value];
    sum = sum.defined() ? std::move(sum) + std::move(gradient) : std::move(gradient);
  };
  for (size_t i = 0; i < targets.size(); ++i) {
    const bool given = i < cotangents.size() && cotangents[i].defined();
    if (given && cotangents[i].type() != targets[i].type()) {
      throw ShapeError("gradient.cotangent", cat("output gradient ", i, " is ", cotangents[i].type(),
                                                 ", the target is ", targets[i].type()));
    }
    accumulate(active.find(targets[i]), given ? cotangents[i] : constant_like(targets[i].type(), 1));
  }

  GradientContext context;
  std::vector<Tensor> found;
  const uint32_t* operand = operands.data() + operands.size();
  for (size_t i = steps.size(); i-- > 0;) {
    const TapeEntry& call = *steps[i];
    const size_t in_count = call.inputs.size(), out_count = call.outputs.size();
    operand -= in_count + out_count;
    found.assign(out_count, Tensor());
    bool reached = false;
    for (size_t k = 0; k < out_count; ++k) {
      const uint32_t value = operand[in_count + k];
      if (value == NodeMap::kNone || !gradients[value].defined()) continue;
      // Nothing before this call adds to it or asks for it, unless it is a source.
      found[k] = value < source_count ? gradients[value] : std::move(gradients[value]);
      reached = true;
    }
    if (!reached) continue;
    ReverseObserver::each([&](ReverseObserver& observer) { observer.on_reverse(call); });
    context.cotangents = found;
    context.wanted.resize(in_count);
    for (size_t k = 0; k < in_count; ++k) context.wanted[k] = operand[k] != NodeMap::kNone;
    call_gradient(call, context);
    for (size_t k = 0; k < context.gradients.size(); ++k) {
      Tensor& gradient = context.gradients[k];
      if (!context.wanted[k] || !gradient.defined()) continue;
      if (gradient.type() != call.inputs[k].type()) {
        throw InternalError(cat("the gradient of ", call.op->name, " for input ", k, " is ", gradient.type(),
                                ", not ", call.inputs[k].type()));
      }
      accumulate(operand[k], std::move(gradient));
    }
  }

  std::vector<Tensor> out;
  for (const Tensor& source : sources) out.push_back(gradients[active.find(source)]);
  return out;
}

WithGradients append_with_gradients(GraphBuilder& into, const Graph& graph, std::span<const Tensor> inputs,
                                    size_t target, const Tensor& seed, std::span<const size_t> sources) {
  Rewriter rewriter(graph, into, inputs);
  std::vector<TapeEntry> calls;
  calls.reserve(graph.nodes().size());
  // One handle a value: reverse mode knows values by their handles.
  std::vector<Tensor> values(graph.value_count());
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i].value] = inputs[i];
  for (const Node& node : graph.nodes()) {
    rewriter.copy(node);
    TapeEntry entry{node.op, node.attributes, {}, {}, {}};
    for (const ValueId input : graph.inputs(node)) entry.inputs.push_back(values[input]);
    for (uint32_t i = 0; i < node.result_count; ++i) {
      values[node.first_result + i] = rewriter.mapped(node.first_result + i);
      entry.outputs.push_back(values[node.first_result + i]);
    }
    entry.regions.assign(graph.regions(node).begin(), graph.regions(node).end());
    calls.push_back(std::move(entry));
  }
  WithGradients out;
  for (const GraphOutput& output : graph.outputs()) out.outputs.push_back(values[output.value]);
  std::vector<Tensor> wanted;
  for (const size_t i : sources) wanted.push_back(inputs[i]);
  const SinkScope scope(into);
  out.gradients = reverse(calls, {&out.outputs[target], 1}, {&seed, 1}, wanted);
  return out;
}

std::shared_ptr<Graph> add_gradients(const Graph& graph, size_t target, std::span<const size_t> sources) {
  GraphBuilder builder(graph.name());
  std::vector<Tensor> inputs;
  for (const GraphInput& input : graph.inputs())
    inputs.push_back(builder.input(input.kind, input.name, graph.type(input.value)));
  const WithGradients all = append_with_gradients(builder, graph, inputs, target, {}, sources);
  for (size_t i = 0; i < all.outputs.size(); ++i)
    builder.output(graph.outputs()[i].kind, graph.outputs()[i].name, all.outputs[i]);
  const SinkScope scope(builder);
  for (size_t i = 0; i < sources.size(); ++i) {
    const Tensor& source = inputs[sources[i]];
    builder.result(cat("gradient/", graph.inputs()[sources[i]].name),
                   all.gradients[i].defined() ? all.gradients[i] : constant_like(source.type(), 0));
  }
  return builder.finish();
}

}  // namespace espalier
