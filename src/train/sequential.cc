#include "base/format.h"
#include "espalier/model.h"

namespace espalier {

Tensors Sequential::call_many(Inputs<Tensor> inputs) {
  if (layers_.empty()) throw StateError("sequential.empty", "the model has no layers", "add() some");
  Tensors values(inputs.begin(), inputs.end());
  for (const auto& layer : layers_) values = layer->apply(values);
  return values;
}

void Sequential::append(std::shared_ptr<Layer> layer, Location at) {
  const CallScope scope(at);
  if (!path().empty())
    throw StateError("sequential.add", cat("\"", path(), "\" has been called: its layers are settled"));
  layers_.push_back(std::move(layer));
}

}  // namespace espalier
