#include "espalier/function.h"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "base/hash.h"
#include "base/idle.h"
#include "base/made_once.h"
#include "base/rank_stage.h"
#include "base/shortest.h"
#include "eager/shares.h"
#include "eager/traced_graph.h"
#include "ir/constant.h"
#include "ir/device.h"
#include "ops/composite/call.h"
#include "passes/pass.h"
#include "place/staged_program.h"
#include "runtime/executable.h"

namespace espalier {
namespace {

// What one replica runs of a plan.
struct Part {
  TracedGraph program;
  std::shared_ptr<const Executable> executable;
  std::vector<std::string> collectives;
};

// What a compilation follows, besides the graph.
struct CompiledFor {
  explicit CompiledFor(const RunContext& run) : device(run.device), world(run.world) {
    if (!device) return;
    precision = matmul_precision();
    rank = run.rank;
  }
  const Device* device;
  int world, rank = 0;
  MatmulPrecision precision = MatmulPrecision::kHighest;
  bool operator==(const CompiledFor&) const = default;
};

// What is compiled of it is made when it is first asked for, outside of the function's lock: a compilation
// may take minutes, and calls of other programs do not wait for it.
struct Plan {
  std::vector<TensorType> signature;
  Structures structures;
  uint64_t context = 0;
  TracedGraph program;         // before passes
  std::vector<Alias> aliases;  // of the program, for devices

  struct Compiled {
    explicit Compiled(const CompiledFor& key) : key(key) {}
    const CompiledFor key;
    MadeOnce<Executable> here;
    MadeOnce<DeviceProgram> there;
  };
  // Behind the function's lock, as what follows.
  std::list<Compiled> compiled;                        // of what has called it
  std::vector<std::shared_ptr<MadeOnce<Part>>> parts;  // of so many replicas as called it last
  int world_of_parts = 0;
  bool checked = false;                          // that the function captures nothing that changes
  bool updates_are_equal = false;                // on all replicas: checked once
  std::vector<std::weak_ptr<const Plan>> alike;  // make the same updates of other numbers of rows

