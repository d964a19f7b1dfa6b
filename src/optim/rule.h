// What an optimizer is made of: a learning rate, a step count, and a rule with slot variables per trained
// variable.
#pragma once

#include <map>

#include "base/format.h"
#include "eager/trace.h"
#include "espalier/ops.h"
#include "espalier/optimizers.h"

namespace espalier {

struct Optimizer::Rule {
  Rule(std::string name, double learning_rate);
  virtual ~Rule() = default;
  // Assigns the new value of `variable` and of its slots.
  virtual void update(const Variable& variable, const Tensor& gradient) = 0;

  // Raises ValueError[<rule>.<option>] unless `holds`.
  void require(bool holds, const char* option, const char* must, double value) const;
  // The slot `name` of `variable`: zeros of its type at first.
  Variable slot(const std::string& name, const Variable& variable);

  std::string name;
  Variable learning_rate;  // f32[]
  Variable step;           // i64[]: updates made
  std::vector<Variable> slots;
  std::map<std::pair<const VariableState*, std::string>, size_t> slot_index;
  std::vector<Variable> owners;  // keeps the variables that slots belong to alive
};

}  // namespace espalier
