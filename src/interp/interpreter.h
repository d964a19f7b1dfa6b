// The reference interpreter: runs reference bodies, node by node. It defines what every op means.
#pragma once

#include "espalier/run_context.h"
#include "ir/graph.h"

namespace espalier {

// Values of the graph's outputs for values of its inputs. Raises ShapeError[run.inputs] when inputs do not
// match the signature, RunError[run.failed] where a fallible op failed. Frees each intermediate after its
// last use; thread-safe.
std::vector<Literal> interpret(const Graph& graph, std::span<const Literal> inputs,
                               const RunContext& context = RunContext::current());

// One call on concrete arrays.
std::vector<Literal> evaluate(const Call& call, const RunContext& context = RunContext::current());

}  // namespace espalier
