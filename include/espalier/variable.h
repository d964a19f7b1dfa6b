// Variables: the state of a program.
#pragma once

#include <memory>
#include <string>

#include "espalier/tensor.h"

namespace espalier {

struct VariableState;

struct VariableOptions {
  std::string name = "variable";  // the last part of the path; enclosing NameScopes come before it
  bool trainable = true;          // GradientTape watches it by itself, optimizers update it
};

// A named tensor that can be assigned. dtype and shape never change. Copies are handles on the same variable.
// While a function is traced, `read` gives a symbolic value, `assign` rebinds the name, and a later `read`
// sees the new value; the variable itself changes when the traced function has run.
class Variable {
 public:
  // Raises StateError when `initial` is symbolic: create variables outside of traced functions, or in a
  // layer.
  explicit Variable(Operand initial, VariableOptions options = {});

  Tensor read() const;
  operator Tensor() const { return read(); }
  // Raises ShapeError or DTypeError when the value has another type.
  void assign(Operand value);
  void assign_add(Operand delta);
  void assign_sub(Operand delta);

  const std::string& path() const;
  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  bool trainable() const;
  void set_trainable(bool trainable);
  const std::shared_ptr<VariableState>& state() const { return state_; }
  explicit Variable(std::shared_ptr<VariableState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<VariableState> state_;
};

}  // namespace espalier
