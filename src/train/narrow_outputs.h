// Outputs of a model that a layer gives in 16 bits.
#pragma once

#include <set>
#include <string>
#include <unordered_map>

#include "nn/layer_observer.h"

namespace espalier {

// Which layer gave a tensor: sees the calls of this thread while it lives.
class OutputLayers final : public LayerObserver {
 public:
  // Of several that gave this tensor the innermost; empty for none.
  const std::string& of(const Tensor& tensor) const;

 private:
  struct Given {
    Tensor tensor;  // kept, so that no other takes its address
    std::string path;
  };
  void on_begin(const std::string& path) override { open_.push_back(path); }
  void on_end(std::span<const Variable> own, std::span<const Tensor> outputs) override;

  std::vector<std::string> open_;
  std::unordered_map<const TensorNode*, Given> given_;
};

// What is to be said of them, once a compile().
class NarrowOutputs {
 public:
  void add(const Tensor& output, const OutputLayers& layers);
  bool untold() const { return !told_ && !layers_.empty(); }
  // "layer \"model/dense_1\" gives ... in f16: ..."; told from then on.
  std::string tell();

 private:
  std::set<std::string> layers_;
  DType dtype_ = DType::kF32;
  bool told_ = false;
};

}  // namespace espalier
