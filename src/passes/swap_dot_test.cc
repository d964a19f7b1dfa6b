#include <gtest/gtest.h>

#include "espalier/ops.h"
#include "interp/interpreter.h"
#include "ops/registry.h"
#include "passes/pass.h"

namespace espalier {
namespace {

Literal counting(const Shape& shape) {
  std::vector<float> values(num_elements(shape));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.1f * static_cast<float>(i % 37) - 1.3f;
  return Literal::copy({DType::kF32, shape}, values.data());
}

size_t transposes(const Graph& graph) {
  size_t count = 0;
  for (const Node& node : graph.nodes()) count += node.op == &op_transpose;
  return count;
}

// The transposed product of x [2,5,3] and y [2,3,4,6], batch 2.
std::shared_ptr<Graph> product(const Dims& permutation, bool used_twice = false) {
  GraphBuilder builder;
  SinkScope scope(builder);
  const Tensor x = builder.argument("x", {DType::kF32, {2, 5, 3}}),
               y = builder.argument("y", {DType::kF32, {2, 3, 4, 6}});
  const Tensor z = dot_general(
      x, y, {.lhs_batching = {0}, .rhs_batching = {0}, .lhs_contracting = {2}, .rhs_contracting = {1}});
  builder.result("t", transpose(z, permutation));
  if (used_twice) builder.result("z", z);
  return builder.finish();
}

TEST(SwapDot, TheProductIsWrittenInTheWantedOrder) {
  const std::vector<Literal> inputs{counting({2, 5, 3}), counting({2, 3, 4, 6})};
  const auto graph = product({0, 2, 3, 1});
  const auto swapped = pass_swap_dot.run(*graph);
  swapped->verify();
  EXPECT_EQ(transposes(*swapped), 0u);
  EXPECT_EQ(interpret(*graph, inputs, RunContext::current())[0],
            interpret(*swapped, inputs, RunContext::current())[0]);
  EXPECT_EQ(optimize(graph)->nodes().size(), 1u);
}

TEST(SwapDot, OtherTranspositionsStay) {
  EXPECT_EQ(transposes(*pass_swap_dot.run(*product({0, 3, 2, 1}))), 1u);
  EXPECT_EQ(transposes(*pass_swap_dot.run(*product({1, 0, 2, 3}))), 1u);
  EXPECT_EQ(transposes(*pass_swap_dot.run(*product({0, 2, 3, 1}, true))), 1u);
}

}  // namespace
}  // namespace espalier
