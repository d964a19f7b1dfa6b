// Arrays of a program's inputs that its outputs may take.
#pragma once

#include <cstddef>
#include <vector>

namespace espalier {

class Graph;

// Input `input` of a program may lie where its output `output` will: an old value and its update.
struct Alias {
  size_t input = 0, output = 0;
};

// Each variable's old value and its new one, of equal types, by their names in the graph.
std::vector<Alias> updates_in_place(const Graph& graph);

}  // namespace espalier
