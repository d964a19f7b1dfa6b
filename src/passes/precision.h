// Mixed precision: which calls compute in a 16-bit type, decided by four colours.
#pragma once

#include "passes/pass.h"

namespace espalier {

// What became of one node of the old graph.
enum class Precision : uint8_t { kUntouched, kHigh, kLow };

struct MixedPrecision {
  std::shared_ptr<Graph> graph;
  std::vector<Precision> decisions;  // per node of the old graph
};

// Rewrites f32 calls to `low` (bf16 or f16) by the colours of their ops (OpDef::color), as TensorFlow's
// auto_mixed_precision does: kAllow goes low; kDeny stays f32, and so does what lies between two denied
// calls; kInfer and kClear go low between two low calls, kClear also beside one. Signature, variables and
// results stay f32; each value is converted once. Calls with regions and composites of several results stay
// f32.
MixedPrecision mixed_precision(const Graph& graph, DType low);

}  // namespace espalier