  void check_updates() {
    if (updates_are_equal) return;
    require_equal_updates(program);
    updates_are_equal = true;
  }
  // Of two replicas one makes the new values of a variable.
  void check_updates_with(const std::shared_ptr<const Plan>& other) {
    if (other.get() == this || program.updated.empty()) return;
    if (std::ranges::any_of(alike, [&](const auto& known) { return known.lock() == other; })) return;
    require_updates_of_any_rows(program, other->program);
    std::erase_if(alike, [](const auto& known) { return known.expired(); });
    alike.push_back(other);
  }

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

// Lists of one run, which keep their memory.
struct RunLists {
  std::vector<ArrayView> inputs;
  std::vector<MutableArrayView> outputs;
  std::vector<Tensor> next;  // of updated variables; undefined where the array itself is written
  bool has_next = false;     // one is defined
  // Of the arguments of the run before on a device: held, so that nobody writes into what was uploaded.
  std::vector<std::pair<Tensor, RemoteArrayPtr>> uploaded;
};

// What one call needs at a time: the plan it ran last, and its lists.
struct CallState {
  std::shared_ptr<Plan> plan;
  bool settled = false;                        // only the arguments may still ask for another plan
  const Plan::Compiled* compiled = nullptr;    // of the plan, where it ran last
  std::shared_ptr<const Executable> here;      // what was compiled: this,
  std::shared_ptr<const DeviceProgram> there;  // or that
  RunLists lists;
};

// Without `spare` an array that nobody else holds is written where it is. The new values of others stand in
// call.next, until keep_next: in the memory of `spare`, where it has some for them.
std::vector<Tensor> replay(const TracedGraph& program, const Executable& executable, RunLists& call,
                           std::span<const Tensor> arguments, const RunContext& context,
                           std::vector<Buffer>* spare = nullptr) {
  const Graph& graph = *program.graph;
  call.inputs.clear();
  call.outputs.clear();
  call.next.clear();
  call.has_next = false;
  for (const Tensor& argument : arguments) call.inputs.push_back({&argument.type(), argument.bytes()});
  for (const VariablePtr& variable : program.variables)
    call.inputs.push_back(variable->value.node()->dense().view());

  const auto fresh = [&](const TensorType& type, Buffer buffer = {}) {
    if (!buffer) buffer = allocate_buffer(type.bytes());
    call.outputs.push_back({&type, buffer.get()});
    return make_concrete(Literal(type, std::move(buffer)));
  };
  std::vector<Tensor> results;
  results.reserve(program.results);
  for (size_t i = 0; i < program.results; ++i) results.push_back(fresh(graph.type(graph.outputs()[i].value)));
  for (size_t i = 0; i < program.updated.size(); ++i) {
    const VariablePtr& variable = program.updated[i];
    // What lies on a device has a copy here, which is not the variable.
    if (!spare && !variable->value.node()->remote() && sole_owner(variable->value)) {
      call.outputs.push_back({&variable->type, variable->value.node()->literal().buffer().get()});
      call.next.emplace_back();
    } else {
      call.next.push_back(fresh(variable->type, spare ? std::move((*spare)[i]) : Buffer()));
      call.has_next = true;
    }
  }
  run(executable, call.inputs, call.outputs, context);
  return results;
}

// Of each update the variable's old value, whose place it may take.
std::vector<Alias> aliases_of(const TracedGraph& program) {
  const size_t arguments = program.graph->inputs().size() - program.variables.size();
  std::vector<Alias> out;
  for (size_t i = 0; i < program.updated.size(); ++i) {
    const auto it = std::ranges::find(program.variables, program.updated[i]);
    if (it != program.variables.end())
      out.push_back({arguments + static_cast<size_t>(it - program.variables.begin()), program.results + i});
  }
  return out;
}

// Of VariableState::updating, and of values that calls on devices bring there.
std::mutex& moves_mutex() {
  static std::mutex one;
  return one;
}
std::condition_variable& moves_changed() {
  static std::condition_variable one;
  return one;
}

RemoteArrayPtr on_device(const Tensor& tensor, Device& device) {
  const RemoteArrayPtr& remote = tensor.node()->remote();
  return remote && &remote->device() == &device ? remote : device.upload(tensor.node()->literal());
}

void bring(VariableState& variable, Device& device) {
  RemoteArrayPtr now = on_device(variable.value, device);
  if (now != variable.value.node()->remote()) variable.value = make_remote(std::move(now));
}

// To the end of an error over memory: what takes most of it, of what a call needs.
std::string largest_arrays(const TracedGraph& program, std::span<const Tensor> arguments) {
  constexpr size_t kShown = 5;
  std::vector<std::pair<size_t, std::string>> all;
  for (size_t i = 0; i < arguments.size(); ++i)
    all.emplace_back(arguments[i].type().bytes(), cat("argument ", i, " ", arguments[i].type()));
  for (const VariablePtr& variable : program.variables)
    all.emplace_back(variable->type.bytes(), cat(variable->path, " ", variable->type));
  std::ranges::stable_sort(all, std::greater(), &std::pair<size_t, std::string>::first);
  std::string out;
  for (size_t i = 0; i < std::min(all.size(), kShown); ++i)
    out += cat(i ? ", " : "; the largest tensors it needs: ", all[i].second, " (",
               fixed(static_cast<double>(all[i].first) / (1 << 20), 1), " MiB)");
  return out;
}

// While one lives no other thread brings or takes a variable that a program updates: programs of two models
// may share some, as the default generator's. `take` runs when it is its turn.
class UpdateTurn {
 public:
  template <class F>
  UpdateTurn(const TracedGraph& program, const F& take) : program_(program) {
    std::unique_lock lock(moves_mutex());
    moves_changed().wait(lock, [&] {
      return std::ranges::none_of(program.variables,
                                  [](const VariablePtr& variable) { return variable->updating; });
    });
    take();
    for (const VariablePtr& variable : program.updated) variable->updating = true;
  }
  ~UpdateTurn() {
    {
      const std::lock_guard lock(moves_mutex());
      for (const VariablePtr& variable : program_.updated) variable->updating = false;
    }
    moves_changed().notify_all();
  }
  UpdateTurn(const UpdateTurn&) = delete;
  UpdateTurn& operator=(const UpdateTurn&) = delete;

