#include "espalier/merging.h"

#include "base/format.h"
#include "espalier/array.h"

namespace espalier {
namespace {

void require_alike(const std::string& path, const TensorType& first, const TensorType& other, size_t i) {
  bool fits = first.rank() == other.rank();
  for (size_t axis = 0; fits && axis < first.rank(); ++axis) {
    const int64_t a = first.shape[axis], b = other.shape[axis];
    fits = a == b || a == 1 || b == 1;
  }
  if (fits) return;
  throw ShapeError("merge.shapes", cat("sizes must be equal or 1 on every axis of what \"", path,
                                       "\" takes: so far ", first, ", input ", i, " is ", other));
}

}  // namespace

Merge::Merge(Function function, size_t inputs, std::string name, DTypePolicy dtype, Location at)
    : Layer(std::move(name), dtype, at), function_(function), inputs_(inputs) {}

Tensors Merge::call_many(Inputs<Tensor> inputs) {
  if (inputs_ && inputs.size() != inputs_) {
    throw ValueError("layer.inputs", cat("layer \"", path(), "\" takes ", counted(inputs_, "tensor"),
                                         ", got ", inputs.size()));
  }
  Tensor out = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) {
    require_alike(path(), out.type(), inputs[i].type(), i);
    out = function_(out, inputs[i]);
  }
  return {out};
}

Add::Add(std::string name, DTypePolicy dtype, Location at) : Merge(add, 0, std::move(name), dtype, at) {}
Multiply::Multiply(std::string name, DTypePolicy dtype, Location at)
    : Merge(multiply, 0, std::move(name), dtype, at) {}
Maximum::Maximum(std::string name, DTypePolicy dtype, Location at)
    : Merge(maximum, 0, std::move(name), dtype, at) {}
Minimum::Minimum(std::string name, DTypePolicy dtype, Location at)
    : Merge(minimum, 0, std::move(name), dtype, at) {}
Subtract::Subtract(std::string name, DTypePolicy dtype, Location at)
    : Merge(subtract, 2, std::move(name), dtype, at) {}
Average::Average(std::string name, DTypePolicy dtype, Location at)
    : Merge(add, 0, std::move(name), dtype, at) {}

Tensors Average::call_many(Inputs<Tensor> inputs) {
  return {Merge::call_many(inputs)[0] / static_cast<int64_t>(inputs.size())};
}

Concatenate::Concatenate(ConcatenateOptions options, Location at)
    : Layer(options.name, options.dtype, at), axis_(options.axis) {}

Tensors Concatenate::call_many(Inputs<Tensor> inputs) {
  return {concat(Tensors(inputs.begin(), inputs.end()), axis_)};
}

}  // namespace espalier
