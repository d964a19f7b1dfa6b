// Collectives on grids of processes: gradients as transposes, and what is refused.
// tests/grid_conformance_test.cc has the cases of others.
#include <random>

#include <gtest/gtest.h>

#include "espalier/error.h"
#include "interp/interpreter.h"
#include "ir/builder.h"
#include "ops/collective.h"
#include "runtime/executable.h"
#include "text/text.h"

namespace espalier {
namespace {

using Collective = std::function<std::vector<Tensor>(const Tensor&)>;

std::shared_ptr<Graph> program_of(const Collective& f, const TensorType& in) {
  GraphBuilder builder("main");
  const SinkScope scope(builder);
  builder.result("y", f(builder.argument("x", in))[0]);
  return builder.finish();
}

// The sum over processes of <cotangent, f(x)> is that of <gradient, x>: what a transpose is.
void expect_transpose(const char* name, const Collective& f, int64_t replicas, int64_t partitions,
                      const Shape& shape) {
  const TensorType in{DType::kF64, shape};
  GraphBuilder body("body");
  {
    const SinkScope scope(body);
    body.result("y", f(body.argument("x", in))[0]);
  }
  const auto graph = body.finish();
  const TensorType out = graph->type(graph->outputs()[0].value);
  GraphBuilder both("both");
  {
    const SinkScope scope(both);
    const Tensor x = both.argument("x", in), g = both.argument("g", out);
    both.result("y", f(x)[0]);
    both.result("dx", region_vjp(*graph, {&x, 1}, {&g, 1}, {true})[0]);
  }
  const auto whole = both.finish();
  whole->verify();
  EXPECT_TRUE(*parse_program(print_program(*whole)) == *whole) << name << "\n" << print_program(*whole);
  std::mt19937 random(1);
  std::uniform_int_distribution<int> draw(-9, 9);
  const auto drawn = [&](const TensorType& type) {
    std::vector<double> values(static_cast<size_t>(type.elements()));
    for (double& value : values) value = draw(random);
    return Literal::copy(type, values.data());
  };
  GridValues inputs(static_cast<size_t>(replicas));
  for (auto& replica : inputs) {
    for (int64_t p = 0; p < partitions; ++p) replica.push_back({drawn(in), drawn(out)});
  }
  const GridValues outputs = interpret_grid(*whole, inputs);
  const auto dot = [](const Literal& a, const Literal& b) {
    const Literal x = a.expanded(), y = b.expanded();
    double sum = 0;
    for (int64_t i = 0; i < x.type().elements(); ++i)
      sum += x.view().as<double>()[i] * y.view().as<double>()[i];
    return sum;
  };
  double forward = 0, backward = 0, size = 0;
  for (size_t r = 0; r < inputs.size(); ++r) {
    for (size_t p = 0; p < inputs[r].size(); ++p) {
      forward += dot(inputs[r][p][1], outputs[r][p][0]);
      backward += dot(inputs[r][p][0], outputs[r][p][1]);
      size += dot(outputs[r][p][1], outputs[r][p][1]);
    }
  }
  EXPECT_EQ(forward, backward) << name;
  EXPECT_GT(size, 0) << name;
}

TEST(Grid, GradientsAreTransposes) {
  const CollectiveGroups pairs{.replica_groups = flat_groups({{1, 0}, {2, 3}})};
  CollectiveGroups channel = pairs, global = pairs;
  channel.channel = 1;
  global.channel = 1;
  global.global = true;
  const auto sum = [](CollectiveGroups g) {
    return [g](const Tensor& x) { return all_reduce({x}, Reducer::kSum, g); };
  };
  expect_transpose("all_reduce", sum({}), 4, 1, {3});
  expect_transpose("all_reduce of pairs", sum(pairs), 4, 2, {3});
  expect_transpose("all_reduce over a channel", sum(channel), 4, 2, {3});
  expect_transpose("all_reduce of global ids", sum(global), 2, 2, {3});
  expect_transpose("ragged", sum({.replica_groups = flat_groups({{0, 2}, {1}})}), 3, 1, {3});
  expect_transpose("all_gather", [&](const Tensor& x) { return all_gather({x}, 1, 2, pairs); }, 4, 1, {2, 3});
  expect_transpose("all_gather over a channel",
                   [&](const Tensor& x) { return all_gather({x}, 0, 4, channel); }, 4, 2, {2, 3});
  expect_transpose(
      "reduce_scatter",
      [&](const Tensor& x) { return std::vector<Tensor>{reduce_scatter(x, 1, 2, Reducer::kSum, pairs)}; }, 4,
      1, {2, 4});
  expect_transpose("all_to_all", [&](const Tensor& x) { return all_to_all({x}, 1, 0, 2, pairs); }, 4, 1,
                   {3, 4});
  expect_transpose("all_to_all of partitions",
                   [&](const Tensor& x) { return all_to_all({x}, 0, 0, 2, channel); }, 2, 4, {4});
  expect_transpose("collective_permute",
                   [](const Tensor& x) {
                     return collective_permute({x}, {0, 1, 1, 2, 3, 3});
                   },
                   5, 1, {2});
  expect_transpose("collective_permute of partitions",
                   [](const Tensor& x) {
                     return collective_permute({x}, {0, 1, 1, 2}, 1);
                   },
                   2, 3, {2});
  const CollectiveGroups ragged{.replica_groups = flat_groups({{2, 0, 1}, {4, 3}})};
  CollectiveGroups of_partitions = ragged;
  of_partitions.channel = 1;
  expect_transpose("collective_broadcast", [&](const Tensor& x) { return collective_broadcast({x}, ragged); },
                   6, 1, {2});
  expect_transpose("collective_broadcast of partitions",
                   [&](const Tensor& x) { return collective_broadcast({x}, of_partitions); }, 2, 6, {2});
  expect_transpose("collective_broadcast to all", [&](const Tensor& x) { return collective_broadcast({x}); },
                   3, 2, {2});
}

TEST(Grid, ThoseThatReachAnExtremeShareWhatComes) {
  const TensorType scalar{DType::kF64, {}};
  const auto body = program_of([](const Tensor& x) { return all_reduce({x}, Reducer::kMax); }, scalar);
  GraphBuilder builder("main");
  {
    const SinkScope scope(builder);
    const Tensor x = builder.argument("x", scalar), g = builder.argument("g", scalar);
    builder.result("dx", region_vjp(*body, {&x, 1}, {&g, 1}, {true})[0]);
  }
  GridValues inputs;
  for (const double x : {2.0, 5.0, 5.0})
    inputs.push_back({{Literal::splat(scalar, x), Literal::splat(scalar, 1.0)}});
  const GridValues outputs = interpret_grid(*builder.finish(), inputs);
  const double expected[] = {0, 1.5, 1.5};
  for (size_t r = 0; r < 3; ++r) {
    const Literal got = outputs[r][0][0].expanded();
    EXPECT_EQ(*got.view().as<double>(), expected[r]) << r;
  }
}

TEST(Grid, ABatchIsItsExamples) {
  const CollectiveGroups pairs{.replica_groups = flat_groups({{1, 0}, {2, 3}})};
  const std::pair<const char*, Collective> all[] = {
      {"all_reduce", [&](const Tensor& x) { return all_reduce({x}, Reducer::kSum, pairs); }},
      {"all_gather", [&](const Tensor& x) { return all_gather({x}, 1, 2, pairs); }},
      {"reduce_scatter",
       [&](const Tensor& x) { return std::vector<Tensor>{reduce_scatter(x, 1, 2, Reducer::kSum, pairs)}; }},
      {"all_to_all", [&](const Tensor& x) { return all_to_all({x}, 1, 0, 2, pairs); }},
      {"collective_permute",
       [](const Tensor& x) {
         return collective_permute({x}, {0, 1, 1, 3});
       }},
      {"collective_broadcast", [&](const Tensor& x) { return collective_broadcast({x}, pairs); }}};
  const TensorType one{DType::kF64, {2, 4}}, batch{DType::kF64, {3, 2, 4}};
  for (const auto& [name, f] : all) {
    const auto single = program_of(f, one);
    GraphBuilder builder("main");
    {
      const SinkScope scope(builder);
      const Tensor x = builder.argument("x", batch);
      builder.result("y", region_batch(*single, {&x, 1}, {true}, {true}, 3)[0]);
    }
    std::vector<double> values(4 * 24);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * i % 37);
    GridValues whole;
    for (size_t r = 0; r < 4; ++r) whole.push_back({{Literal::copy(batch, values.data() + 24 * r)}});
    const GridValues got = interpret_grid(*builder.finish(), whole);
    for (size_t b = 0; b < 3; ++b) {
      GridValues example;
      for (size_t r = 0; r < 4; ++r)
        example.push_back({{Literal::copy(one, values.data() + 24 * r + 8 * b)}});
      const GridValues wanted = interpret_grid(*single, example);
      for (size_t r = 0; r < 4; ++r) {
        const Literal part = wanted[r][0][0].expanded(), all_parts = got[r][0][0].expanded();
        ASSERT_EQ(all_parts.raw_bytes(), 3 * part.raw_bytes()) << name;
        EXPECT_EQ(
            std::memcmp(part.raw(), static_cast<const std::byte*>(all_parts.raw()) + b * part.raw_bytes(),
                        part.raw_bytes()),
            0)
            << name << ", example " << b << ", replica " << r;
      }
    }
  }
}

TEST(Grid, AGroupBeyondTheGridIsRefused) {
  const CollectiveGroups groups{.replica_groups = flat_groups({{0, 1}})};
  const auto graph =
      program_of([&](const Tensor& x) { return all_reduce({x}, Reducer::kSum, groups); }, {DType::kF32, {}});
  try {
    interpret_grid(*graph, {{{Literal::splat({DType::kF32, {}}, 1.0)}}});
    ADD_FAILURE() << "not refused";
  } catch (const RunError& error) {
    EXPECT_NE(error.message().find("all_reduce"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("1 replicas"), std::string::npos) << error.message();
  }
}

TEST(Grid, WhoWaitsInVainIsTold) {
  // Replica 0 alone calls: the region of an if.
  const auto graph = parse_program(R"(
func.func @main(%arg0: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.replica_id"() : () -> tensor<ui32>
  %1 = "stablehlo.constant"() {value = dense<0> : tensor<ui32>} : () -> tensor<ui32>
  %2 = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  %3 = "stablehlo.if"(%2) ({
    %4 = "stablehlo.all_reduce"(%arg0) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %5 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%5) : (tensor<f32>) -> ()
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%4) : (tensor<f32>) -> ()
  }, {
    "stablehlo.return"(%arg0) : (tensor<f32>) -> ()
  }) : (tensor<i1>) -> tensor<f32>
  "func.return"(%3) : (tensor<f32>) -> ()
}
)");
  const Literal one = Literal::splat({DType::kF32, {}}, 1.0);
  try {
    interpret_grid(*graph, {{{one}}, {{one}}});
    ADD_FAILURE() << "not told";
  } catch (const RunError& error) {
    EXPECT_NE(error.message().find("never come"), std::string::npos) << error.message();
  }
}

