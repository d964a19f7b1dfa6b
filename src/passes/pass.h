// Rewrites of graphs: one pass a file, each Graph -> Graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/builder.h"

namespace espalier {

// Keeps values bit for bit, the signature, and the order of what it keeps.
struct Pass {
  const char* name;
  const char* doc;
  std::shared_ptr<Graph> (*run)(const Graph& graph);
};

extern const Pass pass_dce;       // drops nodes that no output needs
extern const Pass pass_cse;       // computes equal calls once
extern const Pass pass_fold;      // evaluates small calls on constants
extern const Pass pass_simplify;  // algebraic identities that hold bit for bit
extern const Pass pass_swap_dot;  // transpose(dot(a, b)) is dot(b, a)

// In the order in which optimize() runs them.
std::span<const Pass* const> all_passes();

// Which passes run. Results are the same bits for every choice.
struct PassOptions {
  std::vector<std::string> off = {};
  // The pass to end behind; empty: all run.
  std::string last = {};
  // Verify the graph after each pass; always in checked builds.
  bool verify = false;
};
// Runs the passes that are on. Raises ValueError[pass.name] for an unknown name.
std::shared_ptr<const Graph> optimize(std::shared_ptr<const Graph> graph, const PassOptions& options = {});

// The same node with each region rewritten by `run`.
std::vector<GraphPtr> rewrite_regions(const Graph& graph, const Node& node,
                                      std::shared_ptr<Graph> (*run)(const Graph&));

// The literal of a constant node that produces `value`; null otherwise.
const Literal* constant_of(const Graph& graph, ValueId value);

}  // namespace espalier
