// What differs between the replicas that run a graph.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace espalier {

// By output of a graph: whether replicas, whose arguments differ and whose variables do not, have other
// values of it. Through branches and loops, too. Raises ValueError[strategy.control] for a collective that
// some replicas would call and others not, or more often: one in a branch, or a loop, that is chosen by what
// differs.
std::vector<bool> outputs_that_differ(const Graph& graph);

// Whether all replicas have the same from it, whatever each gives.
bool makes_equal(const Node& node);

}  // namespace espalier
