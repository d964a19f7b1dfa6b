#include "espalier/losses.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/ops.h"
#include "espalier/random.h"
#include "espalier/tape.h"
#include "ir/golden_test.h"

namespace espalier {
namespace {

using nlohmann::json;

template <class Options>
Options crossentropy(const json& arguments) {
  Options out;
  take_argument(arguments, "from_logits", out.from_logits);
  if constexpr (std::is_same_v<Options, CrossentropyOptions>)
    take_argument(arguments, "label_smoothing", out.label_smoothing);
  return out;
}

Loss make(const std::string& name, const json& arguments) {
  const bool plain = arguments.empty();
  if (name == "MeanSquaredError") return MeanSquaredError();
  if (name == "MeanAbsoluteError") return MeanAbsoluteError();
  if (name == "Huber") return plain ? Huber() : Huber({.delta = arguments.at("delta")});
  if (name == "SparseCategoricalCrossentropy") {
    return plain
               ? SparseCategoricalCrossentropy()
               : SparseCategoricalCrossentropy(crossentropy<SparseCategoricalCrossentropyOptions>(arguments));
  }
  if (name == "CategoricalCrossentropy") {
    return plain ? CategoricalCrossentropy()
                 : CategoricalCrossentropy(crossentropy<CrossentropyOptions>(arguments));
  }
  if (name == "BinaryCrossentropy")
    return plain ? BinaryCrossentropy() : BinaryCrossentropy(crossentropy<CrossentropyOptions>(arguments));
  throw std::runtime_error(name);
}

TEST(Losses, AndTheirGradientsAreKeras) {
  const json golden = read_golden("keras_train.json");
  for (const json& c : golden.at("losses")) {
    SCOPED_TRACE(c.at("class").get<std::string>() + c.at("arguments").dump());
    const Loss loss = make(c.at("class"), c.at("arguments"));
    const Tensor outputs = golden_array(c.at("outputs"));
    GradientTape tape;
    tape.watch(outputs);
    const Tensor rows = loss.per_example(golden_array(c.at("labels")), outputs);
    expect_golden(rows, c.at("losses"), 3e-6);
    expect_golden(tape.gradient(rows, outputs), c.at("gradient"), 1e-5);
  }
  EXPECT_EQ(golden.at("losses").size(), 22u);
}

TEST(Losses, LabelsOfAnyNumbersAndOutputsOfAnyFloats) {
  for (const DType dtype : {DType::kF64, DType::kBF16, DType::kF32}) {
    for (const DType labels : {DType::kBool, DType::kU8, DType::kI64, DType::kF64}) {
      const Tensor rows = MeanSquaredError().per_example(full({2, 3}, 1, labels), full({2, 3}, 3, dtype));
      EXPECT_EQ(rows.type(), (TensorType{DType::kF32, {2}}));
      EXPECT_EQ(rows.to_vector<float>(), (std::vector<float>{4, 4}));
    }
  }
  EXPECT_EQ(MeanAbsoluteError().per_example(full({2}, 1), full({2}, 3)).to_vector<float>(),
            (std::vector<float>{2, 2}));
}

// The second line of the error that `call` raises.
template <class F>
std::string complaint(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    const std::string text = error.what();
    return error.kind() + "[" + error.rule() + "]" + text.substr(text.find('\n'));
  }
  return "nothing";
}

// In a training step of one's own too, where a label that is no class would make every weight NaN.
TEST(Losses, LabelsThatAreNoClassAreNamed) {
  const Loss loss = SparseCategoricalCrossentropy({.from_logits = true});
  const Tensor logits = full({3, 2}, 0.5);
  EXPECT_EQ(complaint([&] {
              loss.sums(Tensor::of<int32_t>({0, 1, 2}), logits);
            }),
            "ValueError[loss.labels]\n  label 2 of row 2 is no class: the outputs have 2, numbered from 0");
  EXPECT_EQ(rule_of([&] { loss.of_rows(Tensor::of<int32_t>({0, -1, 1}), logits); }), "loss.labels");
  EXPECT_NEAR(loss.sums(Tensor::of<int32_t>({0, 1, 1}), logits).mean().item<float>(), std::log(2.0f), 1e-6);
}

TEST(Losses, NothingBroadcasts) {
  const std::vector<Loss> same_shape{CategoricalCrossentropy(), BinaryCrossentropy(), MeanSquaredError(),
                                     MeanAbsoluteError(), Huber()};
  for (const Loss& loss : same_shape) {
    const auto rule = [&](const Tensor& labels, const Tensor& outputs) {
      return rule_of([&] { loss.per_example(labels, outputs); });
    };
    EXPECT_EQ(complaint([&] {
                loss.per_example(full({4}, 1), full({4, 1}, 1));
              }),
              "ShapeError[" + loss.name +
                  ".labels]\n  labels must have the outputs' shape, [batch, ...]: labels f32[4], outputs "
                  "f32[4,1]\n  fix: give labels the outputs' last axis: expand_dims(labels, -1)");
    EXPECT_EQ(rule(full({4, 1}, 1), full({4}, 1)), loss.name + ".labels");
    EXPECT_EQ(rule(full({1, 3}, 1), full({4, 3}, 1)), loss.name + ".labels");
    EXPECT_EQ(rule(full({4, 3}, 1), full({4, 2, 3}, 1)), loss.name + ".labels");
    EXPECT_EQ(rule(full({}, 1), full({}, 1)), loss.name + ".labels");
    EXPECT_EQ(rule(full({4, 3}, 1), full({4, 3}, 1, DType::kI32)), loss.name + ".outputs");
  }
  EXPECT_EQ(
      complaint([] {
        CategoricalCrossentropy().per_example(full({4}, 1, DType::kI32), full({4, 10}, 1));
      }),
      "ShapeError[categorical_crossentropy.labels]\n  labels must have the outputs' shape, [batch, ...]: "
      "labels i32[4], outputs f32[4,10]\n  fix: make rows of class numbers: one_hot(labels, 10)");
  EXPECT_EQ(rule_of([] { CategoricalCrossentropy().per_example(full({4}, 1), full({4}, 1)); }),
            "categorical_crossentropy.classes");

  const Loss sparse = SparseCategoricalCrossentropy();
  EXPECT_EQ(
      complaint([&] {
        sparse.per_example(full({4, 1}, 1, DType::kI32), full({4, 3}, 1));
      }),
      "ShapeError[sparse_categorical_crossentropy.labels]\n  labels must have the outputs' shape without "
      "its last axis: labels i32[4,1], outputs f32[4,3]\n  fix: take the last axis from the labels: "
      "squeeze(labels, -1)");
  EXPECT_EQ(
      complaint([&] {
        sparse.per_example(full({4}, 1), full({4, 3}, 1));
      }),
      "DTypeError[sparse_categorical_crossentropy.labels]\n  labels must be integers: labels f32[4], "
      "outputs f32[4,3]\n  fix: convert(labels, DType::kI32); for labels that are numbers another loss, as "
      "MeanSquaredError()");
  EXPECT_EQ(rule_of([&] {
              sparse.per_example(full({4}, 1, DType::kI32), full({4, 3}, 1, DType::kI32));
            }),
            "sparse_categorical_crossentropy.outputs");
  EXPECT_EQ(rule_of([&] { sparse.per_example(full({}, 1, DType::kI32), full({3}, 1)); }),
            "sparse_categorical_crossentropy.labels");
}

// Rows [begin, end) of both, as parts of a batch have them.
LossSums sums_of(const Loss& loss, const Tensor& labels, const Tensor& outputs, const Tensor& weights,
                 int64_t begin, int64_t end) {
  return loss.sums(slice(labels, {begin, 0}, {end, 3}), slice(outputs, {begin, 0}, {end, 3}),
                   slice(weights, {begin}, {end}));
}

TEST(Losses, SumsOfPartsAddUpToThoseOfTheWhole) {
  const Tensor labels = softmax(Generator(1).normal({9, 3}), 1), outputs = Generator(2).normal({9, 3}),
               weights = abs(Generator(3).normal({9}));
  for (const Loss& loss :
       {MeanSquaredError(), MeanAbsoluteError(), Huber({.delta = 0.3}),
        CategoricalCrossentropy({.from_logits = true}), BinaryCrossentropy({.from_logits = true})}) {
    SCOPED_TRACE(loss.name);
    GradientTape whole_tape, parts_tape;
    whole_tape.watch(outputs);
    parts_tape.watch(outputs);
    const LossSums whole = loss.sums(labels, outputs, weights);
    const LossSums parts = sums_of(loss, labels, outputs, weights, 0, 2) +
                           sums_of(loss, labels, outputs, weights, 2, 3) +
                           sums_of(loss, labels, outputs, weights, 3, 9);
    double sum = 0, weight = 0;
    const auto rows = loss.per_example(labels, outputs).to_vector<float>(), each = weights.to_vector<float>();
    for (size_t i = 0; i < rows.size(); ++i) {
      sum += static_cast<double>(rows[i]) * static_cast<double>(each[i]);
      weight += static_cast<double>(each[i]);
    }
    for (const LossSums& sums : {whole, parts}) {
      EXPECT_NEAR(sums.sum.item<float>(), sum, 1e-5);
      EXPECT_NEAR(sums.weight.item<float>(), weight, 1e-5);
      EXPECT_NEAR(sums.mean().item<float>(), sum / weight, 1e-5);
    }
    const auto one = whole_tape.gradient(whole.mean(), outputs).to_vector<float>(),
               other = parts_tape.gradient(parts.mean(), outputs).to_vector<float>();
    for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], other[i], 1e-6);
  }
}

