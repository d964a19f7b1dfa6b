// Rewrites by which compile() begins. As passes do they keep every bit, the signature and the order; other
// than those they are for plans of this CPU alone: what is exported, or compiled for a device, is the graph
// before.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace espalier {

struct Lowering {
  const char* name;
  const char* doc;
  bool for_kernels;  // not where every op runs its reference body
  // The graph itself when there is nothing to rewrite. Regions are rewritten, too.
  std::shared_ptr<const Graph> (*run)(std::shared_ptr<const Graph> graph);
};

// In the order in which they run.
std::span<const Lowering> all_lowerings();
std::shared_ptr<const Graph> lower_graph(std::shared_ptr<const Graph> graph, bool fast_kernels);

// What a graph goes through before this CPU plans it, by name: passes (passes/pass.h), then lowerings.
std::vector<std::string> passes_and_lowerings();
// The graph after the one of them called `last`. Raises ValueError[pass.name] for an unknown name.
std::shared_ptr<const Graph> graph_after(std::shared_ptr<const Graph> graph, const std::string& last);

}  // namespace espalier
