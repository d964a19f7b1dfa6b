#include <filesystem>
#include <mutex>
#include <set>

#include "base/env.h"
#include "base/format.h"
#include "espalier/onnx.h"
#include "format/onnx.h"
#include "ir/builder.h"
#include "train/program.h"

namespace espalier {
namespace {

std::vector<TensorType> argument_types(const Graph& graph) {
  std::vector<TensorType> out;
  for (const GraphInput& input : graph.inputs()) {
    if (input.kind == InputKind::kArgument) out.push_back(graph.type(input.value));
  }
  return out;
}

}  // namespace

struct OnnxModel::Program {
  std::string bytes, name;
  OnnxReadOptions options;
  std::vector<TensorType> rows;
  std::vector<std::string> inputs, outputs;
  int64_t fixed_batch = 0;
  std::map<std::string, Literal> weights;
  std::set<std::string> averages;
  std::map<std::string, std::string> metadata;

  std::mutex mutex;
  int64_t batch = 0;
  std::shared_ptr<const Graph> graph;  // for it

  OnnxProgram parse(int64_t rows_of_batch) const {
    OnnxReadOptions sizes = options;
    sizes.batch = rows_of_batch;
    return parse_onnx(std::as_bytes(std::span(bytes.data(), bytes.size())), sizes);
  }
  std::shared_ptr<const Graph> at(int64_t rows_of_batch) {
    const std::lock_guard lock(mutex);
    if (batch != rows_of_batch) {
      graph = parse(rows_of_batch).graph;
      batch = rows_of_batch;
    }
    return graph;
  }
  void read_signature();
};

void OnnxModel::Program::read_signature() {
  OnnxProgram program = parse(1);
  rows = argument_types(*program.graph);
  for (const GraphInput& input : program.graph->inputs()) {
    if (input.kind == InputKind::kArgument) inputs.push_back(input.name);
  }
  if (rows.empty()) throw UnsupportedError("onnx.batch", "the model has no inputs");
  for (const GraphOutput& output : program.graph->outputs()) outputs.push_back(output.name);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].shape.empty())
      throw UnsupportedError("onnx.batch", cat("the input \"", inputs[i], "\" has no axes, so no rows"));
  }
  // A size that stays when another is asked for is the file's own; so is 1 where a node knows no other.
  std::vector<TensorType> others = rows;
  try {
    others = argument_types(*parse(2).graph);
  } catch (const Error&) {
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t size = rows[i].shape[0], fixed = others[i].shape[0] == size ? size : 0;
    if (i > 0 && fixed != fixed_batch)
      throw UnsupportedError(
          "onnx.batch", cat("the inputs \"", inputs[0], "\" and \"", inputs[i], "\" have different batches"));
    fixed_batch = fixed;
    rows[i].shape.erase(0);
  }
  batch = 1;
  graph = std::move(program.graph);
  weights = std::move(program.variables);
  averages = std::move(program.averages);
  metadata = std::move(program.metadata);
}

OnnxModel::OnnxModel(std::shared_ptr<Program> program, Location at)
    : Model(program->name, "float32", at), program_(std::move(program)) {
  keep_input_dtype();
}

int64_t OnnxModel::fixed_batch() const { return program_->fixed_batch; }
const std::vector<TensorType>& OnnxModel::input_rows() const { return program_->rows; }
const std::map<std::string, std::string>& OnnxModel::metadata() const { return program_->metadata; }
std::vector<std::string> OnnxModel::input_names() const { return program_->inputs; }
std::vector<std::string> OnnxModel::output_names() const {
  return program_->outputs.size() > 1 ? program_->outputs : std::vector<std::string>();
}

void OnnxModel::build_many(Inputs<TensorType>) {
  for (const auto& [name, value] : program_->weights)
    add_variable(name, make_concrete(value), !program_->averages.contains(name), false);
}

Tensors OnnxModel::call_many(Inputs<Tensor> given) {
  const Tensors x = as_rows(given, program_->rows, program_->inputs);
  const int64_t batch = batch_of(x, program_->rows, program_->fixed_batch, program_->inputs);
  return call_program(*program_->at(batch), x, [&](const std::string& name) { return weight(name); });
}

OnnxModel read_onnx(std::string bytes, const std::string& name, const LoadOnnxOptions& options, Location at) {
  const CallScope scope(at);
  auto program = std::make_shared<OnnxModel::Program>();
  program->bytes = std::move(bytes);
  program->name = name;
  program->options.sizes = options.sizes;
  program->read_signature();
  OnnxModel model(program, at);
  build_by_trace(model, program->rows, program->fixed_batch);
  return model;
}

OnnxModel load_onnx(const std::string& path, const LoadOnnxOptions& options, Location at) {
  const CallScope scope(at);
  try {
    return read_onnx(posix_env().read_file(path), std::filesystem::path(path).stem().string(), options, at);
  } catch (const FormatError& error) {
    const bool foreign = error.rule() == "onnx.wire" || error.rule() == "onnx.model";
    throw FormatError(error.rule(),
                      foreign ? cat(path, " is no ONNX model, or a part of one: ", error.message())
                              : cat(path, ": ", error.message()),
                      error.fix());
  } catch (const UnsupportedError& error) {
    throw UnsupportedError(error.rule(), cat(path, ": ", error.message()), error.fix());
  }
}

}  // namespace espalier
