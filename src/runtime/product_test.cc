// Products, pooling and the elementwise ops that go over their parts as these are done.
#include <cmath>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "espalier/ops.h"
#include "ir/builder.h"
#include "ir/difference_test.h"
#include "ops/select_and_scatter.h"
#include "runtime/donated_arrays_test.h"
#include "runtime/executable.h"
#include "runtime/plan.h"
#include "runtime/profile.h"

namespace espalier {
namespace {

constexpr DType kF = DType::kF32;

Literal values(const TensorType& type, uint32_t seed) {
  std::vector<float> out(static_cast<size_t>(type.elements()));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] =
        static_cast<float>((static_cast<uint32_t>(i) * 2654435761u + seed * 40503u) >> 9 & 1023) / 512 - 1;
  return Literal::copy(type, out.data());
}

Literal random_values(const TensorType& type, uint32_t seed) {
  std::mt19937 random(seed);
  Buffer buffer = allocate_buffer(type.bytes());
  for (int64_t i = 0; i < type.elements(); ++i) {
    const double x = std::uniform_real_distribution<double>(-1, 1)(random);
    store_scalar(type.dtype, x, buffer.get() + static_cast<size_t>(i) * size_of(type.dtype));
  }
  return Literal(type, buffer);
}

struct Case {
  const char* what;
  std::vector<TensorType> inputs;
  size_t steps;
  std::function<void(GraphBuilder&, const std::vector<Tensor>&)> build;
};

// One for each way of a product through its tasks.
std::vector<Case> cases() {
  const auto bias = [](const Tensor& y, const Tensor& b) {
    return add(y, broadcast_in_dim(b, y.shape(), {static_cast<int64_t>(y.shape().size()) - 1}));
  };
  const auto matmul = [](const Tensor& a, const Tensor& b) {
    return dot_general(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}});
  };
  const auto zeros = [](const Tensor& y) { return full(y.shape(), 0, kF); };
  return {
      {"a split depth with bias, relu and its mask",
       {{kF, {64, 784}}, {kF, {784, 128}}, {kF, {128}}},
       1,
       [=](GraphBuilder& builder, const std::vector<Tensor>& in) {
         const Tensor y = bias(matmul(in[0], in[1]), in[2]);
         builder.result("relu", maximum(y, zeros(y)));
         builder.result("mask", compare(y, zeros(y), Comparison::kGT));
       }},
      {"tall, block by block, kept as well as used",
       {{kF, {210, 900}}, {kF, {900, 700}}, {kF, {700}}},
       1,
       [=](GraphBuilder& builder, const std::vector<Tensor>& in) {
         const Tensor y = matmul(in[0], in[1]);
         builder.result("y", y);
         builder.result("z", tanh(bias(y, in[2])));
       }},
      {"few rows, tasks of some columns",
       {{kF, {8, 100}}, {kF, {100, 3000}}, {kF, {8, 3000}}},
       1,
       [=](GraphBuilder& builder, const std::vector<Tensor>& in) {
         builder.result("y", multiply(matmul(in[0], in[1]), in[2]));
       }},
      {"an operand is the residual, and dies",
       {{kF, {128, 128}}, {kF, {128, 128}}},
       3,
       [=](GraphBuilder& builder, const std::vector<Tensor>& in) {
         const Tensor x = negate(in[0]), y = matmul(x, in[1]);
         builder.result("y", y);
         builder.result("z", matmul(add(y, x), in[1]));
       }},
      {"batched",
       {{kF, {6, 40, 50}}, {kF, {6, 50, 60}}, {kF, {60}}},
       1,
       [=](GraphBuilder& builder, const std::vector<Tensor>& in) {
         const Tensor y = dot_general(
             in[0], in[1],
             {.lhs_batching = {0}, .rhs_batching = {0}, .lhs_contracting = {2}, .rhs_contracting = {1}});
         builder.result("y", tanh(bias(y, in[2])));
       }},
      {"convolution",
       {{kF, {8, 14, 14, 16}}, {kF, {3, 3, 16, 40}}, {kF, {40}}},
       1,
       [=](GraphBuilder& builder, const std::vector<Tensor>& in) {
         const Tensor y = convolution(in[0], in[1], {.dimensions = channels_last(2)});
         builder.result("y", maximum(bias(y, in[2]), zeros(bias(y, in[2]))));
       }},
      {"pooling, and who wins",
       {{kF, {6, 13, 11, 20}}},
       1,
       [=](GraphBuilder& builder, const std::vector<Tensor>& in) {
         const Tensor y = max_pool(in[0], {.window = {1, 3, 2, 1}, .strides = {1, 2, 2, 1}});
         builder.result("y", y);
         builder.result("mask", compare(y, zeros(y), Comparison::kGT));
       }},
      {"the gradient of pooling, past rows that no window covers",
       {{kF, {6, 13, 11, 20}}, {kF, {6, 6, 5, 20}}, {kF, {6, 13, 11, 20}}},
       2,
       [=](GraphBuilder& builder, const std::vector<Tensor>& in) {
         const Tensor mask = compare(in[2], zeros(in[2]), Comparison::kGT);
         Window window;
         window.sizes = window.strides = {1, 2, 2, 1};
         const Tensor y = select_and_scatter(in[0], in[1], full({}, 0, kF), window, SelectBy::kGE);
         builder.result("y", select(mask, y, in[0]));
       }},
      {"integers have no kernel",
       {{kF, {30, 40}}, {kF, {40, 50}}},
       3,
       [=](GraphBuilder& builder, const std::vector<Tensor>& in) {
         const Tensor y = matmul(convert(in[0], DType::kI32), convert(in[1], DType::kI32));
         builder.result("y", add(y, y));
       }},
      {"an update is a step of its own",
       {{kF, {64, 784}}, {kF, {784, 128}}, {kF, {64, 128}}},
       2,
       [=](GraphBuilder& builder, const std::vector<Tensor>& in) {
         const Tensor w = builder.input(InputKind::kVariable, "w", {kF, {784, 128}});
         const Tensor gradient = dot_general(in[0], in[2], {.lhs_contracting = {0}, .rhs_contracting = {0}});
         builder.output(OutputKind::kUpdate, "w", subtract(w, gradient));
         (void)in[1];
       }},
  };
}

