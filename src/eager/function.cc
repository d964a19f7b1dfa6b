#include "espalier/function.h"

#include <algorithm>
#include <list>
#include <utility>

#include "base/hash.h"
#include "base/object_pool.h"
#include "base/rank_stage.h"
#include "base/shortest.h"
#include "eager/bound_call.h"
#include "eager/plan.h"
#include "eager/traced_call.h"
#include "eager/traces.h"
#include "ir/device.h"
#include "ops/composite/call.h"
#include "place/place_of.h"
#include "place/shares.h"

namespace espalier {
namespace {

// What one call needs at a time: what it ran last, and its lists.
struct CallState {
  std::vector<std::shared_ptr<Plan>> plans;  // one a replica
  std::vector<const TracedPairs*> traced;    // the same
  bool settled = false;                      // only the arguments may still ask for others
  PlaceKey key;                              // of
  std::shared_ptr<const Program> program;    // null: it was not asked for yet
  BoundCall bound;
};

// Under a tape the function is one call whose gradient is that of its graph.
std::vector<Tensor> call_recorded(const TracedGraph& program, const std::string& name,
                                  std::span<const Tensor> arguments, Device* device) {
  std::vector<Tensor> inputs(arguments.begin(), arguments.end());
  // The call is an eager op, which runs where its operands lie.
  if (device) {
    for (const Tensor& input : inputs)
      if (input.concrete() && !input.node()->remote()) input.node()->let_move();
    for (const VariablePtr& variable : program.variables) bring(*variable, *device);
  }
  for (const VariablePtr& variable : program.variables) inputs.push_back(variable->read());
  auto attributes = std::make_shared<CallAttributes>();
  attributes->callee = name;
  const GraphPtr region = program.graph;
  std::vector<Tensor> outputs = emit_all(op_call, attributes, inputs, {&region, 1});
  for (size_t i = 0; i < program.updated.size(); ++i)
    Variable(program.updated[i]).assign(outputs[program.results + i]);
  outputs.resize(program.results);
  return outputs;
}

}  // namespace

struct TracedFunction::Impl {
  Impl(Body own, FunctionOptions options)
      : body(std::move(own)), options(std::move(options)), traces(this->options, body) {}
  Impl(Tracer tracer, FunctionOptions options)
      : options(std::move(options)), traces(this->options, std::move(tracer)) {}

  const Body body;  // empty where the trace is its owner's
  const FunctionOptions options;
  Traces traces;
  std::mutex mutex;                        // of what follows; nothing takes long behind it
  std::list<std::shared_ptr<Plan>> plans;  // most recently used first
  ObjectPool<CallState> calls;
  size_t traced = 0;  // to make a plan

  // Gives `call` the program of its plans for a place.
  void find_program(CallState& call, const Place& place, const RunContext& context) {
    if (call.program && call.key == place.key) return;
    const RankStage::During tracing(Stage::kTrace);
    const std::vector<std::shared_ptr<Plan>>& plans = call.plans;
    std::vector<PlacedGraph> graphs;
    MadeOnce<Program>* made = nullptr;
    {
      const std::lock_guard lock(mutex);
      std::list<Plan::Compiled>& all = plans[0]->compiled;
      std::erase_if(all, [](const Plan::Compiled& known) {
        return std::ranges::any_of(known.others, [](const auto& other) { return other.expired(); });
      });
      auto it = std::ranges::find_if(all, [&](const auto& known) { return known.is_of(place, plans); });
      if (it == all.end()) it = all.insert(all.end(), {place.key, {plans.begin() + 1, plans.end()}});
      made = it->program.get();
    }
    call.program = made->get([&] {
      for (const auto& plan : plans) graphs.push_back({plan->program.graph, plan->pairs});
      return place.compile(graphs, context.events);
    });
    call.key = place.key;
    if (graphs.empty()) return;
    // This call has made it.
    const std::lock_guard lock(mutex);
    const auto is = [&](const Plan::Compiled& known) { return known.program.get() == made; };
    std::ranges::find_if(plans[0]->compiled, is)->bytes = call.program->bytes();
    drop_plans();
  }

