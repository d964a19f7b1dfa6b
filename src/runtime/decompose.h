// Replaces composites that have no body of their own by their decompositions.
#pragma once

#include "ir/graph.h"

namespace espalier {

// Also in regions. The graph itself when it has none.
std::shared_ptr<const Graph> decompose_bodiless(std::shared_ptr<const Graph> graph);

}  // namespace espalier
