#include "base/format.h"
#include "espalier/model.h"
#include "espalier/ops.h"

namespace espalier {

Loss SparseCategoricalCrossentropy(CrossentropyOptions options) {
  return {"sparse_categorical_crossentropy",
          [options](const Tensor& labels, const Tensor& outputs) {
            Shape expected = outputs.shape();
            if (!expected.empty()) expected.erase(expected.size() - 1);
            if (is_float(labels.dtype()) || outputs.rank() < 2 || labels.shape() != expected) {
              throw ShapeError(
                  "sparse_categorical_crossentropy.labels",
                  cat("labels must be integers of the outputs' shape without its last axis: labels ",
                      labels.type(), ", outputs ", outputs.type()));
            }
            return softmax_cross_entropy(options.from_logits ? outputs : log(outputs), labels);
          },
          true};
}

}  // namespace espalier
