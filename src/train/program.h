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

// The penalty on a weight: argument w, its value in f32, result y0, a scalar.
TracedModel trace_penalty(const Layer::Regularized& weight);

// The inference of a loaded model for others to read. Inputs and results have the model's names, if it has
// some. Variables have their paths below the model and nodes no
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
inline constexpr int64_t kProbeBatchSizes[] = {1009, 1013, 1019};

// The type of `batch` such rows.
TensorType of_rows(const TensorType& row, int64_t batch);

// `given` as a loaded model takes it whose inputs have such rows: floats of any dtype in the rows' own.
// `names` are those of the inputs, or none. Raises ValueError[loaded_model.inputs],
// DTypeError[loaded_model.dtype].
Tensors as_rows(std::span<const Tensor> given, const std::vector<TensorType>& rows,
                const std::vector<std::string>& names);
// The batch of a call with what as_rows gives, `fixed_batch` rows if that is not 0. Raises
// ShapeError[loaded_model.input], [loaded_model.batch].
int64_t batch_of(std::span<const Tensor> given, const std::vector<TensorType>& rows, int64_t fixed_batch,
                 const std::vector<std::string>& names);
// Traces one pass of a loaded model: shows that its program is sound, and makes its variables.
void build_by_trace(Model& model, std::span<const TensorType> rows, int64_t fixed_batch);
// What helps where a row stands for a batch.
inline constexpr const char* kBatchFix =
    "a row needs an axis of rows: .batch(32) of a dataset, expand_dims(x, 0)";
// What a program gives: `given` are its arguments, `variable` finds its variables, which are read and
// updated.
Tensors call_program(const Graph& graph, std::span<const Tensor> given,
                     const std::function<Variable(const std::string&)>& variable);

}  // namespace espalier
