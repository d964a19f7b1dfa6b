#include "base/format.h"
#include "espalier/layers.h"
#include "espalier/ops.h"

namespace espalier {

Embedding::Embedding(EmbeddingOptions options, Location at)
    : Layer(options.name, options.dtype, at), options_(std::move(options)) {
  const CallScope scope(at);
  if (options_.input_dim < 1 || options_.output_dim < 1) {
    throw ValueError("embedding.size", cat("input_dim and output_dim must be positive, got ",
                                           options_.input_dim, " and ", options_.output_dim));
  }
}

void Embedding::build(const TensorType& input) {
  if (!is_integer(input.dtype)) throw DTypeError("embedding.ids", cat("ids must be integers, got ", input));
  add_weight("embeddings", {options_.input_dim, options_.output_dim}, options_.embeddings_initializer, true,
             false);
  regularize("embeddings", options_.embeddings_regularizer);
}

Tensor Embedding::call(const Tensor& ids) {
  return convert(take(weight("embeddings"), ids, 0), compute_dtype());
}

}  // namespace espalier
