// Replaces composites that have no body of their own by their decompositions.
#pragma once

#include "ir/graph.h"

namespace espalier {

// The graph itself when it has none. Regions are left as they are: each becomes a plan of its own.
std::shared_ptr<const Graph> decompose_bodiless(std::shared_ptr<const Graph> graph);

}  // namespace espalier
