// Variables that branches and loop bodies assign: each case against the plain C++ loop.
#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/control.h"
#include "espalier/espalier.h"

namespace espalier {
namespace {

float value(const Variable& v) { return v.read().item<float>(); }

// Runs `body` eagerly, traced, and traced on a replay, each time from the same state.
template <class F>
void in_every_mode(F&& body) {
  {
    SCOPED_TRACE("eager");
    body([](const std::function<Tensor(const Tensor&)>& f, float x) { return f(Tensor::scalar(x)); });
  }
  SCOPED_TRACE("traced");
  body([](const std::function<Tensor(const Tensor&)>& f, float x) {
    auto traced = function([&](const Tensor& t) { return f(t); });
    return traced(Tensor::scalar(x));
  });
}

// The plan overwrites a variable's array only while nobody else holds it.
TEST(VariableState, AHeldValueOutlivesTheUpdate) {
  Variable v(Tensor::of<float>({1, 2, 3}), {.name = "v"});
  auto step = function([&](const Tensor& x) {
    v.assign_add(x);
    return x;
  });
  const Tensor one = full({3}, 1);
  const Tensor held = v.read();
  for (int i = 0; i < 3; ++i) step(one);
  EXPECT_EQ(held.to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(v.read().to_vector<float>(), (std::vector<float>{4, 5, 6}));
  // An array of its own is updated where it is. On a device what is read is a copy.
  if (RunContext::current().device) return;
  const void* before = v.read().bytes();
  step(one);
  EXPECT_EQ(v.read().bytes(), before);
}

// What a trace asked about has changed, so that it is made again.
TEST(VariableState, AFunctionFollowsWhetherAVariableIsTrained) {
  Variable w(Tensor::of({3.0f}), {.name = "w"});
  const auto slope = function([&](const Tensor& x) { return w.trainable() ? x : x * 0; });
  const Tensor x = Tensor::of({2.0f});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(slope(x).data<float>()[0], 2);
  w.set_trainable(false);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(slope(x).data<float>()[0], 0);
  w.set_trainable(true);
  EXPECT_EQ(slope(x).data<float>()[0], 2);
}

TEST(ControlState, ABranchAssignsAndTheOtherDoesNot) {
  in_every_mode([](auto&& run) {
    for (const float x : {2.0f, -2.0f}) {
      Variable a(Tensor::scalar(1.0f), {.name = "a"}), b(Tensor::scalar(10.0f), {.name = "b"});
      const Tensor y = run(
          [&](const Tensor& t) {
            const Tensor chosen = cond(
                t > 0,
                [&](const Tensor& u) {
                  a.assign_add(u);
                  return a * 2;
                },
                [&](const Tensor& u) {
                  b.assign(b.read() * u);
                  b.assign_add(a);
                  return b + 0;
                },
                {t});
            return chosen + a + b;
          },
          x);
      EXPECT_EQ(value(a), x > 0 ? 3 : 1);
      EXPECT_EQ(value(b), x > 0 ? 10 : -19);
      EXPECT_EQ(y.item<float>(), x > 0 ? 6 + 3 + 10 : -19 + 1 - 19);
    }
  });
}

TEST(ControlState, LoopsCarryWhatTheirBodiesAssign) {
  in_every_mode([](auto&& run) {
    Variable sum(Tensor::scalar(0.0f), {.name = "sum"}), steps(Tensor::scalar(0.0f), {.name = "steps"});
    const auto count = [&](const Tensor& x) {
      steps.assign_add(1);
      sum.assign_add(x);
      return x * 2;
    };
    // The condition sees the new value of each turn.
    const Tensor y = run(
        [&](const Tensor& t) {
          return while_loop([&](const Tensor&) { return steps.read() < 4; }, count, t);
        },
        1);
    EXPECT_EQ(y.item<float>(), 16);
    EXPECT_EQ(value(sum), 15);
    EXPECT_EQ(value(steps), 4);
    run(
        [&](const Tensor& t) {
          return while_loop([&](const Tensor& x) { return x < 100; }, count, t, {.max_iterations = 5});
        },
        25);
    EXPECT_EQ(value(sum), 15 + 25 + 50);
    EXPECT_EQ(value(steps), 6);
    run(
        [&](const Tensor& t) {
          return fori_loop(
              0, 3, [&](const Tensor&, const Tensor& x) { return count(x); }, t);
        },
        3);
    EXPECT_EQ(value(sum), 90 + 3 + 6 + 12);
    EXPECT_EQ(value(steps), 9);
  });
}

TEST(ControlState, AScanStacksAndCarries) {
  in_every_mode([](auto&& run) {
    Variable total(Tensor::scalar(0.0f), {.name = "total"}), peak(Tensor::scalar(0.0f), {.name = "peak"});
    const Tensor ys = run(
        [&](const Tensor& t) {
          const auto [carry, y] = scan(
              [&](const Tensor& c, const Tensor& x) {
                total.assign_add(x * c);
                cond(
                    total.read() > peak.read(),
                    [&](const Tensors&) {
                      peak.assign(total);
                      return Tensors{};
                    },
                    [](const Tensors&) { return Tensors{}; });
                return std::pair(c + 1, total * 10);
              },
              t, Tensor::of<float>({1, 5, -3}));
          return concatenate({y, reshape(carry, {1})}, 0);
        },
        1);
    EXPECT_EQ(ys.to_vector<float>(), (std::vector<float>{10, 110, 20, 4}));
    EXPECT_EQ(value(total), 2);
    EXPECT_EQ(value(peak), 11);
    run(
        [&](const Tensor& t) {
          return map(
              [&](const Tensor& x) {
                total.assign_add(x);
                return total + t;
              },
              Tensor::of<float>({1, 2}));
        },
        0);
    EXPECT_EQ(value(total), 5);
  });
}

TEST(ControlState, RandomStepsAdvanceInLoopsAndCheckpoints) {
  in_every_mode([](auto&& run) {
    Generator generator(7), expected(7);
    const Tensor drawn = run(
        [&](const Tensor& t) {
          const TensorFunction once = checkpoint([&](const Tensor& x) {
            return x + random_uniform({}, generator.key(), generator.next_step());
          });
          return map([&](const Tensor& x) { return once(x)[0]; }, broadcast_to(t, {3}));
        },
        0);
    std::vector<float> plain;
    for (int i = 0; i < 3; ++i)
      plain.push_back(random_uniform({}, expected.key(), expected.next_step()).item<float>());
    EXPECT_EQ(drawn.to_vector<float>(), plain);
    EXPECT_EQ(generator.next_step().item<uint64_t>(), 3u);
  });
}

TEST(ControlState, AGeneratorDrawsAnewEagerlyAndTraced) {
  Generator generator(11);
  auto draw = function([&](const Tensor& x) {
    const Tensor z = generator.normal({2});
    return x + z + generator.uniform({2});
  });
  const auto first = draw(zeros({2})).to_vector<float>(), second = draw(zeros({2})).to_vector<float>();
  EXPECT_NE(first, second);
  generator.reset(11);
  const Tensor z = generator.normal({2});
  EXPECT_EQ((z + generator.uniform({2})).to_vector<float>(), first);
  EXPECT_EQ(generator.truncated_normal({3}, 0, 1, DType::kF64).dtype(), DType::kF64);
  EXPECT_EQ(generator.integers({3}, 0, 10).shape(), (Shape{3}));
  EXPECT_EQ(generator.categorical(zeros({4, 3})).shape(), (Shape{4, 1}));
  EXPECT_EQ(sum(generator.permutation(5)).item<int32_t>(), 10);
  EXPECT_EQ(sum(generator.shuffle(arange(5))).item<int32_t>(), 10);
  EXPECT_EQ(generator.next_step().item<uint64_t>(), 7u);
}

TEST(ControlState, GradientsPassThroughTheCarriedValue) {
  Variable w(Tensor::scalar(3.0f), {.name = "w"});
  auto step = [&](const Tensor& x) {
    return fori_loop(
        0, 2,
        [&](const Tensor&, const Tensor& y) {
          w.assign(w.read() * x);
          return y + w;
        },
        x * 0);
  };
  const Tensor x = Tensor::scalar(2.0f);
  for (const bool traced : {false, true}) {
    w.assign(3.0f);
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor before = w.read();
    const Tensor y = traced ? function(step)(x) : step(x);  // 3 x + 3 x^2
    EXPECT_EQ(y.item<float>(), 18);
    EXPECT_EQ(tape.gradient(y, x).item<float>(), 3 + 12);
    EXPECT_EQ(tape.gradient(y, before).item<float>(), 2 + 4);
    EXPECT_EQ(value(w), 12);
  }
}

TEST(ControlState, WhereNoStateCanLeaveIsAnError) {
  Variable w(Tensor::scalar(3.0f), {.name = "w"});
  const Tensor x = Tensor::of<float>({1, 2});
  EXPECT_EQ(rule_of([&] {
              while_loop(
                  [&](const Tensor& t) {
                    w.assign_add(1);
                    return t < 3;
                  },
                  [](const Tensor& t) { return t + 1; }, Tensor::scalar(0.0f));
            }),
            "while.condition");
  EXPECT_EQ(rule_of([&] {
              vmap([&](const Tensor& t) {
                w.assign(t);
                return t;
              })(x);
            }),
            "variable.region");
  EXPECT_EQ(rule_of([&] {
              cond(
                  sum(x) > 0, [&](const Tensors&) { return Tensors{}; },
                  [&](const Tensors&) { return Tensors{}; });
              custom_gradient(
                  [&](const Tensor& t) {
                    w.assign(sum(t));
                    return t;
                  },
                  [](std::span<const Tensor>, std::span<const Tensor>, std::span<const Tensor> g) {
                    return Tensors{g[0]};
                  })(x);
            }),
            "variable.region");
  EXPECT_EQ(value(w), 3);
}

TEST(ControlState, ATracedFunctionJoinsTheRegionAroundIt) {
  Variable w(Tensor::scalar(1.0f), {.name = "w"});
  auto grow = function([&](const Tensor& t) {
    w.assign_add(t);
    return w * t;
  });
  const Tensor ys = map([&](const Tensor& t) { return grow(t); }, Tensor::of<float>({1, 2, 3}));
  EXPECT_EQ(ys.to_vector<float>(), (std::vector<float>{2, 8, 21}));
  EXPECT_EQ(value(w), 7);
  auto twice = function([](const Tensor& t) { return t * 2; });
  EXPECT_EQ(vmap([&](const Tensor& t) { return twice(t); })(Tensor::of<float>({1, 2}))[0].to_vector<float>(),
            (std::vector<float>{2, 4}));
}

TEST(DefaultGenerator, HasOneNameWhoeverDrawsFirst) {
  const RunContext context;
  const RunScope scope(context);
  const NameScope layer("dropout");
  EXPECT_EQ(default_generator().key_variable().path(), "random/key");
  EXPECT_EQ(default_generator().step_variable().path(), "random/step");
}

}  // namespace
}  // namespace espalier
