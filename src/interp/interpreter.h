// The reference interpreter: runs reference bodies, node by node. It defines what every op means.
#pragma once

#include "espalier/run_context.h"
#include "ir/graph.h"

namespace espalier {

// Values of the graph's outputs for values of its inputs. Raises ShapeError[run.inputs] when inputs do not
// match the signature, RunError[run.failed] where a fallible op failed. Frees each intermediate after its
// last use; thread-safe.
std::vector<Literal> interpret(const Graph& graph, std::span<const Literal> inputs,
                               const RunContext& context);

// inputs[replica][partition]: what one process of a grid takes, or gives.
using GridValues = std::vector<std::vector<std::vector<Literal>>>;

// What collectives mean: the graph on all processes of a grid at once, each on a thread of its own. Raises
// ShapeError[grid.shape] unless all replicas have equally many partitions, one at least, and what interpret()
// raises in the first process that fails by itself; RunError[run.failed] where processes wait for each other
// in vain.
GridValues interpret_grid(const Graph& graph, const GridValues& inputs);

// One call on concrete arrays.
std::vector<Literal> evaluate(const Call& call, const RunContext& context);

}  // namespace espalier
