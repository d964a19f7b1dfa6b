#include "ir/state.h"

#include "base/format.h"
#include "ir/sink.h"

namespace espalier {
namespace {

thread_local StateScope* innermost = nullptr;

}  // namespace

StateScope::StateScope() : outer_(innermost), sink_(&Sink::current()) { innermost = this; }
StateScope::~StateScope() { innermost = outer_; }
StateScope* StateScope::exchange(StateScope* scope) { return std::exchange(innermost, scope); }

StateScope::Binding* StateScope::binding(const StateCell& cell) {
  for (Binding& b : values_) {
    if (b.cell.get() == &cell) return &b;
  }
  return nullptr;
}

std::vector<StateCellPtr> StateScope::assigned() const {
  std::vector<StateCellPtr> out;
  for (const Binding& b : values_) {
    if (b.assigned) out.push_back(b.cell);
  }
  return out;
}

Tensor StateScope::find(const StateCell& cell) {
  for (StateScope* scope = innermost; scope; scope = scope->outer_) {
    if (const Binding* b = scope->binding(cell)) return b->value;
  }
  return {};
}

bool StateScope::assign(const StateCellPtr& cell, const Tensor& value) {
  if (!innermost) return false;
  if (innermost->sink_ != &Sink::current()) {
    throw StateError("variable.region",
                     cat("variable \"", cell->name(), "\" is assigned where no state can leave"),
                     "return the new value and assign it after the call");
  }
  Binding* b = innermost->binding(*cell);
  if (!b) b = &innermost->values_.emplace_back(Binding{cell, {}, false});
  b->value = value;
  b->assigned = true;
  return true;
}

}  // namespace espalier
