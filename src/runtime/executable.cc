#include "runtime/executable.h"

#include <algorithm>

#include "base/float_environment.h"
#include "ir/graph_bytes.h"
#include "ops/collective.h"
#include "runtime/plan.h"
#include "runtime/profile.h"

namespace espalier {
namespace {

// "input 3 "x""
std::string text_of_input(const Graph& graph, size_t i) {
  return cat("input ", i, " \"", graph.inputs()[i].name, "\" of ", graph.name());
}
std::string text_of_output(const Graph& graph, size_t i) {
  return cat("output ", i, " \"", graph.outputs()[i].name, "\" of ", graph.name());
}

// A call of memcmp would take longer than a shape's few sizes do.
bool is_type(const TensorType& type, const TensorType& wanted) {
  if (type.dtype != wanted.dtype || type.shape.size() != wanted.shape.size()) return false;
  for (size_t i = 0; i < wanted.shape.size(); ++i)
    if (type.shape[i] != wanted.shape[i]) return false;
  return true;
}

void check_signature(const Graph& graph, std::span<const ArrayView> inputs,
                     std::span<const MutableArrayView> outputs) {
  if (inputs.size() != graph.inputs().size()) {
    throw ShapeError("run.inputs", cat(graph.name(), " takes ", counted(graph.inputs().size(), "input"),
                                       ", got ", inputs.size()));
  }
  if (outputs.size() != graph.outputs().size()) {
    throw ShapeError("run.outputs", cat(graph.name(), " gives ", counted(graph.outputs().size(), "output"),
                                        ", got ", outputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& wanted = graph.type(graph.inputs()[i].value);
    if (!is_type(*inputs[i].type, wanted))
      throw ShapeError("run.inputs", cat(text_of_input(graph, i), " is ", wanted, ", got ", *inputs[i].type));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorType& wanted = graph.type(graph.outputs()[i].value);
    if (!is_type(*outputs[i].type, wanted))
      throw ShapeError("run.outputs",
                       cat(text_of_output(graph, i), " is ", wanted, ", got ", *outputs[i].type));
  }
}

bool overlap(const ArrayView& a, const ArrayView& b) {
  const auto *x = static_cast<const std::byte*>(a.data), *y = static_cast<const std::byte*>(b.data);
  return x < y + b.type->bytes() && y < x + a.type->bytes();
}

// No output may meet an input or another output, but an update its own variable. Sorted, so that a plan with
// thousands of arrays does not pay for all pairs.
void check_overlap(const Executable::Plan& plan, RunState& state, std::span<const ArrayView> inputs,
                   std::span<const MutableArrayView> outputs) {
  const Graph& graph = *plan.graph;
  auto& spans = state.spans;
  spans.clear();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto* data = static_cast<const std::byte*>(outputs[i].data);
    if (const size_t bytes = plan.output_bytes[i]) spans.emplace_back(data, data + bytes);
  }
  std::sort(spans.begin(), spans.end());
  bool clear = true;
  for (size_t i = 1; i < spans.size(); ++i) clear = clear && spans[i - 1].second <= spans[i].first;
  for (size_t i = 0; clear && i < inputs.size(); ++i) {
    const auto* data = static_cast<const std::byte*>(inputs[i].data);
    const size_t bytes = plan.input_bytes[i];
    const uint32_t donated_to = plan.donated_to[i];
    if (!bytes || (donated_to != kNone && outputs[donated_to].data == data)) continue;
    const auto after = std::upper_bound(spans.begin(), spans.end(), data,
                                        [](auto* p, auto& span) { return p < span.second; });
    clear = after == spans.end() || data + bytes <= after->first;
  }
  if (clear) return;
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (overlap(outputs[i], outputs[k]))
        throw ValueError("run.overlap",
                         cat(text_of_output(graph, i), " overlaps ", text_of_output(graph, k)));
    }
    for (size_t k = 0; k < inputs.size(); ++k) {
      const bool donated = plan.donated_to[k] == i && outputs[i].data == inputs[k].data;
      if (!donated && overlap(outputs[i], inputs[k]))
        throw ValueError("run.overlap", cat(text_of_output(graph, i), " overlaps ", text_of_input(graph, k)),
                         "give it an array of its own");
    }
  }
}

// Of a run that failed: until nobody reads or writes its memory. Others have begun them, too, or are told why
// they cannot.
void end_collectives(RunState& state, const RunContext& context) {
  for (; state.ended < state.begun; ++state.ended) {
    try {
      end_exchange(context, state.exchanges[state.ended]);
    } catch (const Error&) {
      // It says what the run's failure says, or comes of it. It is final, and those behind it raise it at
      // once.
    }
  }
}

}  // namespace

