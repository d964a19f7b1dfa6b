#include "eager/traces.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/format.h"
#include "ir/constant.h"
#include "runtime/lowering.h"

namespace espalier {
namespace {

std::string constant_text(const Graph& graph, const Node& node) {
  const OpDef* op = node.op;
  return op == &op_constant ? cat(to_string(node.attributes), " at ", graph.location(node))
                            : cat(op->name, " ", to_string(node.attributes));
}

TracedFunction::Tracer tracer_of(const FunctionOptions& options, const TracedFunction::Body& body) {
  const auto trace = [&](std::span<const TensorType> types, bool again) {
    std::vector<NamedType> arguments;
    for (const TensorType& type : types) arguments.push_back({cat("arg", arguments.size()), type});
    return trace_graph(options.name, again, arguments, [&](std::span<const Tensor> inputs) {
      NamedTensors results;
      for (Tensor& result : body(inputs))
        results.push_back({cat("result", results.size()), std::move(result)});
      return results;
    });
  };
  return [&, trace](std::span<const TensorType> types, bool again, const std::string& after) {
    TracedGraph program = trace(types, again);
    program.retrace = [trace](std::span<const TensorType> others) { return trace(others, true); };
    return rewrite(std::move(program), options.rewrites, again, after);
  };
}

}  // namespace

Traces::Traces(const FunctionOptions& options, const TracedFunction::Body& body)
    : Traces(options, tracer_of(options, body)) {}

Traces::Traces(const FunctionOptions& options, TracedFunction::Tracer tracer)
    : options_(options), tracer_(std::move(tracer)) {}

void Traces::require_outside() const {
  if (thread_ != std::this_thread::get_id()) return;
  throw StateError("function.recursion",
                   cat("\"", options_.name, "\" was queried from inside its own trace"));
}

TracedGraph Traces::trace(std::span<const TensorType> types, bool again, const std::string& after) {
  const Inside inside(*this);
  return tracer_(types, again, after);
}

void Traces::between(const std::function<void()>& body) {
  const Inside inside(*this);
  body();
}

std::shared_ptr<const Graph> Traces::graph(std::span<const Tensor> arguments, const std::string& after,
                                           const RunContext& context) {
  std::vector<std::string> names{kTraced};
  for (const auto& each : options_.rewrites) names.push_back(each->name);
  const size_t rewrites = names.size();
  for (std::string& name : passes_and_lowerings()) names.push_back(std::move(name));
  const auto at = after.empty() ? names.begin() + static_cast<std::ptrdiff_t>(rewrites) - 1
                                : std::ranges::find(names, after);
  if (at == names.end()) throw_unknown("function.after", "rewrite or pass", after, names);
  std::vector<TensorType> types;
  for (const Tensor& argument : arguments) types.push_back(argument.type());
  std::unique_lock one(mutex);
  const auto number = static_cast<size_t>(at - names.begin());
  const TracedGraph program = trace(types, are_known(context), number < rewrites ? *at : "");
  // A part of the way makes not all variables.
  if (number + 1 >= rewrites) last = program.structures;
  one.unlock();
  return number < rewrites ? program.graph : graph_after(program.graph, *at);
}

std::string first_difference(const Graph& a, const Graph& b) {
  const size_t n = std::min(a.nodes().size(), b.nodes().size());
  for (NodeId i = 0; i < n; ++i) {
    const Node &x = a.node(i), &y = b.node(i);
    if (x.op == y.op && equal(x.attributes, y.attributes)) continue;
    return cat("node ", i, " was ", constant_text(a, x), ", is now ", constant_text(b, y));
  }
  return cat("the first trace has ", a.nodes().size(), " nodes, the second ", b.nodes().size());
}

}  // namespace espalier
