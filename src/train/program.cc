#include "train/program.h"

#include "base/format.h"
#include "eager/trace.h"
#include "text/text.h"

namespace espalier {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out.append(c == '$' ? 2 : 1, c);
  return out;
}

}  // namespace

TensorType of_rows(const TensorType& row, int64_t batch) {
  TensorType out = row;
  out.shape.insert(0, batch);
  return out;
}

TracedModel trace_model(Model& model, std::span<const TensorType> rows, int64_t batch, bool training) {
  Trace trace(training ? "training" : "inference", true);
  const SinkScope sink(trace.builder());
  const TrainingScope mode(training);
  Tensors inputs;
  for (const TensorType& row : rows)
    inputs.push_back(trace.builder().argument(cat("x", inputs.size()), of_rows(row, batch)));
  const Tensors results = model.apply(inputs);
  for (size_t i = 0; i < results.size(); ++i) trace.builder().result(cat("y", i), results[i]);
  TracedModel out{trace.finish(), {}};
  auto variable = trace.variables().begin();
  for (const GraphInput& input : out.graph->inputs()) {
    if (input.kind == InputKind::kVariable) out.variables.emplace_back(input.name, Variable(*variable++));
  }
  return out;
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
  const auto& [first, second, third] = kTellingBatches;
  try {
    const auto any = ProgramTemplate::between(text_at(first), first, text_at(second), second);
    if (any && any->at(third) == text_at(third)) return {*any, 0, traced.variables};
  } catch (const Error&) {
    // The model takes no batches of that size.
  }
  return {ProgramTemplate(escaped(print_program(*traced.graph))), batch, traced.variables};
}

}  // namespace espalier
