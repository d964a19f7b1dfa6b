#include "passes/bind_variables.h"

#include "ir/builder.h"

namespace espalier {

std::shared_ptr<Graph> bind_variables(const Graph& graph, const std::map<std::string, Literal>& values) {
  GraphBuilder builder(graph.name());
  SinkScope scope(builder);
  std::vector<Tensor> inputs;
  for (const GraphInput& input : graph.inputs()) {
    const TensorType& type = graph.type(input.value);
    const auto found = values.find(input.name);
    if (input.kind != InputKind::kVariable || found == values.end()) {
      inputs.push_back(builder.input(input.kind, input.name, type));
      continue;
    }
    if (found->second.type() != type)
      throw ShapeError("bind.type", cat("the variable ", input.name, " is ", type, ", its value is ",
                                        found->second.type()));
    inputs.push_back(make_concrete(found->second));
  }
  const std::vector<Tensor> outputs = inline_graph(graph, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const GraphOutput& output = graph.outputs()[i];
    if (output.kind == OutputKind::kUpdate && values.contains(output.name))
      throw UnsupportedError("bind.update", cat("the graph updates the variable ", output.name));
    builder.output(output.kind, output.name, outputs[i]);
  }
  return builder.finish();
}

}  // namespace espalier
