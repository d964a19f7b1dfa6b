// compile({.check_numerics = true}): who made the NaN.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/philox.h"
#include "base/rule_of_test.h"
#include "espalier/espalier.h"

namespace espalier {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor rows(int64_t count = 4, int64_t width = 3) { return Generator(7).normal({count, width}); }
Tensor numbers_of(const Tensor& x) { return sum(x, 1, true); }

ModelOptions checked(bool eagerly, double rate = 0.01) {
  return {.optimizer = SGD{.learning_rate = rate},
          .loss = MeanSquaredError(),
          .metrics = {},
          .run_eagerly = eagerly,
          .check_numerics = true};
}

std::vector<std::vector<float>> state(const Model& model) {
  std::vector<std::vector<float>> out;
  for (const Variable& variable : model.variables()) out.push_back(variable.read().to_vector<float>());
  return out;
}

// What a step says, which changes no variable.
std::string refusal_of_step(Model& model, const Tensor& x, const Tensor& y, bool evaluates = false) {
  model.predict(x);
  const auto before = state(model);
  std::string text = "nothing";
  try {
    if (evaluates)
      model.evaluate(x, y);
    else
      model.fit(x, y, {.batch_size = x.size(0), .shuffle = false});
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "check_numerics");
    text = error.what();
  }
  if (text == "nothing") return text;
  const auto after = state(model);
  for (size_t i = 0; i < before.size(); ++i) {
    for (size_t k = 0; k < before[i].size(); ++k)
      EXPECT_TRUE(before[i][k] == after[i][k] || std::isnan(before[i][k])) << i;
  }
  return text;
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

Tensor with(const Tensor& x, size_t place, float value) {
  auto values = x.to_vector<float>();
  values.at(place) = value;
  return Tensor::of(values, x.shape());
}

class CheckNumerics : public testing::TestWithParam<bool> {
  void SetUp() override { set_seed(1); }
};
INSTANTIATE_TEST_SUITE_P(, CheckNumerics, testing::Bool(),
                         [](const auto& info) { return info.param ? "Eager" : "Traced"; });

TEST_P(CheckNumerics, FindsItInTheRows) {
  const Tensor x = rows(), y = numbers_of(x);
  Sequential model{Dense({.units = 2}), Dense({.units = 1})};
  model.compile(checked(GetParam()));
  const std::string text = refusal_of_step(model, with(with(x, 7, kNan), 9, kInfinity), y);
  expect_parts(text, {"check_numerics_test.cc:", "the loss is not finite: input 0 is not finite",
                      "1 NaN and 1 infinite of 12 elements (f32[4,3]), the first at [2,1]"});
  expect_parts(refusal_of_step(model, x, with(y, 3, kNan)),
               {"tensor 0 of the labels is not finite", "[3,0]"});
  expect_parts(refusal_of_step(model, x, with(y, 3, kNan), true), {"tensor 0 of the labels is not finite"});
  EXPECT_EQ(refusal_of_step(model, x, y), "nothing");
}

// Of rows that fit shuffles, and of those that it keeps for validation.
TEST_P(CheckNumerics, NamesTheRowOfTheData) {
  const Tensor x = rows(20), y = numbers_of(x);
  for (const int64_t row : {1, 6, 19}) {
    Sequential model{Dense({.units = 1})};
    model.compile(checked(GetParam()));
    const Tensor broken = with(x, static_cast<size_t>(3 * row + 2), kNan);
    std::string text;
    try {
      model.fit(broken, y, {.batch_size = 4, .validation_split = 0.25});
    } catch (const ValueError& error) {
      text = error.what();
    }
    const auto end = cat(",2] of this batch: row ", row, " of the data");
    EXPECT_TRUE(text.ends_with(end)) << text << " for " << end;
  }
}

// A row of weight 0 is not there: the last one that counts stands in its place, and is the one to look at.
TEST_P(CheckNumerics, NamesNoRowOfWeightZero) {
  const Tensor x = rows(8), y = numbers_of(x), weights = Tensor::of<float>({1, 1, 1, 1, 0, 1, 0, 0});
  for (const int64_t row : {3, 5}) {
    Sequential model{Dense({.units = 1})};
    model.compile(checked(GetParam()));
    std::string text = "nothing";
    try {
      model.fit(with(x, static_cast<size_t>(3 * row + 2), kNan), y,
                {.batch_size = 4, .shuffle = false, .sample_weight = weights});
    } catch (const ValueError& error) {
      text = error.what();
    }
    EXPECT_TRUE(text.ends_with(cat(",2] of this batch: row ", row, " of the data"))) << text;
  }
}

TEST_P(CheckNumerics, NamesNoLineOfTheLibrary) {
  Sequential model{Dense({.units = 1, .kernel_initializer = "ones"})};
  model.compile(checked(GetParam()));
  const std::string text = refusal_of_step(model, full({2, 2}, 3e38), full({2, 1}, 1));
  expect_parts(text, {" in layer \"sequential/dense\" gave 0 NaN and 2 infinite"});
  EXPECT_EQ(text.find(".cc:"), text.rfind(".cc:")) << text;
}

TEST_P(CheckNumerics, FindsItInAKernel) {
  const Tensor x = rows(), y = numbers_of(x);
  Sequential model{Dense({.units = 2}), Dense({.units = 1})};
  model.compile(checked(GetParam()));
  model.fit(x, y);
  Variable kernel = model.variables()[2];
  kernel.assign(with(kernel, 1, kNan));
  expect_parts(refusal_of_step(model, x, y),
               {"variable \"sequential/dense_1/kernel\" was not finite before the step",
                "1 NaN and 0 infinite of 2 elements", "[1,0]"});
}

// A layer of the user's.
struct Logarithm : Layer {
  Logarithm() : Layer("logarithm") {}
  Tensor call(const Tensor& x) override { return log(x); }
};
constexpr int kLogLine = __LINE__ - 2;

TEST_P(CheckNumerics, FindsTheLayerTheOpAndTheLine) {
  const Tensor x = Tensor::of<float>({1, 2, 3, -4, 5, 0}, {3, 2}), y = full({3, 1}, 1);
  Sequential model{Sequential{Logarithm()}, Dense({.units = 1})};
  model.compile(checked(GetParam()));
  for (int step = 0; step < 3; ++step) EXPECT_EQ(refusal_of_step(model, full({3, 2}, 2), y), "nothing");
  expect_parts(
      refusal_of_step(model, x, y),
      {cat("log at check_numerics_test.cc:", kLogLine, " in layer \"sequential/sequential/logarithm\""),
       "gave 1 NaN and 1 infinite of 6 elements (f32[3,2]), the first at [1,1], from finite inputs"});
}

TEST_P(CheckNumerics, FindsTheUpdateThatExplodes) {
  const Tensor x = rows(), y = full({4, 1}, 100);
  Sequential model{Dense({.units = 1})};
  model.compile(checked(GetParam(), 3e38));
  expect_parts(refusal_of_step(model, x, y),
               {"loss and gradients are finite; the new value of \"sequential/dense/",
                "sgd in the metrics or the optimizer gave"});
  EXPECT_EQ(model.optimizer().variables()[1].read().item<int64_t>(), 0);
}

// Its gradient at 0 is infinite, times 0.
struct Root : Layer {
  Root() : Layer("root") {}
  void build(const TensorType&) override { add_weight("factor", {}, "zeros"); }
  Tensor call(const Tensor& x) override { return x + sqrt(x * x * weight("factor")); }
};
constexpr int kRootLine = __LINE__ - 2;

TEST_P(CheckNumerics, FindsAGradientThoughTheLossIsFinite) {
  const Tensor x = full({4, 1}, 1), y = full({4, 1}, 2);
  Sequential model{Dense({.units = 1, .name = "before"}), Root(), Dense({.units = 1, .name = "after"})};
  model.compile(checked(GetParam()));
  expect_parts(refusal_of_step(model, x, y),
               {"the loss is finite; the gradient of \"sequential/", "is not finite",
                cat("in the gradient of sqrt at check_numerics_test.cc:", kRootLine,
                    " in layer \"sequential/root\"")});
  EXPECT_EQ(refusal_of_step(model, x, y, true), "nothing") << "evaluate has no gradients";
}

TEST_P(CheckNumerics, FindsBatchNormalization) {
  const Tensor x = full({4, 2}, 1), y = full({4, 1}, 2);
  Sequential model{BatchNormalization({.epsilon = 0}), Dense({.units = 1})};
  model.compile(checked(GetParam()));
  expect_parts(refusal_of_step(model, x, y),
               {"batch_normalization", "in layer \"sequential/batch_normalization\"", "8 NaN"});
  EXPECT_EQ(state(model)[2], (std::vector<float>{0, 0}));
}

TEST_P(CheckNumerics, FindsTheLoss) {
  const Tensor x = full({4, 2}, 1), y = full({4, 1}, 0);
  const Loss ratio{"ratio", [](const Tensor& labels, const Tensor& outputs) {
                     return reshape(outputs / labels, {labels.size(0)});
                   }};
  Sequential model{Dense({.units = 1, .kernel_initializer = "ones"})};
  ModelOptions options = checked(GetParam());
  options.loss = ratio;
  model.compile(options);
  expect_parts(refusal_of_step(model, x, y),
               {"divide at check_numerics_test.cc:", " in the loss gave 0 NaN and 4 infinite"});
}

// Attention of each row over itself, `masked` of the places at -inf before the softmax.
struct Masked : Layer {
  explicit Masked(int64_t masked, bool plants = false) : Layer("masked"), masked(masked), plants(plants) {}
  Tensor call(const Tensor& x) override {
    const Tensor places = iota({DType::kI64, x.shape()}, 1);
    const Tensor scores = where(places < masked, -kInfinity, x);
    return plants ? softmax(scores) + log(x * 0 - 1) : softmax(scores);
  }
  int64_t masked;
  bool plants;
};

TEST_P(CheckNumerics, LegalInfinitiesAreNotBlamed) {
  const Tensor x = rows(), y = numbers_of(x);
  const auto said = [&](Masked layer) {
    Sequential model{layer, Dense({.units = 1})};
    model.compile(checked(GetParam()));
    return refusal_of_step(model, x, y);
  };
  EXPECT_EQ(said(Masked(2)), "nothing");
  expect_parts(said(Masked(2, true)), {"log at check_numerics_test.cc:", "12 NaN", "from finite inputs"});
  // A row without any place: the softmax made the NaN, not the mask.
  expect_parts(said(Masked(3)), {"softmax at", "12 NaN and 0 infinite", "from infinities of constants"});
}

TEST_P(CheckNumerics, FindsWhatATracedFunctionInsideMade) {
  struct Inner : Layer {
    Inner() : Layer("inner") {}
    Tensor call(const Tensor& x) override {
      return function([](const Tensor& z) { return log(z); })(x);
    }
  };
  Sequential model{Inner(), Dense({.units = 1})};
  model.compile(checked(GetParam()));
  expect_parts(refusal_of_step(model, full({2, 2}, -1), full({2, 1}, 1)),
               {"in layer \"sequential/inner\"", "4 NaN"});
}

TEST_P(CheckNumerics, InMixedPrecision) {
  Sequential model{Dense({.units = 2, .dtype = "mixed_bfloat16"}), Logarithm(), Dense({.units = 1})};
  model.compile(checked(GetParam()));
  const Tensor x = rows(6);
  expect_parts(refusal_of_step(model, x, numbers_of(x)), {"log at", "layer \"sequential/logarithm\""});
}

TEST_P(CheckNumerics, RaisesNoFalseAlarm) {
  Philox random(GetParam());
  for (int i = 0; i < 50; ++i) {
    set_seed(static_cast<uint64_t>(i));
    const auto units = [&] { return static_cast<int64_t>(1 + random.below(6)); };
    Sequential model;
    const uint64_t layers = random.below(4);
    for (uint64_t k = 0; k < layers; ++k) {
      constexpr const char* kNames[] = {"relu", "tanh", "sigmoid", "gelu", "softmax"};
      const std::string activation = kNames[random.below(5)];
      switch (random.below(4)) {
        case 0:
          model.add(BatchNormalization());
          break;
        case 1:
          model.add(Dropout(0.5));
          break;
        case 2:
          model.add(LayerNormalization());
          break;
        default:
          model.add(Dense({.units = units(), .activation = activation}));
      }
    }
    model.add(Dense({.units = 3}));
    const bool adam = random.below(2);
    model.compile(
        {.optimizer = adam ? Optimizer(Adam{.learning_rate = 0.1}) : Optimizer(SGD{.momentum = 0.5}),
         .run_eagerly = GetParam(),
         .check_numerics = true});
    const Tensor x = rows(17), y = argmax(x, 1);
    EXPECT_EQ(rule_of([&] {
                model.fit(x, y, {.epochs = 2, .batch_size = 8});
                model.evaluate(x, y);
              }),
              "nothing")
        << i;
  }
}

TEST(CheckNumericsOption, ChangesNoBits) {
  const auto run = [](bool checks) {
    set_seed(2);
    const Tensor x = rows(20), y = argmax(x, 1);
    Sequential model{Dense({.units = 5, .activation = "relu"}), BatchNormalization(), Dense({.units = 3})};
    model.compile({.check_numerics = checks});
    const auto history = model.fit(x, y, {.epochs = 3, .batch_size = 8});
    return std::pair(history, state(model));
  };
  EXPECT_EQ(run(true), run(false));
}

}  // namespace
}  // namespace espalier
