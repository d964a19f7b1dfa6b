// Layers that make one tensor of several: Add()({a, b}).
#pragma once

#include <string>

#include "espalier/layers.h"

namespace espalier {

// Combines tensors from left to right, element by element. Their sizes are equal or 1 on every axis, where a
// size of 1 repeats. Raises ShapeError[merge.shapes] otherwise, ValueError[layer.inputs] for a number of
// tensors that the layer does not take.
class Merge : public Layer {
 public:
  using Function = Tensor (*)(Operand a, Operand b);

 protected:
  // `inputs`: how many it takes, 0 for any number from 1.
  Merge(Function function, size_t inputs, std::string name, DTypePolicy dtype, Location at);
  Tensors call_many(Inputs<Tensor> inputs) override;

 private:
  Function function_;
  size_t inputs_;
};

class Add : public Merge {
 public:
  explicit Add(std::string name = "add", DTypePolicy dtype = {}, Location at = Location::here());
};
class Multiply : public Merge {
 public:
  explicit Multiply(std::string name = "multiply", DTypePolicy dtype = {}, Location at = Location::here());
};
class Maximum : public Merge {
 public:
  explicit Maximum(std::string name = "maximum", DTypePolicy dtype = {}, Location at = Location::here());
};
class Minimum : public Merge {
 public:
  explicit Minimum(std::string name = "minimum", DTypePolicy dtype = {}, Location at = Location::here());
};
// Of two tensors: the first without the second.
class Subtract : public Merge {
 public:
  explicit Subtract(std::string name = "subtract", DTypePolicy dtype = {}, Location at = Location::here());
};
// The sum divided by the number of tensors.
class Average : public Merge {
 public:
  explicit Average(std::string name = "average", DTypePolicy dtype = {}, Location at = Location::here());

 protected:
  Tensors call_many(Inputs<Tensor> inputs) override;
};

struct ConcatenateOptions {
  int64_t axis = -1;
  std::string name = "concatenate";
  DTypePolicy dtype = {};
};
// Tensors that agree in all axes but one, one after the other. Raises as concatenate of ops.h.
class Concatenate : public Layer {
 public:
  explicit Concatenate(ConcatenateOptions options = {}, Location at = Location::here());
  explicit Concatenate(NoOptions, Location at = Location::here()) : Concatenate(ConcatenateOptions(), at) {}

 protected:
  Tensors call_many(Inputs<Tensor> inputs) override;

 private:
  int64_t axis_;
};

}  // namespace espalier