TEST(Products, WhatFollowsThemGivesTheBitsOfAStepOfItsOwn) {
  for (const Case& c : cases()) {
    GraphBuilder builder;
    std::vector<Literal> inputs;
    {
      SinkScope scope(builder);
      std::vector<Tensor> arguments;
      for (const TensorType& type : c.inputs) {
        arguments.push_back(builder.argument(cat("x", arguments.size()), type));
        inputs.push_back(values(type, static_cast<uint32_t>(inputs.size())));
      }
      c.build(builder, arguments);
    }
    const auto graph = builder.finish();
    for (size_t i = inputs.size(); i < graph->inputs().size(); ++i)
      inputs.push_back(values(graph->type(graph->inputs()[i].value), 9));
    const auto wanted = run(*compile(graph, {.fuse = false, .check = true}), inputs, RunContext::current());
    for (const bool smallest : {false, true}) {
      const SmallestChunks chunks(smallest);
      for (const int threads : {1, 2, 3}) {
        thread_pool().set_threads(threads);
        const auto plan = compile(graph, {.check = true});
        EXPECT_EQ(plan->step_count(), c.steps) << c.what;
        const auto got = run(*plan, inputs, RunContext::current());
        for (size_t i = 0; i < wanted.size(); ++i)
          EXPECT_EQ(difference(wanted[i], got[i]), "")
              << c.what << ", output " << i << ", " << threads << " threads";
      }
    }
  }
  thread_pool().set_threads(0);
}