 private:
  const TracedGraph& program_;
};

// Variables stay where they were computed; one that nobody else holds gives its memory to its update. A
// program that is refused has changed nothing.
std::vector<Tensor> replay_there(const TracedGraph& program, std::span<const Alias> aliases,
                                 const DeviceProgram& executable, const RunContext& context, RunLists& call,
                                 std::span<const Tensor> arguments) {
  Device& device = *context.device;
  std::vector<RemoteArrayPtr> inputs;
  inputs.reserve(arguments.size() + program.variables.size());
  call.uploaded.resize(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto& [tensor, array] = call.uploaded[i];
    // An argument that is the one before, as weights of rows that are all 1, is there.
    if (!tensor.defined() || tensor.node() != arguments[i].node() || &array->device() != &device) {
      array = on_device(arguments[i], device);
      tensor = arguments[i];
    }
    inputs.push_back(array);
  }
  std::vector<char> donated(arguments.size() + program.variables.size(), false);
  const UpdateTurn turn(program, [&] {
    for (const VariablePtr& variable : program.variables) bring(*variable, device);
    for (const Alias& alias : aliases)
      donated[alias.input] = sole_owner(program.variables[alias.input - arguments.size()]->value);
    for (const VariablePtr& variable : program.variables) inputs.push_back(variable->value.node()->remote());
  });
  const std::vector<RemoteArrayPtr> outputs = executable.run(inputs, donated, context);
  std::vector<Tensor> results;
  for (size_t i = 0; i < program.results; ++i) results.push_back(make_remote(outputs[i]));
  for (size_t i = 0; i < program.updated.size(); ++i)
    program.updated[i]->value = make_remote(outputs[program.results + i]);
  return results;
}

std::vector<Tensor> replay_on_device(const TracedGraph& program, std::span<const Alias> aliases,
                                     const DeviceProgram& executable, const RunContext& context,
                                     RunLists& call, std::span<const Tensor> arguments) {
  try {
    return replay_there(program, aliases, executable, context, call, arguments);
  } catch (DeviceError& error) {
    if (error.rule() == "device.memory") error.add(largest_arrays(program, arguments));
    throw;
  }
}

// What nobody holds any more of the values before goes to `spare`.
void keep_next(const TracedGraph& program, RunLists& call, std::vector<Buffer>* spare = nullptr) {
  if (!call.has_next) return;
  for (size_t i = 0; i < program.updated.size(); ++i) {
    if (!call.next[i].defined()) continue;
    const Tensor before = std::exchange(program.updated[i]->value, std::move(call.next[i]));
    if (spare && !before.node()->remote() && sole_owner(before))
      (*spare)[i] = before.node()->literal().buffer();
  }
}

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

// While one lives call_replicas() calls.
thread_local bool replicas_call = false;
class ReplicasCall {
 public:
  ReplicasCall() : before_(std::exchange(replicas_call, true)) {}
  ~ReplicasCall() { replicas_call = before_; }
  ReplicasCall(const ReplicasCall&) = delete;
  ReplicasCall& operator=(const ReplicasCall&) = delete;

 private:
  const bool before_;
};

}  // namespace

struct TracedFunction::Impl {
  Body body;  // empty where the trace is its owner's
  Tracer tracer;
  FunctionOptions options;
  std::mutex tracing_mutex;  // held while the body runs, which one thread does at a time
  std::atomic<std::thread::id> tracing;
  std::optional<Structures> traced;        // of the last trace
  std::mutex mutex;                        // of what follows; nothing takes long behind it
  std::list<std::shared_ptr<Plan>> plans;  // most recently used first
  Idle<CallState> calls;
  size_t traces = 0;
  UpdateOwners owners{1};  // the same for all plans, whatever rows each is for
  // Where replicas put new values while the ones before are read: the memory of those before them.
  std::map<const VariableState*, std::pair<Buffer, size_t>> spare;
  Buffer take_spare(const VariableState& variable) {
    const auto [buffer, bytes] = std::exchange(spare[&variable], {});
    return bytes == variable.type.bytes() ? buffer : Buffer();
  }

