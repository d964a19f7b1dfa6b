// Whole training steps as graphs, for tests that hold machines against each other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace espalier {

struct StepProgram {
  std::string name;
  std::shared_ptr<const Graph> graph;
  std::vector<Literal> inputs;
  double tolerance = 2e-5;  // between machines that add in different orders, relative to the largest element
};

// mlp (dense, dropout, Adam), cnn (convolution, batch normalisation, pooling, momentum), embedding (lookup,
// softmax loss, Adam), mixed (convolution, batch normalisation, dense layers and Adam under mixed_bfloat16).
// Small, with fixed values.
std::vector<StepProgram> train_steps();
// 256 rows through dense layers of 784-512-10 and Adam: work that the thread pool shares out.
StepProgram large_train_step();

}  // namespace espalier
