#include "passes/precision.h"

#include <gtest/gtest.h>

#include "espalier/ops.h"
#include "interp/interpreter.h"

namespace espalier {
namespace {

TEST(Precision, DotsGoLowLossesStayHighAndSignatureKeepsItsTypes) {
  GraphBuilder builder;
  SinkScope sink(builder);
  const Tensor x = builder.argument("x", {DType::kF32, {4, 8}});
  const Tensor w = builder.input(InputKind::kVariable, "w", {DType::kF32, {8, 8}});
  const Tensor v = builder.input(InputKind::kVariable, "v", {DType::kF32, {8, 2}});
  const Tensor hidden = maximum(dot(x, w) + 1, 0);              // between two dots: low
  const Tensor logits = dot(hidden, v);                         // low
  const Tensor loss = reduce_sum(exponential(logits), {0, 1});  // denied
  builder.result("loss", loss);
  builder.result("logits", logits);
  const auto graph = builder.finish();
  const MixedPrecision mixed = mixed_precision(*graph, DType::kBF16);
  mixed.graph->verify();
  for (NodeId id = 0; id < graph->nodes().size(); ++id) {
    const std::string name = graph->node(id).op->name;
    if (name == "dot_general" || name == "add" || name == "maximum") {
      EXPECT_EQ(mixed.decisions[id], Precision::kLow) << name;
    }
    if (name == "exponential" || name == "reduce") {
      EXPECT_EQ(mixed.decisions[id], Precision::kHigh) << name;
    }
  }
  int converts = 0;
  for (const Node& node : mixed.graph->nodes()) {
    const DType dtype = mixed.graph->type(node.first_result).dtype;
    if (std::string(node.op->name) == "convert") ++converts;
    if (std::string(node.op->name) == "dot_general") {
      EXPECT_EQ(dtype, DType::kBF16);
    }
    if (std::string(node.op->name) == "reduce") {
      EXPECT_EQ(dtype, DType::kF32);
    }
  }
  EXPECT_EQ(converts, 3 + 2 + 1);  // x, w, v; two constants; the logits back, once for two uses
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(mixed.graph->type(mixed.graph->inputs()[i].value).dtype, DType::kF32);
  for (const GraphOutput& output : mixed.graph->outputs())
    EXPECT_EQ(mixed.graph->type(output.value).dtype, DType::kF32);

  // The result is that of rounding to bf16 at those places: near, not equal.
  std::vector<float> values(32);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.01f * static_cast<float>(i) - 0.15f;
  std::vector<float> weights(64, 0.11f);
  const std::vector<Literal> inputs{Literal::copy({DType::kF32, {4, 8}}, values.data()),
                                    Literal::copy({DType::kF32, {8, 8}}, weights.data()),
                                    Literal::copy({DType::kF32, {8, 2}}, weights.data())};
  const float exact = interpret(*graph, inputs)[0].view().as<float>()[0];
  const float rounded = interpret(*mixed.graph, inputs)[0].view().as<float>()[0];
  EXPECT_NE(exact, rounded);
  EXPECT_NEAR(exact, rounded, 0.02 * exact);
}

TEST(Precision, NothingToGainChangesNothing) {
  GraphBuilder builder;
  SinkScope sink(builder);
  const Tensor x = builder.argument("x", {DType::kF32, {4}});
  builder.result("y", exponential(x) + log(x));
  const auto graph = builder.finish();
  EXPECT_TRUE(*mixed_precision(*graph, DType::kF16).graph == *graph);
  EXPECT_THROW(mixed_precision(*graph, DType::kF64), ValueError);
}

}  // namespace
}  // namespace espalier