  // Behind the lock: those that nobody will use, and of others those that were used longest ago, beyond what
  // the options say.
  void drop_plans() {
    std::erase_if(plans, [](const std::shared_ptr<Plan>& plan) { return plan->structures.are_gone(); });
    constexpr size_t kAnyway = 8;  // as many as a run of fit needs: whole and last batch, parts of replicas
    size_t kept = 0, bytes = 0;
    bool known = true;
    const auto first = std::ranges::find_if(plans, [&](const std::shared_ptr<Plan>& plan) {
      if (options.max_plans) return kept++ >= std::max<size_t>(*options.max_plans, 1);
      const std::optional<size_t> own = plan->bytes();
      known = known && own;
      bytes += own.value_or(0);
      return kept++ >= kAnyway && (!known || bytes > options.max_plan_bytes);
    });
    plans.erase(first, plans.end());
  }

  std::shared_ptr<Plan> trace(std::span<const Tensor> arguments, const RunContext& context) {
    std::vector<TensorType> signature;
    for (const Tensor& argument : arguments) signature.push_back(argument.type());
    auto plan = std::make_shared<Plan>(traces.trace(signature, traces.are_known(context)), options.donate);
    plan->context = trace_context();
    plan->signature = std::move(signature);
    traces.last = plan->structures = plan->program.structures;
    return plan;
  }

  struct Found {
    std::shared_ptr<Plan> plan;
    bool checked = false;
  };
  // Its plan is null where there is none.
  Found known_plan(std::span<const Tensor> arguments, const RunContext& context) {
    const std::lock_guard lock(mutex);
    const auto it = std::ranges::find_if(
        plans, [&](const std::shared_ptr<Plan>& plan) { return plan->takes(arguments, context); });
    if (it == plans.end()) return {};
    plans.splice(plans.begin(), plans, it);
    return {plans.front(), plans.front()->checked};
  }

  // One that is new, or not checked yet.
  Found traced_plan(std::span<const Tensor> arguments, const RunContext& context) {
    const std::lock_guard one(traces.mutex);
    // Another thread may have traced it meanwhile.
    Found out = known_plan(arguments, context);
    if (!out.plan) {
      out = {trace(arguments, context), !options.check_captures};
      const std::lock_guard lock(mutex);
      out.plan->checked = out.checked;
      plans.push_front(out.plan);
      ++traced;
      drop_plans();
    } else if (!out.checked) {
      const auto again = trace(arguments, context);
      const Graph &before = *out.plan->program.graph, &now = *again->program.graph;
      if (now.content_hash() != before.content_hash()) {
        throw StateError("function.capture",
                         cat("\"", options.name,
                             "\" captured a C++ value that has changed: ", first_difference(before, now)),
                         "pass it as an argument, or keep it in a Variable");
      }
      const std::lock_guard lock(mutex);
      out.plan->checked = out.checked = true;
    }
    return out;
  }

  // Gives `call` the plans for the arguments of each replica.
  void find_plans(CallState& call, std::span<const std::span<const Tensor>> arguments,
                  const RunContext& context) {
    const auto takes = [&](const std::shared_ptr<Plan>& plan, std::span<const Tensor> own) {
      return plan->takes(own, context);
    };
    if (call.settled && std::ranges::equal(call.plans, arguments, takes)) return;
    const RankStage::During tracing(Stage::kTrace);
    std::vector<std::shared_ptr<Plan>> plans;
    call.settled = true;
    for (const std::span<const Tensor> own : arguments) {
      Found found = known_plan(own, context);
      if (!found.checked) found = traced_plan(own, context);
      call.settled = call.settled && found.checked;
      plans.push_back(std::move(found.plan));
    }
    if (call.plans == plans) return;
    call.program = nullptr;
    call.plans = std::move(plans);
    call.traced.assign(call.plans.size(), nullptr);
    std::ranges::transform(call.plans, call.traced.begin(), [](const auto& plan) { return plan.get(); });
  }

  // Unless `instead` has done it by the plan of the first replica.
  template <class Instead>
  void call(std::span<const std::span<const Tensor>> arguments, const Place& place, const RunContext& context,
            std::span<std::vector<Tensor>> results, const Instead& instead) {
    std::unique_ptr<CallState> state = calls.take();
    if (!state) state = std::make_unique<CallState>();
    find_plans(*state, arguments, context);
    if (!instead(*state->plans[0])) {
      find_program(*state, place, context);
      state->bound.run(state->traced, place, *state->program, arguments, context, results);
    }
    calls.give(std::move(state));
  }

