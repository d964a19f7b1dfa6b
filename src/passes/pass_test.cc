#include "passes/pass.h"

#include <gtest/gtest.h>

#include "espalier/ops.h"
#include "interp/interpreter.h"

namespace espalier {
namespace {

template <class F>
std::shared_ptr<const Graph> build(const std::vector<TensorType>& types, F f) {
  GraphBuilder builder;
  SinkScope scope(builder);
  std::vector<Tensor> arguments;
  for (const TensorType& type : types)
    arguments.push_back(builder.argument(cat("x", arguments.size()), type));
  for (const Tensor& result : f(arguments)) builder.result("y", result);
  return builder.finish();
}

const TensorType kF32x4{DType::kF32, {4}};

TEST(Passes, DceKeepsOnlyWhatOutputsNeed) {
  const auto graph = build({kF32x4, kF32x4}, [](auto& x) {
    exponential(x[1] * x[0]);
    return std::vector<Tensor>{x[0] + x[1]};
  });
  ASSERT_EQ(graph->nodes().size(), 3u);
  const auto lean = pass_dce.run(*graph);
  EXPECT_EQ(lean->nodes().size(), 1u);
  EXPECT_EQ(lean->inputs().size(), 2u);
}

TEST(Passes, CseMergesEqualCallsAndOnlyThose) {
  const auto graph = build({kF32x4, kF32x4}, [](auto& x) {
    const Tensor a = (x[0] + x[1]) * x[0], b = (x[0] + x[1]) * x[0], c = (x[1] + x[0]) * x[0];
    return std::vector<Tensor>{a, b, c, compare(a, b, Comparison::kLT), compare(a, b, Comparison::kGT)};
  });
  const auto lean = pass_cse.run(*graph);
  EXPECT_EQ(lean->nodes().size(), 2u + 2u + 2u);
  EXPECT_EQ(lean->outputs()[0].value, lean->outputs()[1].value);
  EXPECT_NE(lean->outputs()[0].value, lean->outputs()[2].value);
}

TEST(Passes, FoldKeepsSplatsSplat) {
  const auto graph = build({{DType::kF32, {1000000}}}, [](auto& x) {
    const Tensor two = full({1000000}, 2);
    return std::vector<Tensor>{x[0] * (sqrt(two * two) + full({}, 1))};
  });
  const auto folded = pass_dce.run(*pass_fold.run(*graph));
  ASSERT_EQ(folded->nodes().size(), 2u);
  const Literal* constant = constant_of(*folded, folded->node(0).first_result);
  ASSERT_NE(constant, nullptr);
  EXPECT_TRUE(constant->is_splat());
  EXPECT_EQ(load_scalar(DType::kF32, constant->raw()), 3);
}

TEST(Passes, SimplifyKnowsTheSignOfZero) {
  const auto graph = build({kF32x4, {DType::kI32, {4}}}, [](auto& x) {
    return std::vector<Tensor>{x[0] + 0.0,
                               x[0] + -0.0,
                               x[0] - 0.0,
                               x[0] * 1,
                               -(-x[0]),
                               x[1] + 0,
                               reshape(reshape(x[0], {2, 2}), {4, 1})};
  });
  const auto lean = pass_dce.run(*pass_simplify.run(*pass_fold.run(*graph)));
  const ValueId x = 0, i = 1;
  EXPECT_NE(lean->outputs()[0].value, x);  // -0 + 0 is +0
  for (const size_t k : {1, 2, 3, 4}) EXPECT_EQ(lean->outputs()[k].value, x) << k;
  EXPECT_EQ(lean->outputs()[5].value, i);
  const float bits[] = {-0.0f, 1.0f, -2.0f, 0.5f};
  const std::vector<Literal> inputs{Literal::copy(kF32x4, bits), Literal::of<int32_t>({1, 2, 3, 4})};
  const auto before = interpret(*graph, inputs), after = interpret(*lean, inputs);
  for (size_t k = 0; k < before.size(); ++k) EXPECT_TRUE(before[k] == after[k]) << k;
}

TEST(Passes, EveryChoiceOfPassesGivesTheSameBits) {
  const auto graph = build({kF32x4, kF32x4}, [](auto& x) {
    const Tensor one = full({4}, 1), a = (x[0] + x[1]) * one, b = (x[0] + x[1]) * one;
    return std::vector<Tensor>{exponential(a) / (b + full({4}, 3) * full({4}, 2)),
                               reshape(reshape(a - b, {4, 1}), {2, 2})};
  });
  const std::vector<Literal> inputs{Literal::of({0.1f, -2.5f, 1e-30f, 7.0f}),
                                    Literal::of({3.0f, 2.5f, -1e-30f, 0.3f})};
  const auto expected = interpret(*graph, inputs);
  const auto passes = all_passes();
  for (uint32_t mask = 0; mask < 1u << passes.size(); ++mask) {
    PassOptions options{.verify = true};
    for (size_t i = 0; i < passes.size(); ++i) {
      if (mask >> i & 1) options.off.push_back(passes[i]->name);
    }
    const auto out = interpret(*optimize(graph, options), inputs);
    for (size_t k = 0; k < expected.size(); ++k) EXPECT_TRUE(expected[k] == out[k]) << "mask " << mask;
  }
  EXPECT_THROW(optimize(graph, {.off = {"csee"}}), ValueError);
}

}  // namespace
}  // namespace espalier