// What widens a gradient to f32 is no array, unless it is wanted besides.
void expect_read_as_it_is(DType dtype, bool kept) {
  const TensorType type{kF, {96, 96}};
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    const Tensor p = builder.argument("p", type), m = builder.argument("m", type),
                 v = square(builder.argument("v", type)), x = builder.argument("x", type);
    const Tensor gradient = convert(square(convert(x, dtype)), kF);
    const Tensor one = full({}, 1, kF), step = full({}, 3, DType::kI64), apply = full({}, 1, DType::kBool);
    for (const Tensor& y : adam(p, m, v, gradient, one, step, one, apply)) builder.result("y", y);
    if (kept) builder.result("gradient", gradient);
  }
  const auto graph = builder.finish();
  std::vector<Literal> inputs;
  for (uint32_t i = 0; i < 4; ++i) inputs.push_back(values(type, i));
  const auto wanted = run(*compile(graph, {.fuse = false, .check = true}), inputs, RunContext::current());
  const auto plan = compile(graph, {.check = true});
  const Profiler profiler;
  const auto got = run(*plan, inputs, RunContext::current());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(difference(wanted[i], got[i]), "") << "output " << i;
  std::string steps;
  for (const StepProfile& profiled : profiler.steps()) steps += profiled.what + "; ";
  EXPECT_EQ(steps.find("convert f32[96,96]") != std::string::npos, kept) << steps;
}
TEST(Products, AnOptimizerReadsAHalfGradientAsItIs) {
  for (const bool kept : {false, true}) {
    expect_read_as_it_is(DType::kBF16, kept);
    expect_read_as_it_is(DType::kF16, kept);
  }
}

// relu(x . right), times 2: `right` is an argument or, with `known`, a constant of the graph. `how`: as it
// is, by rows of its transpose, in f32 that is cast.
std::shared_ptr<const Graph> product_of(const TensorType& left, const Literal& right, int how, bool known) {
  GraphBuilder builder;
  SinkScope scope(builder);
  const Tensor x = builder.argument("x", left);
  const Tensor given = known ? make_concrete(right) : builder.argument("b", right.type());
  const Tensor b = how == 2 ? convert(given, left.dtype) : given;
  const int64_t rank = static_cast<int64_t>(left.shape.size());
  DotAxes axes{.lhs_contracting = {rank - 1}, .rhs_contracting = {how == 1 ? rank - 1 : rank - 2}};
  if (rank == 3) axes.lhs_batching = axes.rhs_batching = {0};
  const Tensor y = dot_general(x, b, axes);
  builder.result("y", maximum(add(y, y), full(y.shape(), 0, left.dtype)));
  return builder.finish();
}