  // While the body runs on this thread, which holds tracing_mutex.
  struct Inside {
    explicit Inside(Impl& impl) : impl(impl) { impl.tracing = std::this_thread::get_id(); }
    ~Inside() { impl.tracing = std::thread::id(); }
    Impl& impl;
  };
  void require_outside() const {
    if (tracing != std::this_thread::get_id()) return;
    throw StateError("function.recursion",
                     cat("\"", options.name, "\" was queried from inside its own trace"));
  }

  // After `after`, or all rewrites.
  TracedGraph traced_graph(std::span<const TensorType> types, bool again, const std::string& after = "") {
    const Inside inside(*this);
    return tracer(types, again, after);
  }

  // Gives `call` the program of its plan for the context.
  void find_program(CallState& call, const RunContext& context) {
    const CompiledFor key(context);
    if (call.compiled && call.compiled->key == key) return;
    Plan& plan = *call.plan;
    Plan::Compiled* compiled = nullptr;
    {
      const std::lock_guard lock(mutex);
      const auto it = std::ranges::find(plan.compiled, key, &Plan::Compiled::key);
      compiled = it != plan.compiled.end() ? &*it : &plan.compiled.emplace_back(key);
    }
    if (context.device) {
      call.there = compiled->there.get([&] {
        Device& device = *context.device;
        const auto graph = optimize(plan.program.graph);
        const ProgramOptions options{.aliases = plan.aliases, .precision = key.precision};
        // Devices of several processes that run one program meet in it.
        const bool staged =
            context.communicator && context.world > 1 && device.world() == 1 && meets_processes(*graph);
        return staged ? compile_in_stages(*graph, options, device, context) : device.compile(*graph, options);
      });
    } else {
      const RankStage::During tracing(Stage::kTrace);
      call.here = compiled->here.get([&] {
        return compile(optimize(plan.program.graph), {.world = context.world, .donations = plan.aliases});
      });
    }
    call.compiled = compiled;
  }

  // The plan's part for one of so many replicas.
  std::shared_ptr<const Part> part(Plan& plan, size_t replica, size_t replicas, int world) {
    std::shared_ptr<MadeOnce<Part>> out;
    {
      const std::lock_guard lock(mutex);
      if (plan.parts.size() != replicas || plan.world_of_parts != world) {
        plan.world_of_parts = world;
        plan.parts.clear();
        for (size_t i = 0; i < replicas; ++i) plan.parts.push_back(std::make_shared<MadeOnce<Part>>());
      }
      out = plan.parts[replica];
    }
    return out->get([&] {
      std::vector<size_t> own;
      {
        const std::lock_guard lock(mutex);
        plan.check_updates();
        if (owners.replicas() != replicas) owners = UpdateOwners(replicas);
        owners.add(plan.program);
        for (size_t i = 0; i < plan.program.updated.size(); ++i) {
          if (owners.of(plan.program.updated[i]) == replica) own.push_back(i);
        }
      }
      const auto made = std::make_shared<Part>();
      made->program = with_updates(plan.program, own);
      made->executable = compile(optimize(made->program.graph), {.world = world});
      made->collectives = collectives_of(*plan.program.graph);
      return made;
    });
  }

  bool traced_before(const RunContext& context) const { return traced && traced->hold(context); }

