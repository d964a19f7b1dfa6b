// Export to tools that know StableHLO alone.
#pragma once

#include <functional>

#include "ir/graph.h"

namespace espalier {

// The same values by StableHLO's own ops: every composite, also in regions, becomes its decomposition.
std::shared_ptr<Graph> inline_composites(const Graph& graph);
// Those outside of regions for which `keep` holds stay, also where a decomposition calls them.
std::shared_ptr<Graph> inline_composites(const Graph& graph,
                                         const std::function<bool(const Graph&, const Node&)>& keep);

}  // namespace espalier
