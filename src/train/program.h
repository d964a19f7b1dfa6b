// What a model computes, as a graph, for the folders it is saved in.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model.h"
#include "ir/graph.h"
#include "text/template.h"

namespace espalier {

// One forward pass: argument x, result y, the variables it reads and their new values.
struct TracedModel {
  std::shared_ptr<const Graph> graph;
  std::vector<std::pair<std::string, Variable>> variables;  // with their names in the graph
};
// REQUIRES: the model is built; `row` is the type of one row of inputs.
TracedModel trace_model(Model& model, const TensorType& row, int64_t batch, bool training);

// A pass for any batch size, or for one.
struct ModelProgram {
  ProgramTemplate text;
  int64_t fixed_batch = 0;  // 0: any
  std::vector<std::pair<std::string, Variable>> variables;
};
// For any batch size when the traces at two of them tell how it is at a third, else for `batch`.
ModelProgram model_program(Model& model, const TensorType& row, int64_t batch, bool training);

}  // namespace espalier
