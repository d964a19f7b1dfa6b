#include "grad/grad.h"

#include <unordered_map>
#include <unordered_set>

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

std::vector<Tensor> call_gradient(const TapeEntry& entry, std::span<const Tensor> cotangents,
                                  const std::vector<bool>& wanted) {
  const OpDef& op = *entry.op;
  if (op.gradient) {
    GradientContext context;
    context.attribute_struct = entry.attributes.get();
    context.attributes_ptr = entry.attributes;
    context.inputs = entry.inputs;
    context.outputs = entry.outputs;
    context.cotangents = cotangents;
    context.regions = entry.regions;
    context.wanted = wanted;
    context.gradients.resize(entry.inputs.size());
    op.gradient(context);
    return std::move(context.gradients);
  }
  if (op.no_gradient) return std::vector<Tensor>(entry.inputs.size());
  if (op.decompose) return decomposed_gradient(entry, cotangents, wanted);
  throw UnsupportedError(cat(op.name, ".gradient"), cat(op.name, " has no gradient"),
                         "wrap it in stop_gradient, or give it one with custom_gradient");
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
  // Forward: what depends on a source. Only those values can carry a gradient that is asked for.
  std::unordered_set<Key> active;
  active.reserve(sources.size() + calls.size());
  for (const Tensor& source : sources) active.insert(source.node().get());
  for (const TapeEntry& call : calls) {
    if (call.op->no_gradient) continue;
    bool depends = false;
    for (const Tensor& input : call.inputs) depends = depends || active.contains(input.node().get());
    if (!depends) continue;
    for (const Tensor& output : call.outputs) {
      if (is_float(output.dtype())) active.insert(output.node().get());
    }
  }

  std::unordered_map<Key, Tensor> gradients;
  gradients.reserve(active.size());
  const auto accumulate = [&](const Tensor& value, const Tensor& gradient) {
    Tensor& sum = gradients[value.node().get()];
    sum = sum.defined() ? sum + gradient : gradient;
  };
  for (size_t i = 0; i < targets.size(); ++i) {
    const bool given = i < cotangents.size() && cotangents[i].defined();
    if (given && cotangents[i].type() != targets[i].type()) {
      throw ShapeError("gradient.cotangent", cat("output gradient ", i, " is ", cotangents[i].type(),
                                                 ", the target is ", targets[i].type()));
    }
    accumulate(targets[i], given ? cotangents[i] : constant_like(targets[i].type(), 1));
  }

  std::vector<Tensor> found;
  std::vector<bool> wanted;
  for (size_t i = calls.size(); i-- > 0;) {
    const TapeEntry& call = calls[i];
    found.assign(call.outputs.size(), Tensor());
    bool reached = false;
    for (size_t k = 0; k < call.outputs.size(); ++k) {
      const Key key = call.outputs[k].node().get();
      if (!active.contains(key)) continue;
      if (const auto it = gradients.find(key); it != gradients.end()) {
        found[k] = it->second;
        reached = true;
      }
    }
    wanted.assign(call.inputs.size(), false);
    bool any = false;
    for (size_t k = 0; k < call.inputs.size(); ++k) {
      wanted[k] = active.contains(call.inputs[k].node().get());
      any = any || wanted[k];
    }
    if (!reached || !any || call.op->no_gradient) continue;
    const std::vector<Tensor> results = call_gradient(call, found, wanted);
    for (size_t k = 0; k < results.size(); ++k) {
      if (!wanted[k] || !results[k].defined()) continue;
      if (results[k].type() != call.inputs[k].type()) {
        throw InternalError(cat("the gradient of ", call.op->name, " for input ", k, " is ",
                                results[k].type(), ", not ", call.inputs[k].type()));
      }
      accumulate(call.inputs[k], results[k]);
    }
  }

  std::vector<Tensor> out;
  for (const Tensor& source : sources) {
    const auto it = gradients.find(source.node().get());
    out.push_back(it == gradients.end() ? Tensor() : it->second);
  }
  return out;
}

std::shared_ptr<Graph> add_gradients(const Graph& graph, size_t target, std::span<const size_t> sources) {
  Rewriter rewriter(graph);
  std::vector<TapeEntry> calls;
  calls.reserve(graph.nodes().size());
  // One handle a value: reverse mode knows values by their handles.
  std::vector<Tensor> values(graph.value_count());
  for (const GraphInput& input : graph.inputs()) values[input.value] = rewriter.mapped(input.value);
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
  SinkScope scope(rewriter.builder());
  std::vector<Tensor> inputs;
  for (const size_t i : sources) inputs.push_back(values[graph.inputs()[i].value]);
  const Tensor goal = values[graph.outputs()[target].value];
  const std::vector<Tensor> gradients = reverse(calls, {&goal, 1}, {}, inputs);
  for (const GraphOutput& output : graph.outputs())
    rewriter.builder().output(output.kind, output.name, rewriter.mapped(output.value));
  for (size_t i = 0; i < sources.size(); ++i) {
    const Tensor gradient = gradients[i].defined() ? gradients[i] : constant_like(inputs[i].type(), 0);
    rewriter.builder().result(cat("gradient/", graph.inputs()[sources[i]].name), gradient);
  }
  return rewriter.builder().finish();
}

}  // namespace espalier
