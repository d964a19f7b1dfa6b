#include "passes/cut_graph.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/ops.h"
#include "interp/interpreter.h"
#include "ir/builder.h"
#include "ops/collective.h"
#include "ops/registry.h"

namespace espalier {
namespace {

const TensorType kRow{DType::kI32, {4}}, kNumber{DType::kI32, {}};

bool is_barrier(const Node& node) { return node.op == &op_optimization_barrier; }
bool meets(const Node& node) { return is_collective(*node.op); }

class Drawn {
 public:
  explicit Drawn(unsigned seed) : random_(seed) {}
  size_t below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random_); }
  const Tensor& one_of(const std::vector<Tensor>& all) { return all[below(all.size())]; }

  // Of three rows and a number, cut by what `cut` makes of one to three values.
  template <class Cut>
  std::shared_ptr<const Graph> graph(const Cut& cut) {
    GraphBuilder builder;
    const SinkScope scope(builder);
    std::vector<Tensor> values, numbers{builder.argument("n", kNumber)};
    for (const char* name : {"a", "b", "c"}) values.push_back(builder.argument(name, kRow));
    const size_t count = 4 + below(20);
    for (size_t i = 0; i < count; ++i) {
      const Tensor x = one_of(values), y = one_of(values);
      switch (below(8)) {
        case 0:
          values.push_back(x + y);
          break;
        case 1:
          values.push_back(x - y);
          break;
        case 2:
          values.push_back(maximum(x, y));
          break;
        case 3:
          values.push_back(full({4}, static_cast<double>(below(9)), DType::kI32));
          break;
        case 4:
          values.push_back(iota(kRow, 0));
          break;
        case 5:
          numbers.push_back(one_of(numbers) + reduce_max(x, {0}));
          break;
        case 6:
          values.push_back(broadcast_in_dim(one_of(numbers), {4}, {}));
          break;
        case 7: {
          std::vector<Tensor> held;
          for (size_t k = below(3) + 1; k > 0; --k) held.push_back(one_of(values));
          for (const Tensor& each : cut(held)) values.push_back(each);
        }
      }
    }
    for (size_t i = 0; i < 3; ++i) builder.result(cat("y", i), one_of(values));
    builder.result("number", one_of(numbers));
    return builder.finish();
  }
  std::vector<Literal> inputs() {
    std::vector<Literal> out{Literal::splat(kNumber, static_cast<int64_t>(below(50)))};
    for (size_t i = 0; i < 3; ++i) {
      std::vector<int32_t> row;
      for (size_t k = 0; k < 4; ++k) row.push_back(static_cast<int32_t>(below(100)));
      out.push_back(Literal::copy(kRow, row.data()));
    }
    return out;
  }

 private:
  std::mt19937 random_;
};

using Values = std::map<ValueId, Literal>;

void run(const Graph& graph, const GraphPiece& piece, const Values& shared, Values& own) {
  std::vector<Literal> inputs;
  for (const ValueId input : piece.inputs)
    inputs.push_back(own.contains(input) ? own.at(input) : shared.at(input));
  const std::vector<Literal> out = interpret(*graph_of(graph, piece, "piece"), inputs, RunContext::current());
  for (size_t i = 0; i < out.size(); ++i) own.insert_or_assign(piece.outputs[i], out[i]);
}

// No cut stands in a stage, and no node in two.
void expect_apart(const Graph& graph, const CutGraph& cut, bool (*is_cut)(const Node&)) {
  std::vector<int> times(graph.nodes().size());
  for (const GraphPiece& stage : cut.stages) {
    for (const NodeId id : stage.nodes) {
      EXPECT_FALSE(is_cut(graph.node(id)));
      EXPECT_EQ(++times[id], 1);
    }
  }
  ASSERT_EQ(cut.behind.size(), cut.cuts.size());
  EXPECT_TRUE(std::ranges::is_sorted(cut.behind));
}

TEST(CutGraph, StagesOneAfterAnotherAreTheWhole) {
  size_t cuts = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Drawn drawn(seed);
    const auto graph =
        drawn.graph([](const std::vector<Tensor>& held) { return optimization_barrier(held); });
    const std::vector<Literal> inputs = drawn.inputs();
    const CutGraph cut = cut_graph(*graph, is_barrier);
    expect_apart(*graph, cut, is_barrier);
    cuts += cut.cuts.size();
    Values values;
    for (size_t i = 0; i < inputs.size(); ++i) values.emplace(graph->inputs()[i].value, inputs[i]);
    size_t next = 0;
    for (size_t i = 0; i <= cut.stages.size(); ++i) {
      for (; next < cut.cuts.size() && cut.behind[next] == i; ++next) run(*graph, cut.cuts[next], {}, values);
      if (i < cut.stages.size()) run(*graph, cut.stages[i], {}, values);
    }
    EXPECT_EQ(next, cut.cuts.size());
    const std::vector<Literal> whole = interpret(*graph, inputs, RunContext::current());
    for (size_t i = 0; i < whole.size(); ++i)
      EXPECT_TRUE(values.at(graph->outputs()[i].value) == whole[i]) << "output " << i;
  }
  EXPECT_GT(cuts, 200u);
}

