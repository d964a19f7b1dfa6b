// Programs as text: StableHLO in MLIR's form.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/device.h"
#include "ir/graph.h"

namespace espalier {

// The graph of a module: @main, or its only public function. Calls are inlined, regions that are a named
// reducer become that reducer, composites of ours become one node. `file` names the text in later messages.
// Raises FormatError with line and column, also for what is not supported.
std::shared_ptr<Graph> parse_program(std::string_view source, std::string_view file = "program");

// What a compiler is told beside the program; readers skip it.
struct PrintOptions {
  // An input says, as XLA reads it (tf.aliasing_output), that its memory may become an output's.
  std::span<const Alias> aliases = {};
  // Of products and convolutions of floats: "HIGHEST", "HIGH" or "DEFAULT"; "" says none.
  std::string_view precision = "";
};
// The graph as a module in generic form; parse_program gives an equal graph back. Linear in the graph.
std::string print_program(const Graph& graph, const PrintOptions& options = {});

// The graph in Graphviz's language.
std::string to_dot(const Graph& graph);

}  // namespace espalier
