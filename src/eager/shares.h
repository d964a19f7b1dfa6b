// Which of several replicas makes which new values, where all of them could.
#pragma once

#include <vector>

#include "eager/traced_graph.h"

namespace espalier {

// Per update of `program`, in order, the replica of `replicas` that makes it. Updates that share large values
// behind the collectives stay together, and each replica has about as many bytes to make; those that come
// from before them are replica 0's.
std::vector<size_t> share_updates(const TracedGraph& program, size_t replicas);

// The program that makes these updates alone, by their numbers.
TracedGraph with_updates(const TracedGraph& program, const std::vector<size_t>& updates);

}  // namespace espalier
