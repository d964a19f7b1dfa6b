#include "runtime/lowering.h"

#include <gtest/gtest.h>

#include "espalier/control.h"
#include "espalier/ops.h"
#include "espalier/run_context.h"
#include "interp/interpreter.h"
#include "ir/builder.h"
#include "ops/dot_general.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "runtime/executable.h"

namespace espalier {
namespace {

struct Counts {
  int bodiless = 0, integer_products = 0;
};
// Also in regions.
Counts counts_of(const Graph& graph) {
  Counts out;
  for (const Node& node : graph.nodes()) {
    out.bodiless += !node.op->eval;
    out.integer_products +=
        node.op == &op_dot_general && graph.type(graph.inputs(node)[0]).dtype == DType::kI8;
    for (const GraphPtr& region : graph.regions(node)) {
      const Counts inner = counts_of(*region);
      out.bodiless += inner.bodiless;
      out.integer_products += inner.integer_products;
    }
  }
  return out;
}

Tensor product(const Tensor& x) {
  const Tensor bytes = convert(x, DType::kI8);
  return convert(dot_general(bytes, bytes, {.lhs_contracting = {0}, .rhs_contracting = {0}}, DType::kI32),
                 DType::kF32);
}

// Both kinds of op outside of a region and in one.
std::shared_ptr<const Graph> rich_graph() {
  GraphBuilder builder;
  SinkScope scope(builder);
  const Tensor x = builder.argument("x", {DType::kF32, {4}});
  const Tensor p = builder.argument("p", {DType::kBool, {}});
  const Tensor inside = cond(
      p, [](const Tensor& v) { return digamma(v); },
      [](const Tensor& v) { return broadcast_to(product(v), {4}); }, {x});
  builder.result("y", digamma(x) * product(x));
  builder.result("z", inside);
  return builder.finish();
}

TEST(Lowerings, StandBehindThePasses) {
  std::vector<std::string> wanted;
  for (const Pass* pass : all_passes()) wanted.emplace_back(pass->name);
  for (const char* name : {"decompose", "integer_products"}) wanted.emplace_back(name);
  EXPECT_EQ(passes_and_lowerings(), wanted);
  EXPECT_THROW(graph_after(rich_graph(), "decomposed"), ValueError);
}

TEST(Lowerings, EachActsAlsoInRegionsAndKeepsEveryBit) {
  const auto graph = rich_graph();
  const auto before = graph_after(graph, all_passes().back()->name),
             decomposed = graph_after(graph, "decompose"), planned = graph_after(graph, "integer_products");
  EXPECT_EQ(counts_of(*before).bodiless, 2);
  EXPECT_EQ(counts_of(*before).integer_products, 2);
  EXPECT_EQ(counts_of(*decomposed).bodiless, 0);
  EXPECT_EQ(counts_of(*decomposed).integer_products, 2);
  EXPECT_EQ(counts_of(*planned).bodiless, 0);
  EXPECT_EQ(counts_of(*planned).integer_products, 0);
  for (const int64_t first : {0, 1}) {
    const std::vector<Literal> inputs{Literal::of({1.0f, -2.5f, 3.0f, 100.0f}),
                                      Literal::splat({DType::kBool, {}}, first)};
    const auto wanted = interpret(*graph, inputs, RunContext::current());
    for (const auto& lowered : {decomposed, planned}) {
      lowered->verify();
      const auto got = interpret(*lowered, inputs, RunContext::current());
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(got[i] == wanted[i]) << i;
    }
  }
}

TEST(Lowerings, WhatIsShownIsWhatIsPlanned) {
  const auto graph = rich_graph();
  EXPECT_EQ(compile(optimize(graph))->graph().content_hash(),
            graph_after(graph, "integer_products")->content_hash());
  // Reference bodies know products of 8-bit integers.
  EXPECT_EQ(compile(optimize(graph), {.fast_kernels = false})->graph().content_hash(),
            graph_after(graph, "decompose")->content_hash());
}

TEST(Lowerings, AGraphThatHasNothingForThemStaysItself) {
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    builder.result("y", exponential(builder.argument("x", {DType::kF32, {4}})));
  }
  const std::shared_ptr<const Graph> graph = builder.finish();
  EXPECT_EQ(lower_graph(graph, true), graph);
}

}  // namespace
}  // namespace espalier
