#include "runtime/executable.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "base/until_helped_test.h"
#include "interp/interpreter.h"
#include "runtime/donated_arrays_test.h"
#include "runtime/plan.h"
#include "tests/random_graph.h"
#include "text/text.h"

namespace espalier {
namespace {

constexpr CompileOptions kChecked{.check = true};

Literal f32(const Shape& shape, std::vector<float> values) {
  return Literal::copy({DType::kF32, shape}, values.data());
}

// Runs with every update written over its variable.
std::vector<Literal> run_donated(const Executable& plan, std::span<const Literal> inputs) {
  const Graph& graph = plan.graph();
  std::vector<Literal> copies, results;
  std::vector<ArrayView> views;
  std::vector<MutableArrayView> targets;
  std::vector<Buffer> buffers;
  copies.reserve(inputs.size());
  results.reserve(graph.outputs().size());
  for (const Literal& input : inputs) {
    const Literal dense = input.expanded();
    copies.push_back(Literal::copy(dense.type(), dense.raw()));
    views.push_back(copies.back().view());
  }
  for (const GraphOutput& output : graph.outputs()) {
    Buffer buffer = allocate_buffer(graph.type(output.value).bytes());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const GraphInput& input = graph.inputs()[i];
      if (input.kind == InputKind::kVariable && output.kind == OutputKind::kUpdate &&
          input.name == output.name)
        buffer = copies[i].buffer();
    }
    results.emplace_back(graph.type(output.value), buffer);
    targets.push_back({&results.back().type(), buffer.get()});
  }
  run(plan, views, targets, RunContext::current());
  return results;
}

void expect_equal(std::span<const Literal> wanted, std::span<const Literal> got, const std::string& what) {
  ASSERT_EQ(wanted.size(), got.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::string found = difference(wanted[i], got[i]);
    EXPECT_EQ(found, "") << "output " << i << ", " << what;
  }
}

TEST(Executable, RandomGraphsGiveTheInterpretersBits) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random(seed);
    const std::vector<Literal> wanted = interpret(*random.graph, random.inputs, RunContext::current());
    for (int variant = 0; variant < 4; ++variant) {
      const CompileOptions options{
          .fuse = variant != 1, .reuse_memory = variant != 2, .fast_kernels = variant != 3, .check = true};
      const auto plan = compile_donating(random.graph, options);
      const std::string what = cat("seed ", seed, ", variant ", variant);
      expect_equal(wanted, run(*plan, random.inputs, RunContext::current()), what);
      expect_equal(wanted, run_donated(*plan, random.inputs), what + ", donated");
      expect_equal(wanted, run(*plan, random.inputs, RunContext::current()), what + ", again");
    }
  }
}

// Fused tiles, a dot and sums, each worth the pool.
struct SharedWork {
  SharedWork() {
    GraphBuilder builder;
    {
      SinkScope scope(builder);
      const Tensor x = builder.argument("x", {DType::kF32, {300, 700}});
      const Tensor w = builder.argument("w", {DType::kF32, {700, 130}});
      const Tensor b = builder.argument("b", {DType::kF32, {700}});
      const Tensor y = dot(sqrt(maximum(x + b, 0)) * 0.3, w);
      builder.result("y", y);
      builder.result("sum", reduce_sum(y, {0}));
      builder.result("rows", reduce_sum(x * x, {1}));
      builder.result("columns", reduce_sum(x, {0}));
    }
    graph = builder.finish();
    std::mt19937 random(7);
    for (const GraphInput& input : graph->inputs()) {
      std::vector<float> values(graph->type(input.value).elements());
      for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(random);
      inputs.push_back(Literal::copy(graph->type(input.value), values.data()));
    }
  }
  std::shared_ptr<const Graph> graph;
  std::vector<Literal> inputs;
};

TEST(Executable, ThreadsDoNotChangeBits) {
  const SharedWork work;
  const auto plan = compile(work.graph, kChecked);
  const int before = thread_pool().threads();
  thread_pool().set_threads(1);
  const std::vector<Literal> wanted = run(*plan, work.inputs, RunContext::current());
  for (const int threads : {2, 3, 5}) {
    thread_pool().set_threads(threads);
    expect_equal(wanted, run(*plan, work.inputs, RunContext::current()), cat(threads, " threads"));
  }
  // In chunks of any size, where helpers may do each.
  const SmallestChunks smallest;
  const auto cut = compile(work.graph, kChecked);
  for (const int threads : {1, 2, 3}) {
    thread_pool().set_threads(threads);
    const auto once = [&] {
      expect_equal(wanted, run(*cut, work.inputs, RunContext::current()),
                   cat(threads, " threads, smallest chunks"));
    };
    threads > 1 ? until_helped(once) : once();
  }
  thread_pool().set_threads(before);
}

