// StableHLO for others: programs without our composites.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"

namespace espalier {

// The variables of the graph as constants; other inputs stay. Raises ValueError[export.variable] for a
// variable without a value of its type.
std::shared_ptr<Graph> bind_variables(const Graph& graph, const std::map<std::string, Literal>& variables);

// The graph as a module of StableHLO's own ops, in generic form; its variables are arguments.
std::string stablehlo_text(const Graph& graph);

}  // namespace espalier