  std::shared_ptr<Plan> trace(std::span<const Tensor> arguments, const RunContext& context) {
    auto plan = std::make_shared<Plan>();
    plan->context = trace_context();
    for (const Tensor& argument : arguments) plan->signature.push_back(argument.type());
    plan->program = traced_graph(plan->signature, traced_before(context));
    plan->aliases = aliases_of(plan->program);
    traced = plan->structures = plan->program.structures;
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
    const std::lock_guard one(tracing_mutex);
    // Another thread may have traced it meanwhile.
    Found out = known_plan(arguments, context);
    if (!out.plan) {
      out = {trace(arguments, context), !options.check_captures};
      const std::lock_guard lock(mutex);
      out.plan->checked = out.checked;
      plans.push_front(out.plan);
      ++traces;
      if (plans.size() > std::max<size_t>(options.max_plans, 1)) plans.pop_back();
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

  // Gives `call` the plan for these arguments.
  void find_plan(CallState& call, std::span<const Tensor> arguments, const RunContext& context) {
    if (call.settled && call.plan->takes(arguments, context)) return;
    const RankStage::During tracing(Stage::kTrace);
    Found found = known_plan(arguments, context);
    if (!found.checked) found = traced_plan(arguments, context);
    if (call.plan != found.plan) {
      call.compiled = nullptr;
      call.here = nullptr;
      call.there = nullptr;
    }
    call.plan = std::move(found.plan);
    call.settled = found.checked;
  }
};

Tensor value_beside_calls(const VariableState& variable) {
  std::unique_lock lock(moves_mutex());
  moves_changed().wait(lock, [&] { return !variable.updating; });
  return variable.value;
}

TracedFunction::TracedFunction(Body body, FunctionOptions options) : impl_(std::make_shared<Impl>()) {
  impl_->options = std::move(options);
  impl_->body = std::move(body);
  impl_->tracer = [impl = impl_.get()](std::span<const TensorType> types, bool again,
                                       const std::string& after) {
    std::vector<NamedType> arguments;
    for (const TensorType& type : types) arguments.push_back({cat("arg", arguments.size()), type});
    TracedGraph program =
        trace_graph(impl->options.name, again, arguments, [impl](std::span<const Tensor> inputs) {
          NamedTensors results;
          for (Tensor& result : impl->body(inputs))
            results.push_back({cat("result", results.size()), std::move(result)});
          return results;
        });
    return rewrite(std::move(program), impl->options.rewrites, again, after);
  };
}

TracedFunction::TracedFunction(Tracer tracer, FunctionOptions options) : impl_(std::make_shared<Impl>()) {
  impl_->options = std::move(options);
  impl_->tracer = std::move(tracer);
}

std::vector<Tensor> TracedFunction::call(std::span<const Tensor> arguments) const {
  const Depth depth("function");
  // Inside a graph, a region or vmap the ops of the body join those around them.
  if (Trace::current() || &Sink::current() != &eager_sink()) {
    if (impl_->body) return impl_->body(arguments);
    throw StateError("function.nested",
                     cat("\"", impl_->options.name, "\" is called inside of a traced function or a region"));
  }
  std::unique_ptr<CallState> state = impl_->calls.take();
  if (!state) state = std::make_unique<CallState>();
  const RunContext& context = RunContext::current();
  impl_->find_plan(*state, arguments, context);
  const Plan& plan = *state->plan;
  if (context.device && context.device->world() > 1 && !replicas_call &&
      !collectives_of(*plan.program.graph).empty())
    throw StateError("strategy.outside",
                     cat("\"", impl_->options.name,
                         "\" combines what replicas have, and is called with "
                         "values of none, beside ",
                         context.device->world(), " of them"),
                     "Strategy::run() calls it with values of each");
  std::vector<Tensor> results;
  if (is_recorded(Sink::current())) {
    results = call_recorded(plan.program, impl_->options.name, arguments, context.device);
  } else if (context.device) {
    impl_->find_program(*state, context);
    results = replay_on_device(plan.program, plan.aliases, *state->there, context, state->lists, arguments);
  } else {
    impl_->find_program(*state, context);
    results = replay(plan.program, *state->here, state->lists, arguments, context);
    keep_next(plan.program, state->lists);
  }
  impl_->calls.give(std::move(state));
  return results;
}

void TracedFunction::prepare(std::span<const Tensor> arguments) const {
  CallState state;
  const RunContext& context = RunContext::current();
  while (!state.settled) impl_->find_plan(state, arguments, context);
  if (!context.device) impl_->find_program(state, context);
}

std::vector<std::vector<Tensor>> TracedFunction::call_replicas(std::span<const std::vector<Tensor>> arguments,
                                                               std::span<const RunContext* const> contexts,
                                                               const AtOnce& at_once) const {
  const size_t replicas = contexts.size();
  if (replicas == 1) {
    const RunScope scope(*contexts[0]);
    if (contexts[0]->world > 1) {
      CallState state;
      impl_->find_plan(state, arguments[0], *contexts[0]);
      const std::lock_guard lock(impl_->mutex);
      state.plan->check_updates();
    }
    const ReplicasCall inside;
    return {call(arguments[0])};
  }
  struct Replica {
    CallState state;
    std::shared_ptr<const Part> part;
    std::vector<Buffer> spare;
    std::vector<Tensor> results;
    std::exception_ptr error;
    bool waited = false;
  };
  std::vector<Replica> all(replicas);
  const RunContext& current = RunContext::current();
  for (size_t i = 0; i < replicas; ++i) {
    impl_->find_plan(all[i].state, arguments[i], current);
    all[i].part = impl_->part(*all[i].state.plan, i, replicas, contexts[i]->world);
    const std::lock_guard lock(impl_->mutex);
    for (const VariablePtr& variable : all[i].part->program.updated)
      all[i].spare.push_back(impl_->take_spare(*variable));
  }
  std::vector<const std::vector<std::string>*> collectives;
  for (const Replica& replica : all) collectives.push_back(&replica.part->collectives);
  require_equal_collectives(collectives);
  for (const Replica& replica : all) {
    const std::lock_guard lock(impl_->mutex);
    all[0].state.plan->check_updates_with(replica.state.plan);
  }
  at_once([&](size_t i) {
    Replica& own = all[i];
    const RunContext& context = *contexts[i];
    try {
      own.results = replay(own.part->program, *own.part->executable, own.state.lists, arguments[i], context,
                           &own.spare);
    } catch (const Error& error) {
      own.error = std::current_exception();
      own.waited = error.rule() == "comm.verdict";
      if (context.communicator) context.communicator->abort(error.message());
    } catch (const std::exception& error) {
      own.error = std::current_exception();
      if (context.communicator) context.communicator->abort(error.what());
    }
  });
  for (const bool waited : {false, true}) {
    for (const Replica& replica : all) {
      if (replica.error && replica.waited == waited) std::rethrow_exception(replica.error);
    }
  }
  std::vector<std::vector<Tensor>> out;
  for (Replica& replica : all) {
    keep_next(replica.part->program, replica.state.lists, &replica.spare);
    out.push_back(std::move(replica.results));
    const std::lock_guard lock(impl_->mutex);
    for (size_t i = 0; i < replica.spare.size(); ++i) {
      const VariableState& variable = *replica.part->program.updated[i];
      impl_->spare[&variable] = {std::move(replica.spare[i]), variable.type.bytes()};
    }
  }
  return out;
}

void TracedFunction::between_traces(const std::function<void()>& body) const {
  impl_->require_outside();
  const std::lock_guard one(impl_->tracing_mutex);
  const Impl::Inside inside(*impl_);
  body();
}

size_t TracedFunction::traces() const {
  impl_->require_outside();
  const std::lock_guard lock(impl_->mutex);
  return impl_->traces;
}

std::shared_ptr<const Graph> TracedFunction::graph(std::span<const Tensor> arguments,
                                                   const std::string& after) const {
  impl_->require_outside();
  std::vector<std::string> names{kTraced};
  for (const auto& each : impl_->options.rewrites) names.push_back(each->name);
  const size_t rewrites = names.size();
  for (const Pass* pass : all_passes()) names.push_back(pass->name);
  const auto at = after.empty() ? names.begin() + static_cast<std::ptrdiff_t>(rewrites) - 1
                                : std::ranges::find(names, after);
  if (at == names.end()) throw_unknown("function.after", "rewrite or pass", after, names);
  std::vector<TensorType> types;
  for (const Tensor& argument : arguments) types.push_back(argument.type());
  std::unique_lock one(impl_->tracing_mutex);
  const auto number = static_cast<size_t>(at - names.begin());
  const bool again = impl_->traced_before(RunContext::current());
  const TracedGraph program = impl_->traced_graph(types, again, number < rewrites ? *at : "");
  // A part of the way makes not all variables.
  if (number + 1 >= rewrites) impl_->traced = program.structures;
  one.unlock();
  return number < rewrites ? program.graph : optimize(program.graph, {.last = *at});
}

}  // namespace espalier