TEST(Executable, RandomGraphsInTheSmallestChunks) {
  const SmallestChunks smallest;
  const int before = thread_pool().threads();
  thread_pool().set_threads(3);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random(seed);
    const std::vector<Literal> wanted = interpret(*random.graph, random.inputs, RunContext::current());
    expect_equal(wanted, run(*compile(random.graph, kChecked), random.inputs, RunContext::current()),
                 cat("seed ", seed));
  }
  thread_pool().set_threads(before);
}

// Callers that share a plan and the pool: the first to come has the helpers, the others compute alone.
TEST(Executable, TwoThreadsRunOnePlan) {
  const SharedWork work;
  const auto plan = compile(work.graph);
  const int before = thread_pool().threads();
  thread_pool().set_threads(1);
  const std::vector<Literal> wanted = run(*plan, work.inputs, RunContext::current());
  thread_pool().set_threads(2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i)
        expect_equal(wanted, run(*plan, work.inputs, RunContext::current()), "thread");
    });
  }
  for (std::thread& thread : threads) thread.join();

  std::atomic<int> inside{0};
  std::atomic<bool> done{false};
  std::thread holder([&] {
    thread_pool().parallel_for(2, [&](int64_t) {
      ++inside;
      while (!done) std::this_thread::yield();
    });
  });
  while (inside < 2) std::this_thread::yield();
  const uint64_t helped = thread_pool().helped();
  expect_equal(wanted, run(*plan, work.inputs, RunContext::current()), "the pool is busy");
  EXPECT_EQ(thread_pool().helped(), helped);
  done = true;
  holder.join();
  thread_pool().set_threads(before);
}

// A variable whose old value is read after its update has been computed.
TEST(Executable, OldValueIsReadAfterTheUpdate) {
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    const Tensor v = builder.input(InputKind::kVariable, "v", {DType::kF32, {3}});
    const Tensor next = v + 1;
    builder.output(OutputKind::kUpdate, "v", next);
    builder.result("late", reduce_sum(next, {0}) * v);
    builder.result("flipped", transpose(reshape(v, {3, 1}), {1, 0}));
  }
  const auto graph = builder.finish();
  const std::vector<Literal> inputs{f32({3}, {1, 2, 3})};
  const auto out = run_donated(*compile_donating(graph, kChecked), inputs);
  EXPECT_EQ(out[0], f32({3}, {2, 3, 4}));
  EXPECT_EQ(out[1], f32({3}, {9, 18, 27}));
  EXPECT_EQ(out[2], f32({1, 3}, {1, 2, 3}));
}

// A value that dies in a fused step and is read there after a first result could have taken its bytes.
TEST(Executable, DyingOperandIsReadToTheEnd) {
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    const Tensor a = transpose(builder.argument("x", {DType::kF32, {2, 2}}), {1, 0});
    const Tensor y = a + 1;
    builder.result("z", transpose(y * a, {1, 0}));
    builder.result("y", transpose(y, {1, 0}));
  }
  const auto out = run(*compile(builder.finish(), kChecked), std::vector{f32({2, 2}, {1, 2, 3, 4})},
                       RunContext::current());
  EXPECT_EQ(out[0], f32({2, 2}, {2, 6, 12, 20}));
  EXPECT_EQ(out[1], f32({2, 2}, {2, 3, 4, 5}));
}

TEST(Executable, VariablesSwap) {
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    const Tensor a = builder.input(InputKind::kVariable, "a", {DType::kF32, {2}});
    const Tensor b = builder.input(InputKind::kVariable, "b", {DType::kF32, {2}});
    builder.output(OutputKind::kUpdate, "a", b);
    builder.output(OutputKind::kUpdate, "b", a);
    builder.result("a", a);
  }
  const auto graph = builder.finish();
  const std::vector<Literal> inputs{f32({2}, {1, 2}), f32({2}, {3, 4})};
  const auto out = run_donated(*compile_donating(graph, kChecked), inputs);
  EXPECT_EQ(out[0], f32({2}, {3, 4}));
  EXPECT_EQ(out[1], f32({2}, {1, 2}));
  EXPECT_EQ(out[2], f32({2}, {1, 2}));
}

TEST(Executable, UnchangedVariableAndRepeatedOutputs) {
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    const Tensor a = builder.input(InputKind::kVariable, "a", {DType::kF32, {2}});
    const Tensor twice = a * 2;
    builder.output(OutputKind::kUpdate, "a", a);
    builder.result("x", twice);
    builder.result("y", reshape(twice, {2, 1}));
    builder.result("c", full({2}, 7));
  }
  const auto out = run_donated(*compile_donating(builder.finish(), kChecked), std::vector{f32({2}, {1, 2})});
  EXPECT_EQ(out[0], f32({2}, {1, 2}));
  EXPECT_EQ(out[1], f32({2}, {2, 4}));
  EXPECT_EQ(out[2], f32({2, 1}, {2, 4}));
  EXPECT_EQ(out[3], f32({2}, {7, 7}));
}