TEST(Products, AKnownRightFactorIsPackedOnceAndGivesTheSameBits) {
  const int64_t shapes[][4] = {{0, 1, 40, 30},   {0, 1, 700, 200},  {0, 7, 900, 33},   {0, 64, 784, 128},
                               {0, 90, 300, 70}, {0, 450, 530, 70}, {0, 400, 31, 1},   {0, 70, 0, 40},
                               {3, 40, 50, 60},  {2, 400, 70, 130}, {0, 210, 900, 700}};
  for (const DType dtype : {kF, DType::kBF16}) {
    for (const auto& [batches, rows, depth, columns] : shapes) {
      for (const int how : {0, 1, 2}) {
        TensorType left{dtype, {rows, depth}}, right{how == 2 ? kF : dtype, {depth, columns}};
        if (how == 1) std::swap(right.shape[0], right.shape[1]);
        if (batches) left.shape.insert(0, batches), right.shape.insert(0, batches);
        const Literal x = random_values(left, 1), b = random_values(right, 2);
        const auto known = product_of(left, b, how, true), open = product_of(left, b, how, false);
        const std::string what = cat(left, " by ", right, ", ", how);
        for (const int threads : {1, 2, 3}) {
          thread_pool().set_threads(threads);
          const SmallestChunks smallest(threads == 3);
          const auto plan = compile(known, {.check = true}), other = compile(open, {.check = true});
          const Literal wanted = run(*other, std::vector{x, b}, RunContext::current())[0];
          EXPECT_EQ(plan->step_count(), other->step_count()) << what;
          for (int call = 0; call < 2; ++call)
            EXPECT_EQ(difference(wanted, run(*plan, std::vector{x}, RunContext::current())[0]), "")
                << what << ", call " << call;
        }
      }
    }
  }
  thread_pool().set_threads(0);
  // One element that stands for all of them.
  const TensorType few{kF, {70, 300}}, all{kF, {300, 90}};
  const Literal x = random_values(few, 1), splat = Literal::splat(all, 0.3);
  EXPECT_EQ(
      difference(run(*compile(product_of(few, splat, 0, false)), std::vector{x, splat.expanded()},
                     RunContext::current())[0],
                 run(*compile(product_of(few, splat, 0, true)), std::vector{x}, RunContext::current())[0]),
      "");
  // The room for a packed factor is the plan's, not the run's.
  const TensorType tall{kF, {400, 512}}, wide{kF, {512, 600}};
  const Literal b = random_values(wide, 2);
  EXPECT_GE(compile(product_of(tall, b, 0, false))->arena_bytes(), wide.bytes());
  EXPECT_LT(compile(product_of(tall, b, 0, true))->arena_bytes(), wide.bytes());
}

// Two products read a variable's cast, the variable is updated over itself: both must see the old value.
TEST(Products, AnUpdateInPlaceComesAfterEveryReadOfItsCast) {
  const TensorType x_type{kF, {40, 96}}, w_type{kF, {96, 96}};
  GraphBuilder builder;
  {
    SinkScope scope(builder);
    const Tensor x = builder.argument("x", x_type), w = builder.input(InputKind::kVariable, "w", w_type);
    const auto product = [](const Tensor& a, const Tensor& b) {
      return dot_general(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}});
    };
    const Tensor low = convert(w, DType::kBF16);
    const Tensor first = product(convert(x, DType::kBF16), low);
    builder.output(OutputKind::kUpdate, "w", multiply(w, full(w_type.shape, -3, kF)));
    builder.result("y", convert(product(first, low), kF));
  }
  const auto graph = builder.finish();
  const std::vector<Literal> inputs{values(x_type, 1), values(w_type, 2)};
  const auto wanted = run(*compile(graph, {.fuse = false, .fast_kernels = false, .check = true}), inputs,
                          RunContext::current());
  for (const bool fuse : {false, true}) {
    const auto plan = compile_donating(graph, {.fuse = fuse, .check = true});
    const Literal w = Literal::copy(w_type, inputs[1].raw());
    Buffer y = allocate_buffer(graph->type(graph->outputs()[0].value).bytes());
    std::vector<MutableArrayView> targets;
    for (size_t i = 0; i < graph->outputs().size(); ++i) {
      const bool update = graph->outputs()[i].kind == OutputKind::kUpdate;
      const TensorType& type = graph->type(graph->outputs()[i].value);
      targets.push_back({&type, update ? w.buffer().get() : y.get()});
    }
    const std::vector<ArrayView> views{inputs[0].view(), w.view()};
    run(*plan, views, targets, RunContext::current());
    for (size_t i = 0; i < targets.size(); ++i) {
      const auto* got = static_cast<const float*>(targets[i].data);
      const auto* right = static_cast<const float*>(wanted[i].raw());
      for (int64_t n = 0; n < targets[i].type->elements(); ++n)
        ASSERT_NEAR(got[n], right[n], 0x1p-6 * std::fabs(right[n]) + 0.1) << "output " << i << " at " << n;
    }
  }
}

}  // namespace
}  // namespace espalier
