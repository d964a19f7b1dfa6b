#include "espalier/function.h"

#include <algorithm>
#include <list>
#include <optional>
#include <thread>

#include "base/hash.h"
#include "base/idle.h"
#include "eager/trace.h"
#include "ir/constant.h"
#include "ops/composite/call.h"
#include "passes/pass.h"
#include "runtime/executable.h"

namespace espalier {
namespace {

struct Plan {
  std::vector<TensorType> signature;
  Structures structures;
  uint64_t context = 0;
  std::shared_ptr<const Graph> graph;  // as traced
  std::shared_ptr<const Executable> executable;
  std::vector<VariablePtr> variables, updated;
  size_t results = 0;
  int calls = 0;

  bool takes(std::span<const Tensor> arguments, const RunContext& run) const {
    return structures.hold(run) && context == trace_context() &&
           std::ranges::equal(signature, arguments,
                              [](const TensorType& type, const Tensor& x) { return type == x.type(); });
  }
};

std::string constant_text(const Graph& graph, const Node& node) {
  const OpDef* op = node.op;
  return op == &op_constant ? cat(to_string(node.attributes), " at ", graph.location(node))
                            : cat(op->name, " ", to_string(node.attributes));
}

// The first node that differs between two traces of one function.
std::string first_difference(const Graph& a, const Graph& b) {
  const size_t n = std::min(a.nodes().size(), b.nodes().size());
  for (NodeId i = 0; i < n; ++i) {
    const Node &x = a.node(i), &y = b.node(i);
    if (x.op == y.op && equal(x.attributes, y.attributes)) continue;
    return cat("node ", i, " was ", constant_text(a, x), ", is now ", constant_text(b, y));
  }
  return cat("the first trace has ", a.nodes().size(), " nodes, the second ", b.nodes().size());
}

// What one call needs at a time: the plan it ran last, and lists that keep their memory.
struct CallState {
  std::shared_ptr<const Plan> plan;
  bool settled = false;  // only the arguments may still ask for another plan
  std::vector<ArrayView> inputs;
  std::vector<MutableArrayView> outputs;
  std::vector<Tensor> next;  // of updated variables; undefined where the array itself is written
};

using Accept = TracedFunction::Accept;

std::vector<Tensor> replay(CallState& call, std::span<const Tensor> arguments, const Accept* accept,
                           const RunContext& context) {
  const Plan& plan = *call.plan;
  const Graph& graph = *plan.graph;
  call.inputs.clear();
  call.outputs.clear();
  call.next.clear();
  for (const Tensor& argument : arguments) call.inputs.push_back({&argument.type(), argument.bytes()});
  for (const VariablePtr& variable : plan.variables)
    call.inputs.push_back({&variable->type, variable->value.bytes()});

  const auto fresh = [&](const TensorType& type) {
    Buffer buffer = allocate_buffer(type.bytes());
    call.outputs.push_back({&type, buffer.get()});
    return make_concrete(Literal(type, std::move(buffer)));
  };
  std::vector<Tensor> results;
  results.reserve(plan.results);
  for (size_t i = 0; i < plan.results; ++i) results.push_back(fresh(graph.type(graph.outputs()[i].value)));
  for (const VariablePtr& variable : plan.updated) {
    if (!accept && sole_owner(variable->value)) {
      call.outputs.push_back({&variable->type, variable->value.node()->literal.buffer().get()});
      call.next.emplace_back();
    } else {
      call.next.push_back(fresh(variable->type));
    }
  }
  run(*plan.executable, call.inputs, call.outputs, context);
  if (accept && !(*accept)(results)) {
    call.next.clear();
    return results;
  }
  for (size_t i = 0; i < plan.updated.size(); ++i) {
    if (call.next[i].defined()) plan.updated[i]->value = std::move(call.next[i]);
  }
  return results;
}

// Under a tape the function is one call whose gradient is that of its graph.
std::vector<Tensor> call_recorded(const Plan& plan, const std::string& name,
                                  std::span<const Tensor> arguments, const Accept* accept) {
  std::vector<Tensor> inputs(arguments.begin(), arguments.end());
  for (const VariablePtr& variable : plan.variables) inputs.push_back(variable->read());
  auto attributes = std::make_shared<CallAttributes>();
  attributes->callee = name;
  const GraphPtr region = plan.graph;
  std::vector<Tensor> outputs = emit_all(op_call, attributes, inputs, {&region, 1});
  const bool keeps = !accept || (*accept)(std::span(outputs).first(plan.results));
  for (size_t i = 0; keeps && i < plan.updated.size(); ++i)
    Variable(plan.updated[i]).assign(outputs[plan.results + i]);
  outputs.resize(plan.results);
  return outputs;
}

}  // namespace

struct TracedFunction::Impl {
  Body body;
  FunctionOptions options;
  std::mutex mutex;
  std::atomic<std::thread::id> tracing;
  std::list<std::shared_ptr<Plan>> plans;  // most recently used first
  Idle<CallState> calls;
  size_t traces = 0;
  std::optional<Structures> traced;  // of the last trace

