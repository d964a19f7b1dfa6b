#include "espalier/variable.h"

#include <algorithm>

#include "eager/trace.h"
#include "espalier/ops.h"
#include "espalier/run_context.h"
#include "ir/device.h"

namespace espalier {
namespace {

thread_local Trace* current_trace = nullptr;
thread_local Trace* innermost_trace = nullptr;  // an EagerScope leaves it
thread_local bool tracing_again = false;
thread_local uint64_t context = 0;
thread_local int replicas = 0;      // of the innermost ReplicasScope; 0: there is none
constexpr int kAutocastShift = 56;  // of trace_context(): the dtype of an AutocastScope and 1, or 0

void check_assignable(const VariableState& variable, const Tensor& value) {
  const TensorType& type = value.type();
  if (type.dtype != variable.type.dtype) {
    throw DTypeError("variable.dtype",
                     cat("variable \"", variable.path, "\" is ", variable.type, ", the value is ", type),
                     "spell the cast: convert(value, dtype)");
  }
  if (type.shape != variable.type.shape) {
    throw ShapeError("variable.shape",
                     cat("variable \"", variable.path, "\" is ", variable.type, ", the value is ", type));
  }
}

}  // namespace

Tensor beside(const VariableState& variable, const Tensor& value) {
  // A trace looks at no value: another thread may be writing this one.
  if (Trace::current() || !value.concrete() || value.node()->remote()) return value;
  const RemoteArrayPtr& now = variable.value.node()->remote();
  if (!now) return value;
  return make_remote(value.node()->literal(), now->device());
}

uint64_t& trace_context() { return context; }

int replicas_in(const RunContext& run) { return replicas ? replicas : run.world; }
ReplicasScope::ReplicasScope(int own) : before_(std::exchange(replicas, own)) {}
ReplicasScope::~ReplicasScope() { replicas = before_; }

Trace::Trace(std::string name, bool again)
    : builder_(std::move(name)),
      previous_(current_trace),
      outer_(std::exchange(innermost_trace, this)),
      again_before_(std::exchange(tracing_again, tracing_again || again)) {
  current_trace = this;
}
Trace::~Trace() {
  current_trace = previous_;
  innermost_trace = outer_;
  tracing_again = again_before_;
}
void Trace::require_first(const std::string& variable) {
  if (!tracing_again) return;
  throw StateError("variable.trace",
                   cat("variable \"", variable, "\" is made while a function is traced again"),
                   "make it outside of the function, or once in a layer");
}
Trace* Trace::current() { return current_trace; }
void Trace::depend_on(const StructurePtr& structure) {
  for (Trace* trace = innermost_trace; trace; trace = trace->outer_) {
    if (trace->known_.insert(structure.get()).second) trace->structures_.add(*structure);
  }
}
void Trace::depend_on(const RunContext& context) {
  for (Trace* trace = innermost_trace; trace; trace = trace->outer_) trace->structures_.add(context);
}
int Trace::replicas() {
  const int out = replicas_in(RunContext::current());
  for (Trace* trace = innermost_trace; trace; trace = trace->outer_) trace->structures_.add_replicas(out);
  return out;
}
void Trace::add_open(std::vector<Structure::Changed>& open) {
  for (Trace* trace = innermost_trace; trace; trace = trace->outer_) {
    const Structure::Changed& changed = trace->structures_.changed();
    if (std::ranges::find(open, changed) == open.end()) open.push_back(changed);
  }
}

Trace::Binding& Trace::bind(const VariablePtr& variable) {
  const auto [it, added] = bindings_.try_emplace(variable.get());
  if (added) {
    std::string path = variable->path;
    if (const int copies = paths_[path]++) path += cat("#", copies + 1);
    const Tensor input = builder_.input(InputKind::kVariable, path, variable->type);
    it->second = {path, input, input};
    variables_.push_back(variable);
  }
  return it->second;
}

Tensor Trace::read(const VariablePtr& variable) { return bind(variable).value; }

void Trace::assign(const VariablePtr& variable, const Tensor& value) {
  // A foreign or outer tensor must be known to this graph now, so that the error names the user's line.
  bind(variable).value = builder_.tensor_of(builder_.value_of(value));
}

std::shared_ptr<Graph> Trace::finish() {
  for (const VariablePtr& variable : variables_) {
    const Binding& binding = bindings_.at(variable.get());
    if (builder_.value_of(binding.value) == builder_.value_of(binding.input)) continue;
    builder_.output(OutputKind::kUpdate, binding.path, binding.value);
    updated_.push_back(variable);
  }
  return builder_.finish();
}

AutocastScope::AutocastScope(DType dtype) : before_(context) {
  constexpr uint64_t kOthers = (uint64_t{1} << kAutocastShift) - 1;
  context = (context & kOthers) | (static_cast<uint64_t>(dtype) + 1) << kAutocastShift;
}
AutocastScope::~AutocastScope() { context = before_; }

EagerScope::EagerScope()
    : sink_(eager_sink()),
      suspended_(std::exchange(current_trace, nullptr)),
      hidden_(StateScope::exchange(nullptr)) {}
EagerScope::~EagerScope() {
  current_trace = suspended_;
  StateScope::exchange(hidden_);
}

bool VariableState::ask_trainable() const {
  Trace::depend_on(structure);
  return trainable;
}

Tensor VariableState::read() {
  if (Tensor bound = StateScope::find(*this); bound.defined()) return bound;
  Trace* trace = Trace::current();
  const Tensor now = trace ? trace->read(shared_from_this()) : value;
  ReadObserver::each([&](ReadObserver& observer) { observer.on_read(shared_from_this(), now); });
  now.node()->keep();
  return now;
}

void VariableState::assign(const Tensor& next) {
  check_assignable(*this, next);
  if (StateScope::assign(shared_from_this(), next)) return;
  Trace* trace = Trace::current();
  const Sink& home = trace ? static_cast<const Sink&>(trace->builder()) : eager_sink();
  if (&Sink::current() != &home) {
    throw StateError("variable.region", cat("variable \"", path, "\" is assigned where no state can leave"),
                     "return the new value and assign it after the call");
  }
  if (trace) {
    trace->assign(shared_from_this(), next);
  } else {
    AssignObserver::each([&](AssignObserver& observer) { observer.on_assign(shared_from_this(), next); });
    // A node of its own: two variables that were assigned one tensor stay two sources for a tape.
    if (const RemoteArrayPtr& remote = next.node()->remote()) {
      value = make_remote(remote);
    } else {
      // It stays where it is.
      const RemoteArrayPtr& now = value.node()->remote();
      value = now ? make_remote(next.node()->literal(), now->device()) : make_concrete(next.node()->dense());
    }
  }
}

Variable::Variable(Operand initial, VariableOptions options) {
  CallScope scope(initial.at());
  Trace::require_first(options.name);
  const Tensor& value = initial.tensor();
  if (!value.concrete()) {
    throw StateError("variable.traced",
                     cat("variable \"", options.name, "\" is created from a symbolic tensor"),
                     "create variables outside of the traced function");
  }
  state_ = std::make_shared<VariableState>();
  state_->path = NameScope::current().empty() ? options.name : cat(NameScope::current(), "/", options.name);
  state_->trainable = options.trainable;
  state_->type = value.type();
  Device* const device = RunContext::current().device;
  const RemoteArrayPtr& remote = value.node()->remote();
  if (remote && (!device || &remote->device() == device))
    state_->value = make_remote(remote);
  else
    state_->value =
        device ? make_remote(value.node()->literal(), *device) : make_concrete(value.node()->dense());
}

Tensor Variable::read() const {
  const Tensor value = state_->read();
  const uint64_t cast = trace_context() >> kAutocastShift;
  if (!cast || !state_->autocast || !is_float(value.dtype())) return value;
  return convert(value, static_cast<DType>(cast - 1));
}

void Variable::assign(Operand value) {
  CallScope scope(value.at());
  state_->assign(value.as(state_->type.dtype));
}

void Variable::assign_add(Operand delta) {
  CallScope scope(delta.at());
  assign(add(state_->read(), beside(*state_, delta.as(state_->type.dtype))));
}
void Variable::assign_sub(Operand delta) {
  CallScope scope(delta.at());
  assign(subtract(state_->read(), beside(*state_, delta.as(state_->type.dtype))));
}

const std::string& Variable::path() const { return state_->path; }
const TensorType& Variable::type() const { return state_->type; }
bool Variable::trainable() const { return state_->ask_trainable(); }
void Variable::set_trainable(bool trainable) {
  if (state_->trainable != trainable) state_->structure->bump();
  state_->trainable = trainable;
}

}  // namespace espalier