// A row of weight 0 is not there, whatever its label and its output hold: by closed form, and as if it were
// cut.
TEST(Losses, WhatARowOfWeightZeroHoldsReachesNothing) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto mean = [](const Tensor& labels, const Tensor& outputs) {
    return MeanSquaredError().sums(labels, outputs, Tensor::of<float>({0, 1})).mean().item<float>();
  };
  EXPECT_EQ(mean(Tensor::of<float>({nan, 1}), Tensor::of<float>({2, 3})), 4);
  EXPECT_EQ(mean(Tensor::of<float>({inf, 1}), Tensor::of<float>({-inf, 3})), 4);
  EXPECT_EQ(LossSums::of(Tensor::of<float>({nan, 4, inf}), Tensor::of<float>({0, 2, 0})).mean().item<float>(),
            4);

  const Tensor weights = Tensor::of<float>({2, 0, 1, 0});
  const Tensor counted = Tensor::of<int32_t>({0, 2});
  const auto check = [&](const Loss& loss, const Tensor& labels, const Tensor& outputs) {
    SCOPED_TRACE(loss.name);
    const Tensor own_outputs = take(outputs, counted);
    GradientTape tape, own_tape;
    tape.watch(outputs);
    own_tape.watch(own_outputs);
    const LossSums all = loss.sums(labels, outputs, weights),
                   own = loss.sums(take(labels, counted), own_outputs, Tensor::of<float>({2, 1}));
    EXPECT_EQ(all.sum.item<float>(), own.sum.item<float>());
    EXPECT_EQ(all.weight.item<float>(), 3);
    const Tensor gradient = tape.gradient(all.mean(), outputs),
                 own_gradient = own_tape.gradient(own.mean(), own_outputs);
    EXPECT_EQ(take(gradient, counted).to_vector<float>(), own_gradient.to_vector<float>());
    EXPECT_EQ(take(gradient, Tensor::of<int32_t>({1, 3})).to_vector<float>(), std::vector<float>(6, 0));
  };
  const Tensor outputs =
      Tensor::of<float>({0.2f, 0.3f, 0.5f, nan, inf, 1, 0.6f, 0.1f, 0.3f, -inf, nan, 2}, {4, 3});
  const Tensor shares = Tensor::of<float>({0.1f, 0.2f, 0.7f, 7, nan, -1, 0, 1, 0, nan, nan, inf}, {4, 3});
  const Tensor classes = Tensor::of<int32_t>({2, -1, 0, 99});
  for (const Loss& loss : {MeanSquaredError(), MeanAbsoluteError(), Huber()}) check(loss, shares, outputs);
  for (const bool from_logits : {false, true}) {
    check(SparseCategoricalCrossentropy({.from_logits = from_logits}), classes, outputs);
    check(CategoricalCrossentropy({.from_logits = from_logits, .label_smoothing = 0.1}), shares, outputs);
    check(BinaryCrossentropy({.from_logits = from_logits}), shares, outputs);
  }
  // One of the user's, which has no number for the zeros that stand in for the row.
  check({"log", [](const Tensor& y, const Tensor& out) { return reduce_sum(y * log(out), {1}) * 1; }}, shares,
        outputs);
}

