// A traced function under construction: its graph and the variables it touches.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "espalier/run_context.h"
#include "espalier/variable.h"
#include "ir/builder.h"
#include "ir/state.h"

namespace espalier {

// Whether nobody else holds this tensor's array, so that it may be overwritten. REQUIRES: it is concrete.
inline bool sole_owner(const Tensor& tensor) {
  const auto& node = tensor.node();
  return node.use_count() == 1 && node->owns_array();
}

// How many replicas run what this thread traces: as many as its innermost ReplicasScope says; without one, as
// in eager calls, those of the context.
int replicas_in(const RunContext& context);
class ReplicasScope {
 public:
  explicit ReplicasScope(int replicas);
  ~ReplicasScope();
  ReplicasScope(const ReplicasScope&) = delete;
  ReplicasScope& operator=(const ReplicasScope&) = delete;

 private:
  const int before_;
};

// One thing that traces depend on besides their arguments: the trainable flags of a layer or of a variable,
// the dtype policy. Thread-safe.
class Structure {
 public:
  using Changed = std::shared_ptr<std::atomic<bool>>;
  // Sets `changed` at the next bump.
  void tell(const Changed& changed) {
    const std::lock_guard lock(mutex_);
    std::erase_if(dependents_, [](const auto& dependent) { return dependent.expired(); });
    dependents_.push_back(changed);
  }
  void bump() {
    const std::lock_guard lock(mutex_);
    for (const auto& dependent : dependents_) {
      if (const Changed changed = dependent.lock()) changed->store(true, std::memory_order_relaxed);
    }
    dependents_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<std::atomic<bool>>> dependents_;
};
using StructurePtr = std::shared_ptr<Structure>;

// Whether all that a trace asked about is as it was. Copies are of one trace.
class Structures {
 public:
  void add(Structure& structure) { structure.tell(changed()); }
  void add(const RunContext& context) { context_ = context.id; }
  void add_replicas(int replicas) { replicas_ = replicas; }
  // All that the trace of another part of the same program asked about.
  void add(const Structures& other) {
    changed_.insert(changed_.end(), other.changed_.begin(), other.changed_.end());
    if (other.context_) context_ = other.context_;
    if (other.replicas_) replicas_ = other.replicas_;
  }
  const Structure::Changed& changed() const { return changed_.front(); }
  // Whether a trace in this context would find the same.
  bool hold(const RunContext& context) const {
    return !are_gone() && (!context_ || context_ == context.id) &&
           (!replicas_ || replicas_ == replicas_in(context));
  }
  // Whether they hold in no context, ever.
  bool are_gone() const {
    for (const Structure::Changed& changed : changed_) {
      if (changed->load(std::memory_order_relaxed)) return true;
    }
    return false;
  }

 private:
  std::vector<Structure::Changed> changed_{std::make_shared<std::atomic<bool>>(false)};  // one a trace
  uint64_t context_ = 0;  // whose generator draws; 0: none
  int replicas_ = 0;      // who run it; 0: any number
};

struct VariableState final : StateCell, std::enable_shared_from_this<VariableState> {
  std::string path;
  bool trainable = true;
  StructurePtr structure =
      std::make_shared<Structure>();  // of `trainable`; a layer's weights have the layer's
  bool autocast = false;              // Variable::read gives the dtype of an AutocastScope
  TensorType type;
  Tensor value;           // concrete
  bool updating = false;  // on a device, of which one program at a time may take the memory of `value`

  const std::string& name() const override { return path; }
  Tensor read() override;
  void assign(const Tensor& value) override;
  // `trainable`, which the traces of this thread depend on from now on.
  bool ask_trainable() const;
};
using VariablePtr = std::shared_ptr<VariableState>;

// Its value, while other threads may call functions on devices, which bring it there and update it.
Tensor value_beside_calls(const VariableState& variable);

// What a trace depends on that belongs to a thread and comes back: each bit is a mode of its owner, as
// training (the lowest) and the dtype of an AutocastScope (the highest byte).
uint64_t& trace_context();
constexpr uint64_t kTrainingMode = 1, kSomeRowsCountMode = 2;
inline bool trace_mode(uint64_t bit) { return trace_context() & bit; }
inline void set_trace_mode(uint64_t bit, bool on) {
  trace_context() = on ? trace_context() | bit : trace_context() & ~bit;
}

class Trace {
 public:
  // `again`: the function was traced before, so that it may not make variables now.
  Trace(std::string name, bool again);
  ~Trace();
  GraphBuilder& builder() { return builder_; }
  Tensor read(const VariablePtr& variable);
  void assign(const VariablePtr& variable, const Tensor& value);
  // Declares updates and ends; inputs are the declared arguments, then variables().
  std::shared_ptr<Graph> finish();
  const std::vector<VariablePtr>& variables() const { return variables_; }
  // The variables that outputs after the results update, in order.
  const std::vector<VariablePtr>& updated() const { return updated_; }
  // The innermost trace of this thread whose graph receives ops now; null in eager code.
  static Trace* current();
  // Raises StateError[variable.trace] when a function is traced again.
  static void require_first(const std::string& variable);
  // What all traces of this thread that have not ended, hidden ones too, depend on from now on.
  static void depend_on(const StructurePtr& structure);
  static void depend_on(const RunContext& context);
  // replicas_in() of the current context, which they depend on from now on.
  static int replicas();
  // Adds to `open` what says of each of them that it has changed.
  static void add_open(std::vector<Structure::Changed>& open);
  const Structures& structures() const { return structures_; }

 private:
  struct Binding {
    std::string path;
    Tensor input, value;
  };
  Binding& bind(const VariablePtr& variable);
  GraphBuilder builder_;
  std::unordered_map<VariableState*, Binding> bindings_;
  std::vector<VariablePtr> variables_, updated_;
  std::unordered_map<std::string, int> paths_;
  Structures structures_;
  std::unordered_set<const Structure*> known_;  // in structures_
  Trace *previous_, *outer_;
  bool again_before_;
};

// Told about every read of a variable on this thread.
class ReadObserver : public ThreadChain<ReadObserver> {
 public:
  virtual ~ReadObserver() = default;
  virtual void on_read(const VariablePtr& variable, const Tensor& value) = 0;
};

// Told about every assignment to a variable on this thread outside of traces and regions, before it is made.
class AssignObserver : public ThreadChain<AssignObserver> {
 public:
  virtual ~AssignObserver() = default;
  virtual void on_assign(const VariablePtr&, const Tensor& next) = 0;
};

// While it lives, variables that cast are read in `dtype`. The innermost one of a thread counts.
class AutocastScope {
 public:
  explicit AutocastScope(DType dtype);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  uint64_t before_;
};

// Ops run eagerly while it lives, even inside a trace.
class EagerScope {
 public:
  EagerScope();
  ~EagerScope();

 private:
  SinkScope sink_;
  Trace* suspended_;
  StateScope* hidden_;
};

// What changes a variable by eager ops, where that lies, as what is assigned goes there; symbolic values as
// they are.
Tensor beside(const VariableState& variable, const Tensor& value);

}  // namespace espalier
