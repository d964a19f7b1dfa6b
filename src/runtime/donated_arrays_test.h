// The arrays of a run, for tests of what it writes.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "espalier/ops.h"
#include "espalier/random.h"
#include "ir/graph.h"
#include "ir/literal.h"
#include "runtime/executable.h"

namespace espalier {

// A plan that may write the new value of each variable over the old one.
inline std::shared_ptr<const Executable> compile_donating(std::shared_ptr<const Graph> graph,
                                                          CompileOptions options = {}) {
  options.donations = updates_in_place(*graph);
  return compile(std::move(graph), options);
}

// Arrays of a run with every variable donated.
struct DonatedArrays {
  DonatedArrays(const Graph& graph, std::span<const Literal> values) {
    inputs.reserve(values.size());  // views point at their types
    for (size_t i = 0; i < values.size(); ++i) {
      const Literal dense = values[i].expanded();
      inputs.push_back(Literal::copy(dense.type(), dense.raw()));
      in.push_back(inputs.back().view());
    }
    for (const GraphOutput& output : graph.outputs()) {
      const TensorType& type = graph.type(output.value);
      void* at = nullptr;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const bool same = output.kind == OutputKind::kUpdate &&
                          graph.inputs()[i].kind == InputKind::kVariable &&
                          graph.inputs()[i].name == output.name;
        if (same) at = inputs[i].buffer().get();
      }
      if (!at) {
        results.push_back(Literal(type, allocate_buffer(type.bytes())));
        at = results.back().buffer().get();
        std::memset(at, 0xab, type.bytes());
      }
      out.push_back({&graph.type(output.value), at});
    }
  }
  std::string bytes() const {
    std::string all;
    for (const auto* list : {&inputs, &results}) {
      for (const Literal& literal : *list)
        all.append(static_cast<const char*>(literal.raw()), literal.raw_bytes());
    }
    return all;
  }
  std::vector<Literal> inputs, results;
  std::vector<ArrayView> in;
  std::vector<MutableArrayView> out;
};

// Numbers for the inputs of a graph, from 0 to 1; 1 where they are integers.
inline std::vector<Literal> values_for(const Graph& graph) {
  std::vector<Literal> out;
  for (const GraphInput& input : graph.inputs()) {
    const TensorType& type = graph.type(input.value);
    out.push_back(type.dtype == DType::kF32 ? Generator(out.size() + 1).uniform(type.shape).node()->literal()
                                            : full(type.shape, 1, type.dtype).node()->dense());
  }
  return out;
}

}  // namespace espalier
