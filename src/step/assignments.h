// Assignments that are taken back.
#pragma once

#include <unordered_map>

#include "eager/trace.h"

namespace espalier {

// When it ends, variables that eager code of this thread has assigned meanwhile have their old values; the
// new ones after keep().
class Assignments : AssignObserver {
 public:
  ~Assignments() override {
    for (const auto& [variable, value] : before_) variable->value = value;
  }
  void keep() { before_.clear(); }
  // Of these variables alone.
  void keep(const std::vector<Variable>& variables) {
    for (const Variable& variable : variables) before_.erase(variable.state());
  }

 private:
  void on_assign(const VariablePtr& variable, const Tensor&) override {
    before_.try_emplace(variable, variable->value);
  }

  std::unordered_map<VariablePtr, Tensor> before_;
};

}  // namespace espalier
