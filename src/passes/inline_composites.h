// Export to tools that know StableHLO alone.
#pragma once

#include "ir/graph.h"

namespace espalier {

// The same values by StableHLO's own ops: every composite, also in regions, becomes its decomposition.
std::shared_ptr<Graph> inline_composites(const Graph& graph);

}  // namespace espalier
