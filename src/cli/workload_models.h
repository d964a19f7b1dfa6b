// The models that workloads train, and the batches they train on.
#pragma once

#include <vector>

#include "espalier/model.h"

namespace espalier::cli {

struct WorkloadBatches {
  static constexpr int64_t kCount = 64, kImages = 64, kClasses = 10;
  std::vector<Tensor> x, y;  // kCount of each
};
// f32[kImages, example...], whose class follows from their first pixels.
WorkloadBatches image_batches(const Shape& example);
// i64[rows, context] for CharGptModel: the next character follows from the last.
WorkloadBatches text_batches();

// 784-128-10.
Sequential mlp_model(DTypePolicy dtype = {});
// Two convolutions, each with pooling, and a dense layer: of f32[batch, 28, 28, 1].
Sequential cnn_model(DTypePolicy dtype = {});

// A decoder-only transformer over characters, its attention written out: logits of ids [batch, kContext].
class CharGptModel : public Model {
 public:
  static constexpr int64_t kLayers = 4, kHeads = 4, kWidth = 128, kContext = 64, kVocabulary = 65, kRows = 12;
  static inline const Adam kAdam{.weight_decay = 0.01};
  CharGptModel() : Model("char_gpt") {}

 protected:
  void build(const TensorType& ids) override;
  Tensor call(const Tensor& ids) override;
};

}  // namespace espalier::cli
