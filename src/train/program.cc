#include "train/program.h"

#include <algorithm>

#include "base/format.h"
#include "eager/batch_place.h"
#include "eager/trace.h"
#include "espalier/error.h"
#include "espalier/ops.h"
#include "espalier/saved_model.h"
#include "ir/builder.h"
#include "ir/sink.h"
#include "ops/drawn_again.h"
#include "text/text.h"

namespace espalier {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out.append(c == '$' ? 2 : 1, c);
  return out;
}

TracedModel finished(Trace& trace, const Tensors& results) {
  for (size_t i = 0; i < results.size(); ++i) trace.builder().result(cat("y", i), results[i]);
  TracedModel out{trace.finish(), {}};
  auto variable = trace.variables().begin();
  for (const GraphInput& input : out.graph->inputs()) {
    if (input.kind == InputKind::kVariable) out.variables.emplace_back(input.name, Variable(*variable++));
  }
  return out;
}

// As inline_graph(), on rows that are a part of a batch.
std::vector<Tensor> inline_on_part(const Graph& graph, std::span<const Tensor> inputs) {
  std::vector<Tensor> values(graph.value_count());
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i].value] = inputs[i];
  for (const Node& node : graph.nodes()) {
    std::vector<Tensor> operands, results;
    for (const ValueId input : graph.inputs(node)) operands.push_back(values[input]);
    for (const GraphPtr& region : graph.regions(node)) {
      if (draws(*region))
        throw UnsupportedError("loaded_model.replicas",
                               cat("the saved model draws random numbers inside of ", node.op->name,
                                   ", where its file does not say for which rows of a batch, and here a "
                                   "batch is shared out to replicas or logical shards"),
                               "load_weights() into a model of the same layers, which then trains here; or "
                               "train the loaded one on one device");
    }
    if (const std::optional<Tensor> drawn = drawn_again(node, operands))
      results = {*drawn};
    else
      results = emit_all(*node.op, node.attributes, operands, graph.regions(node));
    for (uint32_t i = 0; i < node.result_count; ++i) values[node.first_result + i] = std::move(results[i]);
  }
  std::vector<Tensor> out;
  for (const GraphOutput& output : graph.outputs()) out.push_back(values[output.value]);
  return out;
}

// How errors call an input.
std::string name_of(const std::vector<std::string>& names, size_t input) {
  return names.empty() ? cat(input) : cat("\"", names[input], "\"");
}

}  // namespace

TensorType of_rows(const TensorType& row, int64_t batch) {
  TensorType out = row;
  out.shape.insert(0, batch);
  return out;
}

Tensors as_rows(std::span<const Tensor> given, const std::vector<TensorType>& rows,
                const std::vector<std::string>& names) {
  if (given.size() != rows.size())
    throw ValueError("loaded_model.inputs",
                     cat("the model takes ", rows.size(), rows.size() == 1 ? " input" : " inputs", ", got ",
                         given.size()));
  Tensors out(given.begin(), given.end());
  for (size_t i = 0; i < rows.size(); ++i) {
    const DType dtype = out[i].dtype();
    if (dtype == rows[i].dtype) continue;
    if (!is_float(dtype) || !is_float(rows[i].dtype)) {
      throw DTypeError("loaded_model.dtype", cat("input ", name_of(names, i), " is made for ", rows[i].dtype,
                                                 ", got ", out[i].type()));
    }
    out[i] = convert(out[i], rows[i].dtype);
  }
  return out;
}

int64_t batch_of(std::span<const Tensor> given, const std::vector<TensorType>& rows, int64_t fixed_batch,
                 const std::vector<std::string>& names) {
  const int64_t batch = given[0].rank() ? given[0].size(0) : 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    // A part of a batch may have none.
    if ((batch == 0 && !is_part_of_batch()) || given[i].type() != of_rows(rows[i], batch)) {
      throw ShapeError("loaded_model.input",
                       cat("input ", name_of(names, i), " takes rows of ", rows[i],
                           rows.size() > 1 ? ", as many as each other has" : "", ", got ", given[i].type()),
                       given[i].type() == rows[i] ? kBatchFix : "");
    }
  }
  if (fixed_batch && batch != fixed_batch) {
    throw ShapeError(
        "loaded_model.batch",
        cat("this model was saved for batches of ", counted(fixed_batch, "row"), " alone, got ", batch),
        "give it as many at a time, or save or export it for any number of rows");
  }
  return batch;
}

