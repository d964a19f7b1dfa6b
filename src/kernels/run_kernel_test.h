// For tests of kernels: operands, and a kernel by itself.
#pragma once

#include <random>
#include <vector>

#include "base/float_environment.h"
#include "ir/graph.h"
#include "kernels/kernel.h"

namespace espalier {

inline Literal random_literal(const TensorType& type, unsigned seed, bool special) {
  std::mt19937 random(seed);
  Buffer buffer = allocate_buffer(type.bytes());
  constexpr double kSpecial[] = {0.0, -0.0, 1e-40, -1e-45, 3e38, INFINITY, -INFINITY, NAN, 1.0, -1.0};
  for (int64_t i = 0; i < type.elements(); ++i) {
    double x = std::uniform_real_distribution<double>(-2, 2)(random);
    if (special && random() % 3 == 0) x = kSpecial[random() % std::size(kSpecial)];
    if (type.dtype == DType::kBool) x = x > 0;
    if (type.dtype == DType::kI32)
      x = static_cast<double>(static_cast<int32_t>(random() % 7 ? random() % 9 : random()));
    store_scalar(type.dtype, x, buffer.get() + static_cast<size_t>(i) * size_of(type.dtype));
  }
  return Literal(type, buffer);
}

// The kernel's results for the last node of `graph`; nothing when it does not take the call.
// epilogue_of(kernel, results) makes the epilogue.
template <class MakeEpilogue>
std::vector<Literal> run_kernel(const Graph& graph, std::span<const Literal> inputs,
                                MakeEpilogue epilogue_of) {
  if (graph.nodes().empty()) return {};
  const Node& node = graph.nodes().back();
  std::vector<const TensorType*> types, result_types;
  for (const ValueId input : graph.inputs(node)) types.push_back(&graph.type(input));
  for (uint32_t i = 0; i < node.result_count; ++i) result_types.push_back(&graph.type(node.first_result + i));
  const PreparedKernel kernel = prepare_kernel({*node.op, node.attributes.get(), types, result_types});
  if (!kernel.run) return {};
  FloatEnvironment mode;
  std::vector<const void*> in;
  std::vector<void*> out;
  std::vector<Literal> results;
  for (const Literal& input : inputs) in.push_back(input.raw());
  for (const TensorType* type : result_types) {
    Buffer buffer = allocate_buffer(type->bytes());
    results.emplace_back(*type, buffer);
    out.push_back(buffer.get());
  }
  const Buffer workspace = allocate_buffer(kernel.workspace);
  kernel.run({&RunContext::current(), nullptr, kernel.params.get(), in.data(), out.data(), workspace.get(),
              epilogue_of(kernel, out)});
  return results;
}
inline std::vector<Literal> run_kernel(const Graph& graph, std::span<const Literal> inputs) {
  return run_kernel(graph, inputs, [](const auto&, const auto&) { return Epilogue{}; });
}

}  // namespace espalier
