#include "train/narrow_outputs.h"

#include "base/format.h"

namespace espalier {

const std::string& OutputLayers::of(const Tensor& tensor) const {
  static const std::string none;
  const auto it = given_.find(tensor.node().get());
  return it == given_.end() ? none : it->second.path;
}

void OutputLayers::on_end(std::span<const Variable>, std::span<const Tensor> outputs) {
  for (const Tensor& output : outputs) given_.try_emplace(output.node().get(), Given{output, open_.back()});
  open_.pop_back();
}

void NarrowOutputs::add(const Tensor& output, const OutputLayers& layers) {
  const DType dtype = output.dtype();
  if (told_ || (dtype != DType::kF16 && dtype != DType::kBF16)) return;
  dtype_ = dtype;
  layers_.insert(layers.of(output));
}

std::string NarrowOutputs::tell() {
  told_ = true;
  std::string names;
  for (const std::string& layer : layers_) names += cat(names.empty() ? "\"" : ", \"", layer, "\"");
  const bool several = layers_.size() > 1;
  return cat(several ? "layers " : "layer ", names, several ? " give" : " gives",
             " the outputs of the model in ", dtype_, ", so that its loss is of rounded numbers; make ",
             several ? "them" : "it", " with .dtype = \"float32\"");
}

}  // namespace espalier
