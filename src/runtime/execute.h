// One call at once: what eager code runs on.
#pragma once

#include <string>
#include <vector>

#include "espalier/run_context.h"
#include "ir/sink.h"

namespace espalier {

// The results of a call on concrete tensors: by the op's fast kernel where it has one; through a plan when
// there is more inside (regions, a composite without a body of its own); by the reference body otherwise.
// Raises StateError[trace.ended] for a symbolic input, RunError[run.failed] where a fallible op failed.
std::vector<Tensor> execute(const Call& call, const RunContext& context);

// The call as a graph: an argument an input, a result an output.
GraphPtr graph_of(const Call& call, std::string name = "main");

}  // namespace espalier
