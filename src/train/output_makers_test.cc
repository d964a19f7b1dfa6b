// Losses that take another kind of outputs than the model gives.
#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/espalier.h"

namespace espalier {
namespace {

const Tensor kX = full({4, 3}, 1), kClasses = Tensor::of<int32_t>({0, 1, 1, 0}), kBinary = full({4, 1}, 1);

std::string rule_of_fit(Sequential model, const Loss& loss, const Tensor& y, bool eagerly = false) {
  model.compile({.loss = loss, .metrics = {}, .run_eagerly = eagerly});
  const std::string rule = rule_of([&] { model.fit(kX, y); });
  EXPECT_EQ(rule_of([&] { model.evaluate(kX, y); }), rule);
  return rule;
}

TEST(LossOutputs, ProbabilitiesAreNoLogits) {
  const auto rule = [](const char* last, const Loss& loss, const Tensor& y, bool eagerly = false) {
    return rule_of_fit(Sequential{Dense({.units = y.rank() == 1 ? 2 : 1}), Activation(last)}, loss, y,
                       eagerly);
  };
  const Loss sparse = SparseCategoricalCrossentropy({.from_logits = true}),
             binary = BinaryCrossentropy({.from_logits = true});
  for (const bool eagerly : {false, true}) {
    EXPECT_EQ(rule("softmax", sparse, kClasses, eagerly), "loss.logits");
    EXPECT_EQ(rule("sigmoid", binary, kBinary, eagerly), "loss.logits");
  }
  for (const char* last : {"linear", "relu", "tanh", "softplus"}) {
    EXPECT_EQ(rule(last, sparse, kClasses), "nothing") << last;
    EXPECT_EQ(rule(last, binary, kBinary), "nothing") << last;
  }
  EXPECT_EQ(rule("softmax", SparseCategoricalCrossentropy(), kClasses), "nothing");
  EXPECT_EQ(rule("sigmoid", BinaryCrossentropy(), kBinary), "nothing");
  EXPECT_EQ(rule("sigmoid", MeanSquaredError(), kBinary), "nothing");
  // What follows a softmax may make logits of it.
  EXPECT_EQ(rule_of_fit(Sequential{Activation("softmax"), Dense({.units = 2})}, sparse, kClasses), "nothing");
}

TEST(LossOutputs, AnotherShapeDoesNotChangeWhatTheyAre) {
  const Loss sparse = SparseCategoricalCrossentropy({.from_logits = true}),
             binary = BinaryCrossentropy({.from_logits = true});
  const Tensor classes = reshape(kClasses, {4, 1}), ones = full({4, 1, 1}, 1);
  const auto rule = [](const DenseOptions& dense, const Loss& loss, const Tensor& y, bool eagerly) {
    return rule_of_fit(Sequential{Dense(dense), Reshape({1, dense.units})}, loss, y, eagerly);
  };
  for (const bool eagerly : {false, true}) {
    EXPECT_EQ(rule({.units = 2, .activation = "softmax"}, sparse, classes, eagerly), "loss.logits");
    EXPECT_EQ(rule({.units = 1, .activation = "sigmoid"}, binary, ones, eagerly), "loss.logits");
    EXPECT_EQ(rule({.units = 1}, BinaryCrossentropy(), ones, eagerly), "loss.probabilities");
    EXPECT_EQ(rule({.units = 2}, sparse, classes, eagerly), "nothing");
    EXPECT_EQ(rule({.units = 1, .activation = "sigmoid"}, BinaryCrossentropy(), ones, eagerly), "nothing");
  }
  EXPECT_EQ(rule_of_fit(Sequential{Dense({.units = 2}), Activation("sigmoid"), Reshape({2, 1}), Reshape({2})},
                        binary, full({4, 2}, 1)),
            "loss.logits");
}

TEST(LossOutputs, NumbersThatABiasIsAddedToAreNoProbabilities) {
  const auto rule = [](const DenseOptions& last) {
    return rule_of_fit(Sequential{Dense({.units = 3}), Dense(last)}, BinaryCrossentropy(), kBinary);
  };
  EXPECT_EQ(rule({}), "loss.probabilities");
  EXPECT_EQ(rule({.dtype = "mixed_bfloat16"}), "loss.probabilities");
  EXPECT_EQ(rule({.activation = "sigmoid"}), "nothing");
  EXPECT_EQ(rule({.activation = "exponential"}), "nothing");
  // A sum of probabilities by weights may be one.
  EXPECT_EQ(rule({.use_bias = false}), "nothing");
}

TEST(LossOutputs, ErrorsNameTheLayerTheOutputAndWhatToDo) {
  const auto text = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  };
  Sequential model{Dense({.units = 2, .activation = "softmax", .name = "last"})};
  model.compile();
  EXPECT_EQ(text([&] { model.fit(kX, kClasses); }).substr(0, 38), "ValueError[loss.logits] at output_make");
  EXPECT_NE(
      text([&] { model.fit(kX, kClasses); })
          .find("\n  loss \"sparse_categorical_crossentropy\" takes logits, the outputs of the model went "
                "through a softmax last\n  fix: give the loss .from_logits = false, or the last layer no "
                "softmax"),
      std::string::npos);
  Sequential one{Dense({.units = 1, .activation = "sigmoid", .name = "last"})};
  one.compile();
  EXPECT_NE(text([&] { one.fit(kX, kClasses); })
                .find("\n  fix: one unit goes with BinaryCrossentropy({.from_logits = false}); several "
                      "classes with a "
                      "unit for each, and no sigmoid"),
            std::string::npos);
  set_seed(0);
  const Placeholder x = Input({3});
  Functional two({x}, {connect(Dense({.name = "a"}), x), connect(Dense({.name = "b"}), x)});
  two.compile(
      {.outputs = {{.name = "a", .loss = MeanSquaredError()}, {.name = "b", .loss = BinaryCrossentropy()}}});
  EXPECT_NE(text([&] {
              two.fit(kX, {kBinary, kBinary});
            }).find("output \"b\" can be any numbers: \"functional/b/bias\" is added last"),
            std::string::npos);
}

}  // namespace
}  // namespace espalier