// Those that have no kernel among ranks, and groups of a part of them.
TEST(Grid, CompileRefusesCollectivesByNameUnlessTheWorldIsOne) {
  const TensorType pair{DType::kF32, {2}};
  const std::pair<const char*, std::shared_ptr<const Graph>> refused[] = {
      {"all_to_all", program_of([](const Tensor& x) { return all_to_all({x}, 0, 0, 2); }, pair)},
      {"collective_permute", program_of(
                                 [](const Tensor& x) {
                                   return collective_permute({x}, {0, 1});
                                 },
                                 pair)},
      {"all_reduce", program_of(
                         [](const Tensor& x) {
                           return all_reduce({x}, Reducer::kSum, {.replica_groups = flat_groups({{0}, {1}})});
                         },
                         pair)}};
  for (const auto& [name, graph] : refused) {
    compile(graph);
    try {
      compile(graph, {.world = 2});
      ADD_FAILURE() << "not refused: " << name;
    } catch (const UnsupportedError& error) {
      EXPECT_NE(error.message().find(cat(name, " at grid_test.cc:")), std::string::npos) << error.message();
    }
  }
  compile(program_of([](const Tensor& x) { return all_reduce({x}); }, pair), {.world = 2});
}

TEST(Grid, ReplicasHaveEquallyManyPartitions) {
  const auto graph = program_of([](const Tensor& x) { return all_reduce({x}); }, {DType::kF32, {}});
  EXPECT_THROW(interpret_grid(*graph, {}), ShapeError);
  const Literal one = Literal::splat({DType::kF32, {}}, 1.0);
  EXPECT_THROW(interpret_grid(*graph, {{{one}}, {{one}, {one}}}), ShapeError);
}

}  // namespace
}  // namespace espalier
