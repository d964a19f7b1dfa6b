// Whole forward passes with their weights, for tests of exports.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace espalier {

struct ForwardPass {
  std::string name;
  std::function<std::shared_ptr<const Graph>(int64_t batch)> graph;
  std::function<std::vector<Literal>(int64_t batch)> arguments;
  std::map<std::string, Literal> variables;

  // Values of all inputs of graph(batch).
  std::vector<Literal> inputs(int64_t batch) const;
};

// mlp (relu, gelu, softmax), cnn ("same" and strided convolution, pooling, batch normalisation, dense),
// elementwise (every such op that ONNX
// has), pooling (windows with padding, averages), embedding (lookup, mean, tanh), layer_norm, attention
// (masked by causality, two heads). Fixed values.
std::vector<ForwardPass> forward_passes();

}  // namespace espalier
