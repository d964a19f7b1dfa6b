// Draws of a graph that is computed anew where the rows are a part of a batch, as that of a saved model.
#pragma once

#include <optional>
#include <span>

#include "ir/graph.h"

namespace espalier {

// What a node that draws gives for the place in the batch that its rows have now: as its function, called
// here, and other than a copy of the node, which knows no place. Nothing for other nodes, and for those that
// have a place of their own.
std::optional<Tensor> drawn_again(const Node& node, std::span<const Tensor> inputs);
std::optional<Tensor> random_bits_again(const Node& node, std::span<const Tensor> inputs);
std::optional<Tensor> dropout_again(const Node& node, std::span<const Tensor> inputs);

// Whether a node of the graph draws, or one of its regions.
bool draws(const Graph& graph);

}  // namespace espalier
