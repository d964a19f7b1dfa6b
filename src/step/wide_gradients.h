// Gradients of f32 variables that layers compute with in 16 bits.
#pragma once

#include "eager/traced_graph.h"

namespace espalier {

// A layer under "mixed_bfloat16" or "mixed_float16" computes with a narrow copy of its f32 variable. The
// gradient of the copy is a product, or a sum, over the rows of the batch: it is accumulated in f32, rounded
// to 16 bits and converted to f32 again. This takes that rounding out, which replicas would do of each part
// of a batch, and in float16 the overflow, too: dot_general and sums over axes give f32, through transposes
// and reshapes. What a step gives otherwise (forward pass, gradients of activations, of convolutions and of
// lookups) stays as it is. Behind add_gradients().
Rewrite widen_gradients();

}  // namespace espalier
