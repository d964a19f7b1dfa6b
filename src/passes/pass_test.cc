#include "passes/pass.h"

#include <gtest/gtest.h>

#include "espalier/control.h"
#include "espalier/ops.h"
#include "interp/interpreter.h"
#include "passes/inline_composites.h"

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
  const auto before = interpret(*graph, inputs, RunContext::current()),
             after = interpret(*lean, inputs, RunContext::current());
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
  const auto expected = interpret(*graph, inputs, RunContext::current());
  const auto passes = all_passes();
  for (uint32_t mask = 0; mask < 1u << passes.size(); ++mask) {
    PassOptions options{.verify = true};
    for (size_t i = 0; i < passes.size(); ++i) {
      if (mask >> i & 1) options.off.push_back(passes[i]->name);
    }
    const auto out = interpret(*optimize(graph, options), inputs, RunContext::current());
    for (size_t k = 0; k < expected.size(); ++k) EXPECT_TRUE(expected[k] == out[k]) << "mask " << mask;
  }
  EXPECT_THROW(optimize(graph, {.off = {"csee"}}), ValueError);
}

// No pass minds a variable that is updated twice, and none of them mends it.
TEST(Passes, WhatAPassLeavesInvalidIsFound) {
  const auto graph = std::make_shared<Graph>();
  const ValueId w = graph->add_input(InputKind::kVariable, "w", kF32x4);
  graph->add_output(OutputKind::kUpdate, "w", w);
  EXPECT_NO_THROW(optimize(graph, {.verify = true}));
  graph->add_output(OutputKind::kUpdate, "w", w);
  EXPECT_THROW(optimize(graph, {.verify = true}), InternalError);
#ifdef NDEBUG
  EXPECT_NO_THROW(optimize(graph)) << "users pay for no check";
#else
  EXPECT_THROW(optimize(graph), InternalError) << "a checked build asks by itself";
#endif
}

// The names of the composites in the graph and its regions.
std::vector<std::string> composites_of(const Graph& graph) {
  std::vector<std::string> out;
  for (const Node& node : graph.nodes()) {
    if (node.op->composite) out.emplace_back(node.op->name);
    for (const GraphPtr& region : graph.regions(node)) {
      for (std::string& name : composites_of(*region)) out.push_back(std::move(name));
    }
  }
  return out;
}

TEST(Passes, InlinedCompositesComputeTheirValues) {
  const auto graph = build({kF32x4, {DType::kBool, {}}}, [](auto& x) {
    const Tensor inside = cond(
        x[1], [](const Tensor& v) { return log_softmax(v, 0); }, [](const Tensor& v) { return gelu(v); },
        {x[0]});
    return std::vector<Tensor>{softmax(x[0] * 2, 0) + silu(x[0]), inside};
  });
  ASSERT_EQ(composites_of(*graph).size(), 4u);
  const auto plain = inline_composites(*graph);
  plain->verify();
  EXPECT_TRUE(composites_of(*plain).empty());
  const auto kept = inline_composites(
      *graph, [](const Graph&, const Node& node) { return std::string(node.op->name) == "softmax"; });
  EXPECT_EQ(composites_of(*kept), std::vector<std::string>{"softmax"});
  for (const int64_t first : {0, 1}) {
    const std::vector<Literal> inputs{Literal::of({0.1f, -2.5f, 3.0f, 0.7f}),
                                      Literal::splat({DType::kBool, {}}, first)};
    const auto expected = interpret(*graph, inputs, RunContext::current());
    for (const auto& rewritten : {plain, kept}) {
      const auto out = interpret(*rewritten, inputs, RunContext::current());
      ASSERT_EQ(out.size(), expected.size());
      for (size_t k = 0; k < out.size(); ++k) {
        for (int64_t i = 0; i < 4; ++i)
          EXPECT_NEAR(out[k].view().as<float>()[i], expected[k].view().as<float>()[i], 1e-6) << k << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace espalier
