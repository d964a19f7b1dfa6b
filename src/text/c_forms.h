// Graphs in terms of what C has.
#pragma once

#include "ir/graph.h"

namespace espalier::c_text {

// The same values by ops that have a C form of their own: other composites become their decompositions,
// barriers vanish.
std::shared_ptr<Graph> with_c_forms(const Graph& graph);

// The graph with f32 in the place of f16 and bf16, which C99 does not have: what was rounded to them is not.
std::shared_ptr<Graph> without_halves(const Graph& graph);
Literal without_halves(const Literal& literal);

}  // namespace espalier::c_text
