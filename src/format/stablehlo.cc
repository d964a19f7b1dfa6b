#include "format/stablehlo.h"

#include "base/format.h"
#include "ir/builder.h"
#include "passes/inline_composites.h"
#include "text/text.h"

namespace espalier {

std::shared_ptr<Graph> bind_variables(const Graph& graph, const std::map<std::string, Literal>& variables) {
  GraphBuilder builder(graph.name());
  SinkScope scope(builder);
  std::vector<Tensor> inputs;
  for (const GraphInput& input : graph.inputs()) {
    const TensorType& type = graph.type(input.value);
    if (input.kind != InputKind::kVariable) {
      inputs.push_back(builder.input(input.kind, input.name, type));
      continue;
    }
    const auto found = variables.find(input.name);
    if (found == variables.end())
      throw ValueError("export.variable", cat("the variable \"", input.name, "\" has no value"));
    if (found->second.type() != type)
      throw ValueError("export.variable", cat("the variable \"", input.name, "\" is ", type,
                                              ", its value is ", found->second.type()));
    inputs.push_back(make_concrete(found->second));
  }
  const std::vector<Tensor> outputs = inline_graph(graph, inputs);
  for (size_t i = 0; i < outputs.size(); ++i)
    builder.output(graph.outputs()[i].kind, graph.outputs()[i].name, outputs[i]);
  return builder.finish();
}

std::string stablehlo_text(const Graph& graph) { return print_program(*inline_composites(graph)); }

}  // namespace espalier
