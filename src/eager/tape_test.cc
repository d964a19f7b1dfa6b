#include "espalier/tape.h"

#include <gtest/gtest.h>

#include "espalier/function.h"
#include "espalier/ops.h"

namespace espalier {
namespace {

TEST(Tape, VariablesAreWatchedWhenRead) {
  Variable w(Tensor::of({2.0f, 3.0f}));
  GradientTape tape;
  const Tensor loss = reduce_sum(w * w, {0});
  const Tensor gradient = tape.gradient(loss, w);
  EXPECT_EQ(gradient.to_vector<float>(), (std::vector<float>{4, 6}));
  EXPECT_EQ(tape.watched_variables().size(), 0u);
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

}  // namespace
}  // namespace espalier
