// Elementwise ops as C expressions.
#pragma once

#include <set>
#include <span>
#include <string>

#include "ir/graph.h"

namespace espalier::c_text {

// Whether the op has an expression for some dtype.
bool has_expression(const OpDef& op);

// The expression of `node` on operands that are names, elements or numbers. Adds the functions that it calls.
// Raises UnsupportedError[c.dtype] for a dtype it has none for.
std::string expression(const Graph& graph, const Node& node, std::span<const std::string> operands,
                       std::set<std::string>& functions);

}  // namespace espalier::c_text
