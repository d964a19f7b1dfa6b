// What a model computes, as a graph, for the folders it is saved in.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model.h"
#include "ir/graph.h"
#include "text/template.h"

namespace espalier {

// One forward pass: arguments x0, x1, ..., results y0, y1, ..., the variables it reads and their new values.
struct TracedModel {
  std::shared_ptr<const Graph> graph;
  std::vector<std::pair<std::string, Variable>> variables;  // with their names in the graph
};
// REQUIRES: the model is built; `rows` are the types of one row of each input.
TracedModel trace_model(Model& model, std::span<const TensorType> rows, int64_t batch, bool training);

// A pass for any batch size, or for one.
struct ModelProgram {
  ProgramTemplate text;
  int64_t fixed_batch = 0;  // 0: any
  std::vector<std::pair<std::string, Variable>> variables;
};
// For any batch size when the traces at two of them tell how it is at a third, else for `batch`.
ModelProgram model_program(Model& model, std::span<const TensorType> rows, int64_t batch, bool training);

// The type of `batch` such rows.
TensorType of_rows(const TensorType& row, int64_t batch);

}  // namespace espalier