  void tell(const BeforeCall& before, const Plan& plan) const {
    if (before) before({options.name, plan.signature, plan.program});
  }

  // Of one replica, or with the same arguments for all.
  std::vector<Tensor> call_one(std::span<const Tensor> arguments, const Place& place,
                               const RunContext& context, const BeforeCall& before = {}) {
    const Depth depth("function");
    // Inside a graph, a region or vmap the ops of the body join those around them.
    if (Trace::current() || &Sink::current() != &eager_sink()) {
      if (body) return body(arguments);
      throw StateError("function.nested",
                       cat("\"", options.name, "\" is called inside of a traced function or a region"));
    }
    const ReplicasScope replicas(place.key.world);
    std::vector<Tensor> results;
    call({&arguments, 1}, place, context, {&results, 1}, [&](const Plan& plan) {
      if (place.device && place.device->world() > 1 && !place.key.replicas &&
          !collectives_of(*plan.program.graph).empty())
        throw StateError("strategy.outside",
                         cat("\"", options.name,
                             "\" combines what replicas have, and is called with "
                             "values of none, beside ",
                             place.device->world(), " of them"),
                         "Strategy::run() calls it with values of each");
      tell(before, plan);
      if (!is_recorded(Sink::current())) return false;
      results = call_recorded(plan.program, options.name, arguments, place.device);
      return true;
    });
    return results;
  }
};

TracedFunction::TracedFunction(Body body, FunctionOptions options)
    : impl_(std::make_shared<Impl>(std::move(body), std::move(options))) {}
TracedFunction::TracedFunction(Tracer tracer, FunctionOptions options)
    : impl_(std::make_shared<Impl>(std::move(tracer), std::move(options))) {}

const std::string& TracedFunction::name() const { return impl_->options.name; }

std::vector<Tensor> TracedFunction::call(std::span<const Tensor> arguments) const {
  const RunContext& context = RunContext::current();
  return impl_->call_one(arguments, *PlaceOf(context), context);
}

void TracedFunction::prepare(std::span<const Tensor> arguments) const {
  const RunContext& context = RunContext::current();
  CallState state;
  const PlaceOf place(context);
  const ReplicasScope replicas(place->key.world);
  while (!state.settled) impl_->find_plans(state, {&arguments, 1}, context);
  if (!place->device) impl_->find_program(state, *place, context);
}

std::vector<std::vector<Tensor>> TracedFunction::call_each(std::span<const std::vector<Tensor>> arguments,
                                                           const Place& place, const RunContext& context,
                                                           const BeforeCall& before) const {
  const RunScope scope(context);
  if (arguments.size() == 1) return {impl_->call_one(arguments[0], place, context, before)};
  const ReplicasScope replicas(place.key.world);
  const std::vector<std::span<const Tensor>> lists(arguments.begin(), arguments.end());
  std::vector<std::vector<Tensor>> results(lists.size());
  impl_->call(lists, place, context, results, [&](const Plan& plan) {
    impl_->tell(before, plan);
    return false;
  });
  return results;
}

void TracedFunction::between_traces(const std::function<void()>& body) const {
  impl_->traces.require_outside();
  const std::lock_guard one(impl_->traces.mutex);
  impl_->traces.between(body);
}

const TracedFunction::Body& TracedFunction::body() const { return impl_->body; }
const FunctionOptions& TracedFunction::options() const { return impl_->options; }
std::shared_ptr<const void> TracedFunction::identity() const { return impl_; }

size_t TracedFunction::traces() const {
  impl_->traces.require_outside();
  const std::lock_guard lock(impl_->mutex);
  return impl_->traced;
}

std::shared_ptr<const Graph> TracedFunction::graph(std::span<const Tensor> arguments,
                                                   const std::string& after) const {
  impl_->traces.require_outside();
  return impl_->traces.graph(arguments, after, RunContext::current());
}

}  // namespace espalier
