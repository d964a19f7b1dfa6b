#include "base/format.h"
#include "espalier/layers.h"
#include "espalier/ops.h"

namespace espalier {

Embedding::Embedding(EmbeddingOptions options) : Layer(options.name), options_(std::move(options)) {
  if (options_.input_dim < 1 || options_.output_dim < 1) {
    throw ValueError("embedding.size", cat("input_dim and output_dim must be positive, got ",
                                           options_.input_dim, " and ", options_.output_dim));
  }
}

void Embedding::build(const TensorType& input) {
  if (!is_integer(input.dtype)) throw DTypeError("embedding.ids", cat("ids must be integers, got ", input));
  weights_.push_back(add_weight("embeddings", {options_.input_dim, options_.output_dim},
                                initializer(options_.embeddings_initializer)));
}

Tensor Embedding::call(const Tensor& ids) { return take(weights_[0], ids, 0); }

}  // namespace espalier
