#include "espalier/tape.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "espalier/control.h"
#include "espalier/function.h"
#include "espalier/layers.h"
#include "espalier/ops.h"
#include "espalier/transforms.h"
#include "ir/buffer_watch.h"
#include "ir/sink.h"

namespace espalier {
namespace {

TEST(Tape, VariablesAreWatchedWhenRead) {
  Variable w(Tensor::of({2.0f, 3.0f}));
  GradientTape tape;
  const Tensor loss = reduce_sum(w * w, {0});
  const Tensor gradient = tape.gradient(loss, w);
  EXPECT_EQ(gradient.to_vector<float>(), (std::vector<float>{4, 6}));
  EXPECT_EQ(tape.watched_variables().size(), 1u);  // also when spent
}

TEST(Tape, SecondDerivativeByNesting) {
  const Tensor x = Tensor::of({3.0f});
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor y = x * x * x;
  const Tensor first = inner.gradient(y, Source(x));
  EXPECT_FLOAT_EQ(first.item<float>(), 27);
  EXPECT_FLOAT_EQ(outer.gradient(first, Source(x)).item<float>(), 18);
}

TEST(Tape, SpentPersistentPausedAndUnconnected) {
  const Tensor x = Tensor::of({3.0f}), other = Tensor::of({1.0f});
  GradientTape once;
  once.watch(x);
  const Tensor y = x * 2;
  EXPECT_FALSE(once.gradient(y, Source(other)).defined());
  EXPECT_THROW(once.gradient(y, Source(x)), StateError);

  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(other);
  Tensor hidden;
  {
    const auto pause = tape.stop_recording();
    hidden = x * 5;
  }
  const Tensor z = x * 2 + hidden;
  EXPECT_FLOAT_EQ(tape.gradient(z, Source(x)).item<float>(), 2);
  EXPECT_FLOAT_EQ(tape.gradient(z, Source(x)).item<float>(), 2);
  EXPECT_FLOAT_EQ(tape.gradient(z, Source(other), {.unconnected = Unconnected::kZero}).item<float>(), 0);
}

TEST(Tape, ResetForgetsWhatWasRecordedAndWatched) {
  Variable w(Tensor::of({2.0f}));
  const Tensor x = Tensor::of({3.0f});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x * w;
  EXPECT_EQ(tape.watched_variables().size(), 1u);
  tape.reset();
  EXPECT_EQ(tape.watched_variables().size(), 0u);
  EXPECT_FALSE(tape.gradient(y, x).defined());
  EXPECT_FALSE(tape.gradient(y, w).defined());
  EXPECT_FALSE(tape.gradient(x * x, x).defined()) << "x is still watched";
  tape.watch(x);
  EXPECT_FLOAT_EQ(tape.gradient(x * x * x, x).item<float>(), 27);

  GradientTape once;
  once.watch(x);
  once.gradient(x * 2, x);
  EXPECT_THROW(once.gradient(x * 2, x), StateError);
  once.reset();
  once.watch(x);
  EXPECT_FLOAT_EQ(once.gradient(x * 5, x).item<float>(), 5) << "a spent tape records again";
}

TEST(Tape, AVariableWatchedByHandIsFollowedWhenItIsAssigned) {
  Variable v(Tensor::of({2.0f}));
  GradientTape tape({.watch_accessed_variables = false});
  tape.watch(v);
  v.assign(Tensor::of({3.0f}));
  const Tensor y = v * v;
  const Tensor gradient = tape.gradient(y, v);
  ASSERT_TRUE(gradient.defined());
  EXPECT_FLOAT_EQ(gradient.item<float>(), 6);
}

TEST(Tape, OnlyWhatIsWatchedByHandWithoutAccessedVariables) {
  Variable a(Tensor::of({2.0f})), b(Tensor::of({3.0f})), fixed(Tensor::of({5.0f}), {.trainable = false});
  GradientTape tape({.persistent = true, .watch_accessed_variables = false});
  tape.watch(a);
  const Tensor y = a * b * fixed;
  ASSERT_EQ(tape.watched_variables().size(), 1u);
  EXPECT_EQ(tape.watched_variables()[0].state(), a.state());
  EXPECT_FLOAT_EQ(tape.gradient(y, a).item<float>(), 15);
  EXPECT_FALSE(tape.gradient(y, b).defined());
  // By default every trainable variable that is read, and others when they are asked for.
  GradientTape usual({.persistent = true});
  const Tensor z = a * b * fixed;
  EXPECT_FLOAT_EQ(usual.gradient(z, b).item<float>(), 10);
  EXPECT_FALSE(usual.gradient(z, fixed).defined());
  usual.watch(fixed);
  EXPECT_FLOAT_EQ(usual.gradient(a * b * fixed, fixed).item<float>(), 6);
}

TEST(Tape, AssignAddAndAssignSubEagerlyAndTraced) {
  Variable w(Tensor::of({10.0f, 20.0f}), {.name = "w"});
  w.assign_sub(Tensor::of({1.0f, 2.0f}));
  EXPECT_EQ(w.read().to_vector<float>(), (std::vector<float>{9, 18}));
  w.assign_add(3);
  EXPECT_EQ(w.read().to_vector<float>(), (std::vector<float>{12, 21}));
  EXPECT_THROW(w.assign_sub(Tensor::of<float>({1, 2, 3, 4}, {2, 2})), ShapeError);
  EXPECT_THROW(w.assign_sub(Tensor::of(std::vector<double>{1, 2}, {2})), DTypeError);
  EXPECT_EQ(w.read().to_vector<float>(), (std::vector<float>{12, 21}));
  auto descend = function([&](const Tensor& rate) {
    GradientTape tape;
    const Tensor loss = reduce_sum(w * w, {0});
    w.assign_sub(tape.gradient(loss, w) * rate);
    return loss;
  });
  // w - 0.25 * 2 w is w / 2.
  EXPECT_FLOAT_EQ(descend(Tensor::of(std::vector<float>{0.25f}, {})).item<float>(), 144 + 441);
  EXPECT_EQ(w.read().to_vector<float>(), (std::vector<float>{6, 10.5f}));
  EXPECT_FLOAT_EQ(descend(Tensor::of(std::vector<float>{0.25f}, {})).item<float>(), 36 + 110.25f);
  EXPECT_EQ(w.read().to_vector<float>(), (std::vector<float>{3, 5.25f}));
}

TEST(Tape, AVariableAssignedOnTheWayCollectsEveryValueItHad) {
  Variable w(Tensor::of({2.0f}));
  GradientTape tape;
  const Tensor a = w * 3;
  w.assign(Tensor::of({5.0f}));
  const Tensor b = w * w;
  EXPECT_FLOAT_EQ(tape.gradient(reduce_sum(a + b, {0}), w).item<float>(), 3 + 10);
}

TEST(Tape, JacobiansElementByElementAndRowByRow) {
  const Tensor x = Tensor::of<float>({1, 2, 3, 4}, {2, 2}), m = Tensor::of<float>({5, 6, 7, 8}, {2, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = dot(x, m) * x;  // y[b,j] = x[b,j] sum_k x[b,k] m[k,j]
  const Tensor all = tape.jacobian(y, x);
  EXPECT_THROW(tape.jacobian(y, x), StateError);
  ASSERT_EQ(all.shape(), (Shape{2, 2, 2, 2}));
  GradientTape again;
  again.watch(x);
  const Tensor rows = again.batch_jacobian(dot(x, m) * x, x);
  ASSERT_EQ(rows.shape(), (Shape{2, 2, 2}));
  const auto xs = x.to_vector<float>(), ms = m.to_vector<float>();
  for (size_t b = 0; b < 2; ++b) {
    for (size_t j = 0; j < 2; ++j) {
      for (size_t k = 0; k < 2; ++k) {
        const float sum = xs[2 * b] * ms[j] + xs[2 * b + 1] * ms[2 + j];
        const float expected = xs[2 * b + j] * ms[2 * k + j] + (j == k ? sum : 0);
        EXPECT_FLOAT_EQ(rows.data<float>()[4 * b + 2 * j + k], expected);
        for (size_t other = 0; other < 2; ++other) {
          EXPECT_FLOAT_EQ(all.data<float>()[8 * b + 4 * j + 2 * other + k], other == b ? expected : 0);
        }
      }
    }
  }
  GradientTape third;
  third.watch(x);
  EXPECT_THROW(third.batch_jacobian(reduce_sum(x * x, {0, 1}), x), ShapeError);
}

TEST(Function, TracesOncePerSignatureAndUpdatesVariables) {
  Variable total(Tensor::of({0.0f}), {.name = "total", .trainable = false});
  int runs = 0;
  auto step = function([&](const Tensor& x) {
    ++runs;
    total.assign_add(x);
    return total.read() * 2;
  });
  EXPECT_FLOAT_EQ(step(Tensor::of({1.0f})).item<float>(), 2);
  EXPECT_FLOAT_EQ(step(Tensor::of({2.0f})).item<float>(), 6);
  EXPECT_FLOAT_EQ(step(Tensor::of({3.0f})).item<float>(), 12);
  EXPECT_EQ(step.traces(), 1u);
  EXPECT_EQ(runs, 2);  // the second is the check of captured values
  EXPECT_FLOAT_EQ(total.read().item<float>(), 6);
}

TEST(Function, ATapeSeesThroughATracedFunction) {
  Variable w(Tensor::of({3.0f})), count(Tensor::of({0.0f}), {.name = "count", .trainable = false});
  auto cube = function([&](const Tensor& x) {
    count.assign_add(1);
    return x * x * w;
  });
  const Tensor x = Tensor::of({2.0f});
  for (int i = 0; i < 3; ++i) {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner({.persistent = true});
    inner.watch(x);
    const Tensor y = cube(x);
    EXPECT_FLOAT_EQ(y.item<float>(), 12);
    EXPECT_FLOAT_EQ(inner.gradient(y, w).item<float>(), 4);
    const Tensor first = inner.gradient(y, Source(x));
    EXPECT_FLOAT_EQ(first.item<float>(), 12);
    EXPECT_FLOAT_EQ(outer.gradient(first, Source(x)).item<float>(), 6);
  }
  EXPECT_FLOAT_EQ(count.read().item<float>(), 3);
  EXPECT_EQ(cube.traces(), 1u);
}

TEST(Function, AChangedCaptureIsAnError) {
  float scale = 2;
  auto scaled = function([&](const Tensor& x) { return x * scale; });
  scaled(Tensor::of({1.0f}));
  scale = 3;
  try {
    scaled(Tensor::of({1.0f}));
    FAIL() << "a changed capture went unseen";
  } catch (const StateError& error) {
    EXPECT_EQ(error.rule(), "function.capture");
    EXPECT_NE(error.message().find("2.000000"), std::string::npos) << error.what();
    EXPECT_NE(error.message().find("3.000000"), std::string::npos) << error.what();
  }
}

TEST(Function, SymbolicTensorsDoNotLeak) {
  Tensor leaked;
  auto f = function([&](const Tensor& x) {
    leaked = x * 2;
    return leaked;
  });
  f(Tensor::of({1.0f}));
  EXPECT_THROW(leaked + 1, StateError);
  auto g = function([](const Tensor& x) { return x * x.item<float>(); });
  EXPECT_THROW(g(Tensor::of({1.0f})), StateError);
}

TEST(Tape, PersistentTapeMayRecordItsOwnGradient) {
  const Tensor x = Tensor::of<float>({1, 2, 3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = reduce_sum(x * x * x * x, {0});
  const Tensor first = tape.gradient(y, x);
  EXPECT_EQ(first.to_vector<float>(), (std::vector<float>{4, 32, 108}));
  EXPECT_EQ(tape.gradient(y, x).to_vector<float>(), (std::vector<float>{4, 32, 108}));
  EXPECT_EQ(tape.gradient(first, x).to_vector<float>(), (std::vector<float>{12, 48, 108}));
}

Tensor squared(const Tensor& x) { return x * x; }

TEST(Function, ComposesWithTransformsAndTakesFunctions) {
  auto square = function(squared);
  const Tensor x = Tensor::of({1.0f, 2.0f, 3.0f});
  EXPECT_EQ(vmap(square)(x)[0].to_vector<float>(), (std::vector<float>{1, 4, 9}));
  EXPECT_EQ(jacobian(square)(Tensor::scalar(3.0f))[0].item<float>(), 6);
  EXPECT_EQ(checkpoint(square)(x)[0].to_vector<float>(), (std::vector<float>{1, 4, 9}));
  EXPECT_EQ(map([&](const Tensor& row) { return square(row); }, x).to_vector<float>(),
            (std::vector<float>{1, 4, 9}));
  EXPECT_EQ(grad([&](const Tensor& v) { return reduce_sum(square(v), {0}); })(x)[0].to_vector<float>(),
            (std::vector<float>{2, 4, 6}));
}

TEST(Function, TheTrainingModeIsPartOfTheSignature) {
  auto mode = function([](const Tensor& x) { return TrainingScope::current() ? x * 2 : x; });
  const Tensor x = Tensor::of({1.0f});
  for (int i = 0; i < 3; ++i) {
    {
      TrainingScope training(true);
      EXPECT_EQ(mode(x).item<float>(), 2);
    }
    EXPECT_EQ(mode(x).item<float>(), 1);
  }
  EXPECT_EQ(mode.traces(), 2u);
}

TEST(Function, AChangedCaptureStaysAnError) {
  float scale = 2;
  auto scaled = function([&](const Tensor& x) { return x * scale; });
  const Tensor x = Tensor::of({1.0f});
  scaled(x);
  scale = 3;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rule_of([&] { scaled(x); }), "function.capture");
}

TEST(Function, VariablesAreMadeInTheFirstTrace) {
  auto makes = function([](const Tensor& x) {
    const Variable w(Tensor::scalar(2.0f));
    return x * w;
  });
  const Tensor x = Tensor::of({1.0f});
  EXPECT_EQ(makes(x).item<float>(), 2);
  EXPECT_EQ(rule_of([&] { makes(x); }), "variable.trace");
  EXPECT_EQ(rule_of([&] { makes(Tensor::of({1.0f, 2.0f})); }), "variable.trace");
  const Variable outside(Tensor::scalar(2.0f));
}

TEST(Function, ResultsMustHoldSomething) {
  auto nothing = function([](const Tensor&) { return Tensor(); });
  EXPECT_EQ(rule_of([&] { nothing(Tensor::of({1.0f})); }), "graph.undefined");
  EXPECT_EQ(rule_of([&] { vmap([](const Tensor&) { return Tensor(); })(Tensor::of({1.0f})); }),
            "graph.undefined");
  auto one_plan = function(squared, {.max_plans = 0});
  EXPECT_EQ(one_plan(Tensor::of({3.0f})).item<float>(), 9);
}

// State that a transformed function assigns is there afterwards, once.
TEST(Transforms, CarryWhatTheFunctionAssigns) {
  const Tensor x = Tensor::of({1.0f, 2.0f});
  Variable count(Tensor::scalar(0.0f));
  const TensorFunction f = [&](const Tensor& v) {
    count.assign_add(1);
    return reduce_sum(v * v, {0});
  };
  grad(f)(x);
  EXPECT_EQ(count.read().item<float>(), 1);
  value_and_grad(f)(x);
  EXPECT_EQ(count.read().item<float>(), 2);
  jacobian(f)(x);
  EXPECT_EQ(count.read().item<float>(), 3);
  hessian(f)(x);
  EXPECT_EQ(count.read().item<float>(), 4);
  jvp(f, {x}, {x});
  EXPECT_EQ(count.read().item<float>(), 5);
  const Vjp pulled = vjp(f, {x});
  pulled.pullback(Tensors{Tensor::scalar(1.0f)});
  EXPECT_EQ(count.read().item<float>(), 6);
  vmap([&](const Tensor& v) {
    count.assign_add(1);
    return v;
  })(x);
  EXPECT_EQ(count.read().item<float>(), 7);
  call(f, {x});
  EXPECT_EQ(count.read().item<float>(), 8);
  auto traced = function([&](const Tensor& v) { return grad(f)(v)[0]; });
  for (int i = 1; i <= 3; ++i) {
    traced(x);
    EXPECT_EQ(count.read().item<float>(), 8 + i);
  }
}

TEST(Tape, SourcesMayStandInBraces) {
  const Variable w(Tensor::of({2.0f})), b(Tensor::of({1.0f}));
  const Tensor x = Tensor::of({3.0f});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = w * x + b;
  EXPECT_EQ(tape.gradient(y, {w, b})[0].item<float>(), 3);
  EXPECT_EQ(tape.gradient(y, {w, b})[1].item<float>(), 1);
  EXPECT_EQ(tape.gradient(y, {w, x})[1].item<float>(), 2);
  EXPECT_EQ(tape.gradient(y, {w})[0].item<float>(), 3);
}

TEST(Function, WrongCallsAreErrorsAndNoCrashes) {
  auto f = function([](const Tensor& x, const Tensor& y) { return x + y; });
  EXPECT_EQ(rule_of([&] { f.call(std::vector<Tensor>{Tensor::scalar(1.0f)}); }), "function.arguments");
  std::function<Tensor(const Tensor&)> again;
  auto calls_itself = function([&](const Tensor& x) { return again(x); });
  again = [&](const Tensor& x) { return calls_itself(x); };
  EXPECT_EQ(rule_of([&] { calls_itself(Tensor::scalar(1.0f)); }), "graph.depth");
  const TracedFunction* self = nullptr;
  auto asks = function([&](const Tensor& x) { return x + static_cast<double>(self->traces()); });
  self = &asks;
  EXPECT_EQ(rule_of([&] { asks(Tensor::scalar(1.0f)); }), "function.recursion");
  try {
    asks(Tensor::scalar(1.0f));
    FAIL() << "no error";
  } catch (const StateError& error) {
    EXPECT_TRUE(error.message().ends_with(" was queried from inside its own trace")) << error.what();
  }
  EXPECT_EQ(rule_of([&] { vmap(std::function<Tensor(const Tensor&)>())(Tensor::of({1.0f})); }),
            "function.empty");
  // A call that fails in its second trace is checked again.
  float factor = 2;
  int traces = 0;
  auto fails = function([&](const Tensor& x) {
    if (++traces == 2) throw ValueError("test", "once");
    return x * factor;
  });
  const Tensor x = Tensor::scalar(1.0f);
  fails(x);
  factor = 3;
  EXPECT_EQ(rule_of([&] { fails(x); }), "test");
  EXPECT_EQ(rule_of([&] { fails(x); }), "function.capture");
}

TEST(Tape, ARefusedGradientSpendsNothing) {
  const Tensor x = Tensor::of({3.0f});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_EQ(rule_of([&] { tape.gradient(Tensor::of<int32_t>({1}), Source(x)); }), "tape.target");
  EXPECT_EQ(rule_of([&] { tape.gradient(y, Source(x), {.output_gradients = {Tensor::scalar(1.0f)}}); }),
            "gradient.cotangent");
  EXPECT_EQ(rule_of([&] { tape.jacobian(Tensor::of<int32_t>({1}), Source(x)); }), "tape.target");
  EXPECT_EQ(tape.gradient(y, Source(x)).item<float>(), 6);
}

// Each gradient of a persistent tape is recorded, too; the next one must not walk through it.
TEST(Tape, AnOldPersistentTapeIsAsFastAsAYoungOne) {
  const Tensor x = Tensor::of({1.0f});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  Tensor y = x;
  for (int i = 0; i < 30; ++i) y = y * x;
  size_t calls = 0;
  struct Counter final : Recorder {
    explicit Counter(size_t& n) : n(n) {}
    void record(const Call&, std::span<const Tensor>) override { ++n; }
    size_t& n;
  };
  std::vector<size_t> made;
  for (int i = 0; i < 5; ++i) {
    const Counter counter(calls = 0);
    EXPECT_EQ(tape.gradient(y, Source(x)).item<float>(), 31);
    made.push_back(calls);
  }
  EXPECT_EQ(made.front(), made.back());
}

TEST(Tape, MayEndOnAnotherThread) {
  const Variable w(Tensor::of({3.0f}));
  auto ended = std::make_unique<GradientTape>();
  std::unique_ptr<GradientTape> outlives;
  std::thread([&] {
    ended.reset();
    outlives = std::make_unique<GradientTape>();
  }).join();
  outlives.reset();
  GradientTape tape;
  EXPECT_EQ(tape.gradient(w.read() * w.read(), w).item<float>(), 6);
}

// What a gradient adds up to lives until the call before it has used it, not until the end.
TEST(Tape, AGradientsPartsAreLetGo) {
  const Tensor x = Tensor::of(std::vector<float>(1 << 16, 1.0f));
  static int64_t now, most;
  GradientTape tape;
  tape.watch(x);
  Tensor y = x;
  for (int i = 0; i < 50; ++i) y = negate(y);
  now = most = 0;
  buffer_watch = [](int64_t bytes) { most = std::max(most, now += bytes); };
  const Tensor gradient = tape.gradient(y, Source(x));
  buffer_watch = nullptr;
  EXPECT_EQ(gradient.data<float>()[5], 1);
  EXPECT_LE(most, 4 * (int64_t{1} << 18));
}

TEST(Errors, TensorsTapesAndTransformsNameTheUsersLine) {
  const Tensor x = Tensor::of({1.0f, 2.0f});
  const Variable w(Tensor::scalar(1.0f));
  const auto names_this_file = [](const char* what, const std::function<void()>& call) {
    try {
      call();
      ADD_FAILURE() << what << " raises nothing";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("tape_test.cc:"), std::string::npos) << error.what();
    }
  };
  names_this_file("item", [&] { x.item<float>(); });
  names_this_file("data", [&] { x.data<int32_t>(); });
  names_this_file("to_vector", [&] { x.to_vector<double>(); });
  names_this_file("size", [&] { x.size(1); });
  names_this_file("of", [&] { Tensor::of(std::vector<float>{1}, {2}); });
  names_this_file("zeros", [&] { zeros({-1}); });
  names_this_file("assign", [&] { Variable(w).assign(x); });
  names_this_file("assign_add", [&] { Variable(w).assign_add(x); });
  names_this_file("assign_sub", [&] { Variable(w).assign_sub(x); });
  names_this_file("watch", [&] { GradientTape().watch(arange(2)); });
  names_this_file("gradient", [&] { GradientTape().gradient(arange(2), Source(x)); });
  names_this_file("batch_jacobian", [&] { GradientTape().batch_jacobian(w.read(), Source(x)); });
  names_this_file("grad", [&] { grad([](const Tensor& v) { return v; })(x); });
  names_this_file("vmap", [&] { vmap([](const Tensor& v) { return v; })(w.read()); });
  auto traced = function([](const Tensor& v) { return reshape(v, {7}); });
  names_this_file("function", [&] { traced(x); });
  names_this_file("function", [&] { traced(Tensor()); });
  names_this_file("jvp", [&] { jvp([](const Tensor& v) { return v; }, {x}, {}); });
}

}  // namespace
}  // namespace espalier