Executable::Executable(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}
Executable::~Executable() = default;
const Graph& Executable::graph() const { return *plan_->graph; }
size_t Executable::arena_bytes() const { return plan_->arena_bytes; }
size_t Executable::step_count() const { return plan_->steps.size(); }
bool Executable::begins_apart() const { return plan_->collectives > 0; }

size_t Executable::bytes() const {
  const Plan& plan = *plan_;
  size_t out = graph_bytes(*plan.graph) + plan.blocks.bytes() + plan.steps.size() * sizeof(Step) +
               plan.arena_bytes + plan.exchange_bytes + plan.constant_bytes + plan.large_constant_bytes;
  for (const auto& region : plan.regions) out += region->bytes();
  return out;
}

RunState::RunState(const Executable::Plan& plan, const RunContext& context)
    : arena(allocate_buffer(plan.arena_bytes)),
      communicator(context.communicator),
      slots(plan.slot_count),
      views(plan.max_operands),
      targets(plan.max_operands),
      in(plan.max_operands),
      out(plan.max_operands),
      regions(plan.regions.size()),
      exchanges(plan.collectives) {
  slots[kArenaSlot] = arena.get();
  slots[kConstantSlot] = plan.constants.get();
  if (plan.exchange_bytes) {
    exchange = communicator ? communicator->allocate(plan.exchange_bytes)
                            : std::shared_ptr<std::byte[]>(allocate_buffer(plan.exchange_bytes));
    slots[kExchangeSlot] = exchange.get();
  }
  for (size_t i = 0; i < plan.large_constants.size(); ++i)
    slots[kFirstFixedSlot + i] = plan.large_constants[i].get();
  spans.reserve(plan.graph->outputs().size());
}

void throw_failed(const Executable::Plan& plan, uint32_t step, const Failure& failure) {
  const Graph& graph = *plan.graph;
  const Node& node = graph.node(plan.step_nodes[step]);
  const CallScope at(graph.location(node));
  const NameScope scope(graph.scope(node));
  throw failed_run(*node.op, graph.location(node), failure,
                   cat(" in step ", step + 1, " of ", plan.steps.size(), " of \"", graph.name(), "\""));
}

namespace {

Frame frame_of(const Executable::Plan& plan, RunState& state, std::span<const ArrayView> inputs,
               std::span<const MutableArrayView> outputs, const RunContext& context) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    // Steps only read input slots, or write one that is an output too.
    state.slots[plan.first_input + i] = static_cast<std::byte*>(const_cast<void*>(inputs[i].data));
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    state.slots[plan.first_output + i] = static_cast<std::byte*>(outputs[i].data);
  return {state.slots.data(), state.views.data(), state.targets.data(),
          state.in.data(),    state.out.data(),   &state,
          &context,           &state.failure};
}

// Of a run that begins: one that an earlier run of the plan has left, or a new one.
std::unique_ptr<RunState> take_state(const Executable::Plan& plan, const RunContext& context) {
  std::unique_ptr<RunState> state = plan.states.take();
  const bool elsewhere = plan.exchanges && state && state->communicator != context.communicator;
  if (!state || elsewhere) state = std::make_unique<RunState>(plan, context);
  state->begun = state->ended = 0;
  return state;
}

// Literals of a run: views of all elements, and memory for outputs.
struct RunArrays {
  RunArrays(const Graph& graph, std::span<const Literal> inputs) {
    dense.reserve(inputs.size());
    for (const Literal& input : inputs) {
      dense.push_back(input.expanded());
      views.push_back(dense.back().view());
    }
    results.reserve(graph.outputs().size());
    for (const GraphOutput& output : graph.outputs()) {
      Buffer buffer = allocate_buffer(graph.type(output.value).bytes());
      results.emplace_back(graph.type(output.value), buffer);
      targets.push_back({&results.back().type(), buffer.get()});
    }
  }
  std::vector<Literal> dense, results;
  std::vector<ArrayView> views;
  std::vector<MutableArrayView> targets;
};

}  // namespace

