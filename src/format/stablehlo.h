// StableHLO for others: programs without our composites.
#pragma once

#include <string>

#include "ir/graph.h"

namespace espalier {

// The graph as a module of StableHLO's own ops, in generic form; its variables are arguments.
// bind_variables (passes/bind_variables.h) makes constants of them before.
std::string stablehlo_text(const Graph& graph);

}  // namespace espalier
