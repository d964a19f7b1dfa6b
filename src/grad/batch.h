// Batching: the computation of one example becomes that of many.
#pragma once

#include "ir/graph.h"

namespace espalier {

struct Vectorized {
  std::vector<Tensor> outputs;
  std::vector<bool> batched;  // whether an output has the leading axis of examples
};

// Computes `graph` in the current sink for `size` examples at once. A batched input has an extra leading axis
// of `size`; the others are shared by all examples, and what depends on them alone is computed once. Raises
// UnsupportedError[<op>.batch] for a call on the way that has neither a batching rule nor a decomposition.
Vectorized vectorize(const Graph& graph, std::span<const Tensor> inputs, const std::vector<bool>& batched,
                     int64_t size);

}  // namespace espalier