void build_by_trace(Model& model, std::span<const TensorType> rows, int64_t fixed_batch) {
  Trace trace("load", false);
  const SinkScope sink(trace.builder());
  const TrainingScope mode(false);
  Tensors inputs;
  for (const TensorType& row : rows)
    inputs.push_back(
        trace.builder().argument(cat("x", inputs.size()), of_rows(row, std::max<int64_t>(fixed_batch, 1))));
  model.apply(inputs);
}

Tensors call_program(const Graph& graph, std::span<const Tensor> given,
                     const std::function<Variable(const std::string&)>& variable) {
  Tensors inputs;
  size_t argument = 0;
  for (const GraphInput& input : graph.inputs())
    inputs.push_back(input.kind == InputKind::kArgument ? given[argument++] : variable(input.name).read());
  const Tensors outputs = is_part_of_batch() ? inline_on_part(graph, inputs) : inline_graph(graph, inputs);
  Tensors results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const GraphOutput& output = graph.outputs()[i];
    if (output.kind == OutputKind::kResult)
      results.push_back(outputs[i]);
    else
      variable(output.name).assign(outputs[i]);
  }
  return results;
}

TracedModel trace_model(Model& model, std::span<const TensorType> rows, int64_t batch, bool training) {
  Trace trace(training ? "training" : "inference", true);
  const SinkScope sink(trace.builder());
  const TrainingScope mode(training);
  Tensors inputs;
  for (const TensorType& row : rows)
    inputs.push_back(trace.builder().argument(cat("x", inputs.size()), of_rows(row, batch)));
  return finished(trace, model.apply(inputs));
}

TracedModel trace_penalty(const Layer::Regularized& weight) {
  Trace trace("penalty", true);
  const SinkScope sink(trace.builder());
  const TrainingScope mode(true);
  const Tensor value = trace.builder().argument("w", {DType::kF32, weight.weight.shape()});
  return finished(trace, {weight.penalty(value)});
}

TracedModel trace_for_export(LoadedModel& model, int64_t batch) {
  const TracedModel traced = trace_model(model, model.input_rows(), batch, false);
  const std::string& root = model.path();
  GraphBuilder builder(traced.graph->name());
  const SinkScope sink(builder);
  Tensors inputs;
  const std::vector<std::string> names = model.input_names(), results = model.output_names();
  size_t argument = 0;
  for (const GraphInput& input : traced.graph->inputs()) {
    const bool named = input.kind == InputKind::kArgument && !names.empty();
    inputs.push_back(builder.input(input.kind, named ? names[argument++] : relative(input.name, root),
                                   traced.graph->type(input.value)));
  }
  const Tensors outputs = inline_graph(*traced.graph, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const GraphOutput& output = traced.graph->outputs()[i];
    const bool named = output.kind == OutputKind::kResult && !results.empty();
    builder.output(output.kind, named ? results[i] : relative(output.name, root), outputs[i]);
  }
  TracedModel out{builder.finish(), {}};
  for (const auto& [name, variable] : traced.variables)
    out.variables.emplace_back(relative(name, root), variable);
  return out;
}

std::string relative(const std::string& path, const std::string& root) {
  return path.starts_with(root + "/") ? path.substr(root.size() + 1) : path;
}

std::map<std::string, Literal> values_of(std::span<const std::pair<std::string, Variable>> variables) {
  std::map<std::string, Literal> out;
  for (const auto& [name, variable] : variables) out.emplace(name, variable.read().node()->dense());
  return out;
}

ModelProgram model_program(Model& model, std::span<const TensorType> rows, int64_t batch, bool training) {
  const auto text_at = [&](int64_t size) {
    return print_program(*trace_model(model, rows, size, training).graph);
  };
  const TracedModel traced = trace_model(model, rows, batch, training);
  const auto& [first, second, third] = kProbeBatchSizes;
  try {
    const auto any = ProgramTemplate::between(text_at(first), first, text_at(second), second);
    if (any && any->at(third) == text_at(third)) return {*any, 0, traced.variables};
  } catch (const Error&) {
    // The model takes no batches of that size.
  }
  return {ProgramTemplate(escaped(print_program(*traced.graph))), batch, traced.variables};
}

}  // namespace espalier