Literal sum(const Literal& a, const Literal& b) {
  const Literal x = a.expanded(), y = b.expanded();
  std::vector<int32_t> out(4);
  for (size_t i = 0; i < 4; ++i)
    out[i] = static_cast<const int32_t*>(x.raw())[i] + static_cast<const int32_t*>(y.raw())[i];
  return Literal::copy(kRow, out.data());
}

// Rows a and b are a part's, the rest is shared: what stages of parts are not asked for is run once.
TEST(CutGraph, PartsOneAfterAnotherAreReplicas) {
  constexpr size_t kParts = 3;
  const std::vector<bool> of_parts{false, true, true, false};
  size_t shared_stages = 0, stages_of_parts = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Drawn drawn(seed);
    const auto graph = drawn.graph([](const std::vector<Tensor>& held) { return all_reduce(held); });
    const CutGraph cut = cut_graph(*graph, meets, {.of_parts = of_parts});
    expect_apart(*graph, cut, meets);
    GridValues replicas;
    Values shared;
    std::vector<Values> own(kParts);
    const std::vector<Literal> first = drawn.inputs();
    for (size_t part = 0; part < kParts; ++part) {
      std::vector<Literal> inputs = drawn.inputs();
      for (size_t i = 0; i < inputs.size(); ++i) {
        const ValueId value = graph->inputs()[i].value;
        if (of_parts[i]) {
          own[part].emplace(value, inputs[i]);
        } else {
          inputs[i] = first[i];
          shared.insert_or_assign(value, inputs[i]);
        }
      }
      replicas.push_back({inputs});
    }
    const auto of = [&](size_t part, ValueId value) -> const Literal& {
      return own[part].contains(value) ? own[part].at(value) : shared.at(value);
    };
    size_t next = 0;
    for (size_t i = 0; i <= cut.stages.size(); ++i) {
      for (; next < cut.cuts.size() && cut.behind[next] == i; ++next) {
        const GraphPiece& at = cut.cuts[next];
        const auto operands = graph->inputs(graph->node(at.nodes[0]));
        for (size_t k = 0; k < operands.size(); ++k) {
          Literal all = of(0, operands[k]);
          for (size_t part = 1; part < kParts; ++part) all = sum(all, of(part, operands[k]));
          shared.insert_or_assign(at.outputs[k], all);
        }
      }
      if (i == cut.stages.size()) continue;
      const GraphPiece& stage = cut.stages[i];
      (stage.of_parts ? stages_of_parts : shared_stages)++;
      if (!stage.of_parts) run(*graph, stage, {}, shared);
      for (size_t part = 0; part < kParts && stage.of_parts; ++part) run(*graph, stage, shared, own[part]);
    }
    const GridValues wanted = interpret_grid(*graph, replicas);
    for (size_t part = 0; part < kParts; ++part)
      for (size_t i = 0; i < graph->outputs().size(); ++i)
        EXPECT_TRUE(of(part, graph->outputs()[i].value) == wanted[part][0][i]) << part << ": output " << i;
  }
  EXPECT_GT(shared_stages, 150u);
  EXPECT_GT(stages_of_parts, 150u);
}

TEST(CutGraph, WhatPartsShareIsComputedOnce) {
  GraphBuilder builder;
  const SinkScope scope(builder);
  const Tensor x = builder.argument("x", {DType::kF32, {6, 4}}),
               w = builder.argument("w", {DType::kF32, {4}});
  const Tensor narrow = tanh(w);
  const Tensor total = all_reduce({reduce_sum(x * broadcast_in_dim(narrow, {6, 4}, {1}), {0})})[0];
  builder.result("next", w - total * narrow);
  const auto graph = builder.finish();
  const CutGraph cut = cut_graph(*graph, meets, {.of_parts = {true, false}});
  ASSERT_EQ(cut.stages.size(), 3u);
  EXPECT_FALSE(cut.stages[0].of_parts);
  EXPECT_TRUE(cut.stages[1].of_parts);
  EXPECT_FALSE(cut.stages[2].of_parts);
  EXPECT_EQ(cut.behind, (std::vector<size_t>{2}));
  EXPECT_TRUE(cut.cuts[0].of_parts);
  // The four numbers cross, and not what they are made to be for each row.
  EXPECT_EQ(cut.stages[0].outputs.size(), 1u);
  EXPECT_EQ(graph->type(cut.stages[0].outputs[0]).shape, (Shape{4}));
  const auto has_tanh = [&](const GraphPiece& piece) {
    return std::ranges::any_of(graph_of(*graph, piece, "piece")->nodes(),
                               [](const Node& node) { return node.op == &op_tanh; });
  };
  EXPECT_TRUE(has_tanh(cut.stages[0]));
  EXPECT_FALSE(has_tanh(cut.stages[1]));
  EXPECT_FALSE(has_tanh(cut.stages[2]));
}

}  // namespace
}  // namespace espalier