TEST(Executable, RefusalsChangeNothing) {
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    const Tensor a = builder.input(InputKind::kVariable, "a", {DType::kF32, {4}});
    builder.output(OutputKind::kUpdate, "a", a + 1);
    builder.result("y", a * 2);
  }
  const auto plan = compile_donating(builder.finish());
  const TensorType type{DType::kF32, {4}}, wrong{DType::kF32, {5}};
  float a[8] = {1, 2, 3, 4}, y[5] = {9, 9, 9, 9, 9};
  const auto refused = [&](ArrayView in, MutableArrayView update, MutableArrayView result, const char* rule) {
    try {
      run(*plan, {&in, 1}, std::vector{update, result}, RunContext::current());
      ADD_FAILURE() << rule;
    } catch (const Error& error) {
      EXPECT_EQ(error.rule(), rule);
    }
    EXPECT_EQ(a[0], 1);
    EXPECT_EQ(y[0], 9);
  };
  refused({&wrong, a}, {&type, a}, {&type, y}, "run.inputs");
  refused({&type, a}, {&type, a}, {&wrong, y}, "run.outputs");
  refused({&type, a}, {&type, a + 1}, {&type, y}, "run.overlap");
  refused({&type, a}, {&type, y}, {&type, a}, "run.overlap");
  refused({&type, a}, {&type, y}, {&type, y + 1}, "run.overlap");
  const ArrayView in{&type, a};
  run(*plan, {&in, 1}, std::vector<MutableArrayView>{{&type, a}, {&type, y}}, RunContext::current());
  EXPECT_EQ(a[3], 5);
  EXPECT_EQ(y[3], 8);
}

TEST(Executable, ChainsAreFusedAndMemoryIsReused) {
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    Tensor x = builder.argument("x", {DType::kF32, {1000}});
    for (int i = 0; i < 30; ++i) x = x * 1.5 + 1;
    for (int i = 0; i < 20; ++i) x = transpose(reshape(x, {10, 100}), {1, 0});
    builder.result("y", x);
  }
  const auto plan = compile(builder.finish(), kChecked);
  EXPECT_LE(plan->step_count(), 22u);
  EXPECT_LE(plan->arena_bytes(), 2 * 4096u);
}

TEST(Executable, EmptyWorkIsDropped) {
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    const Tensor x = builder.argument("x", {DType::kF32, {0, 5}});
    builder.result("y", exponential(transpose(x + 1, {1, 0})));
    builder.result("sum", reduce_sum(x * 2, {0}));
  }
  const auto plan = compile(builder.finish(), kChecked);
  EXPECT_EQ(plan->step_count(), 1u);
  const auto out = run(*plan, std::vector{f32({0, 5}, {})}, RunContext::current());
  EXPECT_EQ(out[0].type().shape, Shape({5, 0}));
  EXPECT_EQ(out[1], f32({5}, {0, 0, 0, 0, 0}));
}

// Regions are plans of their own; one that captures, and one plan run by three threads at once.
TEST(Executable, RegionsAreSubPlans) {
  const auto graph = parse_program(R"(func.func @main(%x: tensor<3x4xf32>, %c: tensor<f32>) -> tensor<3xf32> {
    %r = "stablehlo.reduce"(%x, %c) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = "stablehlo.multiply"(%a, %c) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %s = "stablehlo.add"(%p, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
    "func.return"(%r) : (tensor<3xf32>) -> ()
  })");
  const std::vector<Literal> inputs{f32({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2}), f32({}, {10})};
  const auto plan = compile(graph, kChecked);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const auto out = run(*plan, inputs, RunContext::current());
        EXPECT_EQ(out[0], f32({3}, {101234, 105678, 109012}));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Executable, SlowMillionNodeChain) {
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    Tensor x = builder.argument("x", {DType::kF32, {2}});
    for (int i = 0; i < 500000; ++i) x = negate(x + 1.0);
    builder.result("y", x);
  }
  const auto graph = builder.finish();
  for (const bool fuse : {true, false}) {
    const auto out =
        run(*compile(graph, {.fuse = fuse}), std::vector{f32({2}, {1, 2})}, RunContext::current());
    EXPECT_EQ(out[0], f32({2}, {1, 2}));
  }
}

}  // namespace
}  // namespace espalier
