// What a model computes, as a graph, for the folders it is saved in.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model.h"
#include "ir/graph.h"
#include "text/template.h"

namespace espalier {

class LoadedModel;

// One forward pass: arguments x0, x1, ..., results y0, y1, ..., the variables it reads and their new values.
struct TracedModel {
  std::shared_ptr<const Graph> graph;
  std::vector<std::pair<std::string, Variable>> variables;  // with their names in the graph
};
// REQUIRES: the model is built; `rows` are the types of one row of each input.
TracedModel trace_model(Model& model, std::span<const TensorType> rows, int64_t batch, bool training);

// The inference of a loaded model for others to read. Variables have their paths below the model and nodes no
// scope, so that equal models give equal programs, however many a process made before.
TracedModel trace_for_export(LoadedModel& model, int64_t batch);

// A path below another one; others stay whole.
std::string relative(const std::string& path, const std::string& root);

// A pass for any batch size, or for one.
struct ModelProgram {
  ProgramTemplate text;
  int64_t fixed_batch = 0;  // 0: any
  std::vector<std::pair<std::string, Variable>> variables;
};
// For any batch size when the traces at two of them tell how it is at a third, else for `batch`.
ModelProgram model_program(Model& model, std::span<const TensorType> rows, int64_t batch, bool training);

// What they hold now, for bind_variables and exports.
std::map<std::string, Literal> values_of(std::span<const std::pair<std::string, Variable>> variables);

// Batch sizes to trace a model at that no layer has as its size, so that a number that equals one follows
// the batch.
inline constexpr int64_t kTellingBatches[] = {1009, 1013, 1019};

// The type of `batch` such rows.
TensorType of_rows(const TensorType& row, int64_t batch);

// The batch of a call of a loaded model whose inputs have such rows, `fixed_batch` of them if that is not 0.
// Raises ValueError[loaded_model.inputs], ShapeError[loaded_model.input], [loaded_model.batch].
int64_t batch_of(std::span<const Tensor> given, const std::vector<TensorType>& rows, int64_t fixed_batch);
// Traces one pass of a loaded model: shows that its program is sound, and makes its variables.
void build_by_trace(Model& model, std::span<const TensorType> rows, int64_t fixed_batch);
// What a program gives: `given` are its arguments, `variable` finds its variables, which are read and
// updated.
Tensors call_program(const Graph& graph, std::span<const Tensor> given,
                     const std::function<Variable(const std::string&)>& variable);

}  // namespace espalier
