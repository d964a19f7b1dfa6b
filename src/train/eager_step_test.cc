// compile({.run_eagerly = true}).
#include <algorithm>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/espalier.h"

namespace espalier {
namespace {

struct Run {
  std::vector<Logs> history;
  Logs evaluated;
  std::vector<std::vector<float>> values;  // of variables, then predictions
};

template <class Make>
Run run(bool eagerly, const Make& make) {
  set_seed(4);
  const Tensor x = Generator(1).normal({20, 4}), y = argmax(slice(x, {0, 0}, {20, 3}), 1);
  auto model = make();
  model.compile({.optimizer = SGD{.learning_rate = 0.125, .momentum = 0.5}, .run_eagerly = eagerly});
  Run out;
  out.history = model.fit(x, y, {.epochs = 3, .batch_size = 8, .validation_split = 0.2});
  model.train_on_batch(x, y);
  out.evaluated = model.evaluate(x, y, 8);
  for (const Variable& variable : model.variables())
    out.values.push_back(variable.read().template to_vector<float>());
  out.values.push_back(model.predict(x, 8).template to_vector<float>());
  return out;
}

void expect_close(const Run& a, const Run& b, float bound) {
  ASSERT_EQ(a.values.size(), b.values.size());
  for (size_t i = 0; i < a.values.size(); ++i) {
    ASSERT_EQ(a.values[i].size(), b.values[i].size());
    for (size_t k = 0; k < a.values[i].size(); ++k) EXPECT_NEAR(a.values[i][k], b.values[i][k], bound) << i;
  }
  ASSERT_EQ(a.history.size(), b.history.size());
  for (size_t i = 0; i < a.history.size(); ++i) {
    for (const auto& [name, value] : a.history[i]) EXPECT_NEAR(value, b.history[i].at(name), bound) << name;
  }
  for (const auto& [name, value] : a.evaluated) EXPECT_NEAR(value, b.evaluated.at(name), bound) << name;
}

TEST(RunEagerly, GivesTheValuesOfTracedSteps) {
  const auto make = [] {
    return Sequential{Dense({.units = 8, .activation = "tanh"}), BatchNormalization(), Dropout(0.25),
                      Dense({.units = 3})};
  };
  expect_close(run(true, make), run(false, make), 1e-5f);
}

// All that reverse mode meets in layers: the tape in eager steps and the graph in traced ones find the same.
struct Everything : Layer {
  Everything() : Layer("everything") {}
  void build(const TensorType& input) override {
    const int64_t width = input.shape.back();
    add_weight("w", {width, width}, initializer("glorot_uniform"));
    add_weight("scale", {width}, initializer("ones"));
    add_weight("calls", {}, initializer("zeros"), false);
  }
  Tensor call(const Tensor& x) override {
    const Variable w = weight("w"), scale = weight("scale");
    Variable calls = weight("calls");
    calls.assign_add(1);
    const TensorFunction again = checkpoint([&](const Tensor& in) { return tanh(matmul(in, w)); });
    Tensor y = again(x)[0];
    // A gradient of its own: a third of the true one.
    const TensorFunction third = custom_gradient(
        [](const Tensor& in) { return in * 2; },
        [](std::span<const Tensor>, std::span<const Tensor>, std::span<const Tensor> cotangents) {
          return Tensors{cotangents[0] * (2.0 / 3)};
        });
    y = third(y)[0] + stop_gradient(y) * 0.5;
    // A penalty on the slope of an inner function, so a gradient of a gradient.
    GradientTape inner;
    inner.watch(y);
    const Tensor energy = reduce_sum(y * y * scale, {0, 1});
    const Tensor slope = inner.gradient(energy, y);
    y = y + slope * 0.125;
    y = fori_loop(
        0, 3, [&](const Tensor&, const Tensor& in) { return in + tanh(in * scale) * 0.25; }, y);
    const TensorFunction rows = vmap([&](const Tensor& row) { return row * scale + reduce_max(row, {0}); });
    return rows(y)[0];
  }
};

TEST(RunEagerly, BothRoadsToGradientsFindTheSame) {
  const auto make = [] {
    return Sequential{Dense({.units = 6, .activation = "tanh"}), Everything(), Dense({.units = 3})};
  };
  expect_close(run(true, make), run(false, make), 1e-5f);
}

// Counts the runs of its code, and looks into its tensors.
struct Looks : Layer {
  explicit Looks(std::vector<float>& seen) : Layer("looks"), seen(&seen) {}
  Tensor call(const Tensor& x) override {
    seen->push_back(x.concrete() ? x.data<float>()[0] : -1);
    return x;
  }
  std::vector<float>* seen;
};

TEST(RunEagerly, CallsTheModelsCodeWithNumbersInEveryStep) {
  std::vector<float> seen;
  const Tensor x = reshape(convert(iota({DType::kI32, {6}}, 0), DType::kF32), {6, 1});
  const Tensor y = full({6}, 0, DType::kI32);
  Sequential model{Looks(seen), Dense({.units = 2})};
  model.compile({.run_eagerly = true});
  model.fit(x, y, {.epochs = 2, .batch_size = 2, .shuffle = false});
  EXPECT_EQ(seen, (std::vector<float>{0, 2, 4, 0, 2, 4}));
  seen.clear();
  model.evaluate(x, y, 4);
  model.predict(x, 3);
  model.train_on_batch(x, y);
  EXPECT_EQ(seen, (std::vector<float>{0, 4, 0, 3, 0}));
  seen.clear();
  model.compile();
  model.fit(x, y, {.batch_size = 2});
  EXPECT_EQ(std::ranges::count(seen, -1), 2) << "a trace and its control";
}

// Refuses its third batch, behind layers that have assigned variables.
struct Refuses : Layer {
  Refuses() : Layer("refuses") {}
  Tensor call(const Tensor& x) override {
    if (++calls == 3) throw ValueError("refuses", "the third batch");
    return x;
  }
  int calls = 0;
};

TEST(RunEagerly, ARefusedStepChangesNothing) {
  const Tensor x = Generator(1).normal({4, 3}), y = full({4}, 1, DType::kI32);
  // A traced function inside writes its variable by itself.
  struct Counts : Layer {
    Counts() : Layer("counts") {}
    void build(const TensorType&) override { add_weight("count", {}, "zeros", false); }
    Tensor call(const Tensor& in) override {
      Variable count = weight("count");
      function([count](const Tensor& z) mutable {
        count.assign_add(1);
        return z;
      })(in);
      return in;
    }
  };
  Sequential model{Counts(), BatchNormalization(), Refuses(), Dense({.units = 2})};
  model.compile({.run_eagerly = true});
  const auto state = [&] {
    std::vector<std::vector<float>> out;
    for (const Variable& variable : model.variables()) out.push_back(variable.read().to_vector<float>());
    return out;
  };
  model.train_on_batch(x, y);
  model.train_on_batch(x, y);
  const auto before = state();
  EXPECT_EQ(before[0], std::vector<float>{2});
  EXPECT_EQ(rule_of([&] { model.train_on_batch(x, y); }), "refuses");
  EXPECT_EQ(state(), before);
  EXPECT_EQ(model.optimizer().variables()[1].read().item<int64_t>(), 2);
  model.train_on_batch(x, y);
  EXPECT_NE(state(), before);
}

}  // namespace
}  // namespace espalier
