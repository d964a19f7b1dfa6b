// Variables that change no more.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"

namespace espalier {

// The graph with these variables as constants; its other inputs stay. Raises ShapeError[bind.type] for a
// value of another type, UnsupportedError[bind.update] for a variable of these that the graph updates.
std::shared_ptr<Graph> bind_variables(const Graph& graph, const std::map<std::string, Literal>& values);

}  // namespace espalier