void replay(const Executable::Plan& plan, RunState& state, std::span<const ArrayView> inputs,
            std::span<const MutableArrayView> outputs, const RunContext& context, RunEvents* events) {
  const Frame frame = frame_of(plan, state, inputs, outputs, context);
  // Of a loop's region once a round.
  state.begun = state.ended = 0;
  if (events) return replay_told(plan, frame, *events);
  if (!plan.fences.empty()) {
    return run_steps(plan, frame, [&](const Step& step, size_t) { step.run(step.block, frame); });
  }
  for (const Step& step : plan.steps) step.run(step.block, frame);
}

namespace {

void run_in(std::unique_ptr<RunState> state, const Executable::Plan& plan, std::span<const ArrayView> inputs,
            std::span<const MutableArrayView> outputs, const RunContext& context) {
  FloatEnvironment mode;
  if (plan.meets && context.communicator) context.communicator->begin_program(plan.graph->name());
  RunEvents* const profiler = Profiler::current();
  try {
    replay(plan, *state, inputs, outputs, context, profiler ? profiler : context.events);
  } catch (...) {
    end_collectives(*state, context);
    throw;
  }
  plan.states.give(std::move(state));
}

}  // namespace

void run_unchecked(const Executable& executable, std::span<const ArrayView> inputs,
                   std::span<const MutableArrayView> outputs, const RunContext& context) {
  const Executable::Plan& plan = executable.plan();
  run_in(take_state(plan, context), plan, inputs, outputs, context);
}

void run(const Executable& executable, std::span<const ArrayView> inputs,
         std::span<const MutableArrayView> outputs, const RunContext& context) {
  const Executable::Plan& plan = executable.plan();
  check_signature(*plan.graph, inputs, outputs);
  std::unique_ptr<RunState> state = take_state(plan, context);
  check_overlap(plan, *state, inputs, outputs);
  run_in(std::move(state), plan, inputs, outputs, context);
}

std::vector<Literal> run(const Executable& executable, std::span<const Literal> inputs,
                         const RunContext& context) {
  RunArrays arrays(executable.graph(), inputs);
  run(executable, arrays.views, arrays.targets, context);
  return std::move(arrays.results);
}

struct BegunRun::Impl {
  const Executable::Plan& plan;
  const RunContext& context;
  RunArrays arrays;
  std::unique_ptr<RunState> state;
  size_t next = 0;  // step

  // Up to before step `last`.
  void run_to(size_t last) {
    const Frame frame = frame_of(plan, *state, arrays.views, arrays.targets, context);
    const FloatEnvironment mode;
    try {
      run_steps(
          plan, frame, [&](const Step& step, size_t) { step.run(step.block, frame); }, next, last);
      next = last;
    } catch (...) {
      end_collectives(*state, context);
      state.reset();
      throw;
    }
  }
};

BegunRun::BegunRun(const Executable& executable, std::span<const Literal> inputs, const RunContext& context)
    : impl_(new Impl{executable.plan(), context, {executable.graph(), inputs}, nullptr}) {
  const Executable::Plan& plan = impl_->plan;
  check_signature(*plan.graph, impl_->arrays.views, impl_->arrays.targets);
  impl_->state = take_state(plan, context);
  size_t last = plan.steps.size();
  for (size_t i = 0; plan.collectives && i < last; ++i) {
    // Where one begins is of no unit.
    if (plan.step_units[i] != kNone && is_collective(*plan.graph->node(plan.step_nodes[i]).op)) last = i;
  }
  impl_->run_to(last);
}

BegunRun::~BegunRun() {
  if (impl_->state) end_collectives(*impl_->state, impl_->context);
}

std::vector<Literal> BegunRun::end() {
  impl_->run_to(impl_->plan.steps.size());
  impl_->plan.states.give(std::move(impl_->state));
  return std::move(impl_->arrays.results);
}

}  // namespace espalier
