// What a layer would give.
#pragma once

#include <span>
#include <vector>

#include "espalier/layers.h"

namespace espalier {

constexpr int64_t kInferredRows = 32;

// The types of what `layer` gives for tensors of these types, batches of kInferredRows, from a call without
// numbers; what that builds is forgotten. Empty when it cannot be called so, as where it looks at numbers,
// and when a user's code refuses them, which may be made for another size of batch. Raises what layers of the
// library say of types that fit no batch: ShapeError, DTypeError, ValueError[layer.inputs].
std::vector<TensorType> infer_outputs(Layer& layer, std::span<const TensorType> inputs);

}  // namespace espalier