TEST(Losses, RowsWeighOneUnlessSaidAndNothingIsDividedByNothing) {
  const Tensor labels = full({4, 2}, 1), outputs = full({4, 2}, 3);
  EXPECT_EQ(MeanSquaredError().sums(labels, outputs).sum.item<float>(), 16);
  EXPECT_EQ(MeanSquaredError().sums(labels, outputs).weight.item<float>(), 4);
  EXPECT_EQ(MeanSquaredError().sums(labels, outputs, full({4}, 0)).mean().item<float>(), 0);
  const auto rule = [&](const Loss& loss, const Tensor& weights) {
    return rule_of([&] { loss.sums(labels, outputs, weights); });
  };
  EXPECT_EQ(rule(MeanSquaredError(), full({}, 1)), "loss.row_weight");
  EXPECT_EQ(rule(MeanSquaredError(), full({1}, 1)), "loss.row_weight");
  EXPECT_EQ(rule(MeanSquaredError(), full({4, 2}, 1)), "loss.row_weight");
  EXPECT_EQ(rule({"none", nullptr}, {}), "loss.function");
  EXPECT_EQ(rule({"empty", [](const Tensor&, const Tensor&) { return Tensor(); }}, {}), "loss.function");
  EXPECT_EQ(rule({"wide", [](const Tensor&, const Tensor& given) { return given; }}, {}), "loss.shape");
  EXPECT_EQ(rule({"whole", [](const Tensor&, const Tensor&) { return full({4}, 1, DType::kI32); }}, {}),
            "loss.dtype");
}

TEST(Losses, OptionsOutsideOfTheirRangeAreRefused) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {-0.1, 1.1, kNan}) {
    EXPECT_EQ(rule_of([&] { CategoricalCrossentropy({.label_smoothing = bad}); }),
              "categorical_crossentropy.label_smoothing");
    EXPECT_EQ(rule_of([&] { BinaryCrossentropy({.label_smoothing = bad}); }),
              "binary_crossentropy.label_smoothing");
  }
  for (const double bad : {0.0, -1.0, kNan, std::numeric_limits<double>::infinity()})
    EXPECT_EQ(rule_of([&] { Huber({.delta = bad}); }), "huber.delta");
  EXPECT_NO_THROW(BinaryCrossentropy({.label_smoothing = 1}));
}

}  // namespace
}  // namespace espalier
