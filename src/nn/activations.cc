#include "base/format.h"
#include "espalier/layers.h"
#include "espalier/ops.h"

namespace espalier {

std::function<Tensor(const Tensor&)> activation(const std::string& name) {
  if (name == "linear") return [](const Tensor& x) { return x; };
  if (name == "relu") return [](const Tensor& x) { return maximum(x, 0); };
  if (name == "softmax") return [](const Tensor& x) { return softmax(x); };
  throw_unknown("activation.name", "activation", name, {"linear", "relu", "softmax"});
}

}  // namespace espalier