  // While the body runs on this thread, whose lock is held.
  struct Inside {
    explicit Inside(Impl& impl) : impl(impl) { impl.tracing = std::this_thread::get_id(); }
    ~Inside() { impl.tracing = std::thread::id(); }
    Impl& impl;
  };
  void require_outside() const {
    if (tracing != std::this_thread::get_id()) return;
    throw StateError("function.recursion",
                     cat("\"", options.name, "\" is asked about itself while it is traced"));
  }

  std::shared_ptr<Plan> trace(std::span<const Tensor> arguments, const RunContext& context) {
    auto plan = std::make_shared<Plan>();
    const Inside inside(*this);
    plan->context = trace_context();
    Trace trace(options.name, traced && traced->hold(context));
    SinkScope scope(trace.builder());
    std::vector<Tensor> inputs;
    for (const Tensor& argument : arguments) {
      plan->signature.push_back(argument.type());
      inputs.push_back(trace.builder().argument(cat("arg", inputs.size()), argument.type()));
    }
    const std::vector<Tensor> results = body(inputs);
    for (size_t i = 0; i < results.size(); ++i) trace.builder().result(cat("result", i), results[i]);
    plan->results = results.size();
    plan->graph = trace.finish();
    plan->variables = trace.variables();
    plan->updated = trace.updated();
    traced = plan->structures = trace.structures();
    return plan;
  }

  // Gives `call` the plan for these arguments.
  void find_plan(CallState& call, std::span<const Tensor> arguments, const RunContext& context) {
    if (call.settled && call.plan->takes(arguments, context)) return;
    const std::lock_guard lock(mutex);
    const auto it = std::ranges::find_if(
        plans, [&](const std::shared_ptr<Plan>& plan) { return plan->takes(arguments, context); });
    if (it == plans.end()) {
      const std::shared_ptr<Plan> plan = trace(arguments, context);
      plan->executable = compile(optimize(plan->graph));
      plans.push_front(plan);
      ++traces;
      if (plans.size() > std::max<size_t>(options.max_plans, 1)) plans.pop_back();
    } else {
      plans.splice(plans.begin(), plans, it);
    }
    Plan& plan = *plans.front();
    if (plan.calls == 1 && options.check_captures) {
      const auto again = trace(arguments, context);
      if (again->graph->content_hash() != plan.graph->content_hash()) {
        throw StateError("function.capture",
                         cat("\"", options.name, "\" captured a C++ value that has changed: ",
                             first_difference(*plan.graph, *again->graph)),
                         "pass it as an argument, or keep it in a Variable");
      }
    }
    plan.calls = std::min(plan.calls + 1, 2);
    call.plan = plans.front();
    call.settled = plan.calls == 2;
  }
};

TracedFunction::TracedFunction(Body body, FunctionOptions options) : impl_(std::make_shared<Impl>()) {
  impl_->body = std::move(body);
  impl_->options = std::move(options);
}

std::vector<Tensor> TracedFunction::call(std::span<const Tensor> arguments) const {
  return call(arguments, nullptr);
}

std::vector<Tensor> TracedFunction::call_if(std::span<const Tensor> arguments, const Accept& accept) const {
  return call(arguments, &accept);
}

std::vector<Tensor> TracedFunction::call(std::span<const Tensor> arguments, const Accept* accept) const {
  const Depth depth("function");
  // Inside a graph, a region or vmap the ops of the body join those around them.
  if (Trace::current() || &Sink::current() != &eager_sink()) return impl_->body(arguments);
  std::unique_ptr<CallState> state = impl_->calls.take();
  if (!state) state = std::make_unique<CallState>();
  const RunContext& context = RunContext::current();
  impl_->find_plan(*state, arguments, context);
  std::vector<Tensor> results = is_recorded(Sink::current())
                                    ? call_recorded(*state->plan, impl_->options.name, arguments, accept)
                                    : replay(*state, arguments, accept, context);
  impl_->calls.give(std::move(state));
  return results;
}

size_t TracedFunction::traces() const {
  impl_->require_outside();
  const std::lock_guard lock(impl_->mutex);
  return impl_->traces;
}

std::shared_ptr<const Graph> TracedFunction::graph(std::span<const Tensor> arguments) const {
  impl_->require_outside();
  const std::lock_guard lock(impl_->mutex);
  return impl_->trace(arguments, RunContext::current())->graph;
}

}  // namespace espalier
