// State that functions rebind while they are traced: what variables are to ops with regions.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "espalier/tensor.h"

namespace espalier {

// A named value outside of graphs. `read` and `assign` act in the innermost scope of the caller.
class StateCell {
 public:
  virtual ~StateCell() = default;
  virtual const std::string& name() const = 0;
  virtual Tensor read() = 0;
  virtual void assign(const Tensor& value) = 0;
};
using StateCellPtr = std::shared_ptr<StateCell>;

// While it lives, what the sink's code assigns stays here, for the op that owns the region to hand out.
class StateScope {
 public:
  StateScope();
  ~StateScope();
  StateScope(const StateScope&) = delete;
  StateScope& operator=(const StateScope&) = delete;

  // The value of `cell` here, before anything assigns it.
  void bind(StateCellPtr cell, const Tensor& value) { values_.push_back({std::move(cell), value, false}); }
  // The cells that were assigned, in the order of first assignment or binding.
  std::vector<StateCellPtr> assigned() const;

  // The value of `cell` in the innermost scope that knows it; undefined where none does.
  static Tensor find(const StateCell& cell);
  // Rebinds `cell` in the scope of the current sink; false where there is none. Raises
  // StateError[variable.region] in a region that is not such a scope's, as that of a reducer.
  static bool assign(const StateCellPtr& cell, const Tensor& value);
  // Hides all scopes of this thread, or brings them back.
  static StateScope* exchange(StateScope* innermost);

 private:
  struct Binding {
    StateCellPtr cell;
    Tensor value;
    bool assigned;
  };
  Binding* binding(const StateCell& cell);
  StateScope* outer_;
  const void* sink_;
  std::vector<Binding> values_;
};

}  // namespace espalier
