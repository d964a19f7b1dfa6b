#include "espalier/regularizers.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/model.h"
#include "espalier/ops.h"
#include "espalier/tape.h"
#include "ir/golden_test.h"

namespace espalier {
namespace {

using nlohmann::json;

Regularizer make(const std::string& name, const json& a) {
  if (name == "L1") return a.empty() ? regularizers::L1() : regularizers::L1(a.at("l1").get<double>());
  if (name == "L2") return a.empty() ? regularizers::L2() : regularizers::L2(a.at("l2").get<double>());
  regularizers::L1L2Options options;
  take_argument(a, "l1", options.l1);
  take_argument(a, "l2", options.l2);
  return regularizers::L1L2(options);
}

TEST(Regularizers, AndTheirGradientsAreKeras) {
  const json golden = read_golden("keras_train.json");
  for (const json& c : golden.at("regularizers")) {
    SCOPED_TRACE(c.at("class").get<std::string>() + c.at("arguments").dump());
    const Tensor weight = golden_array(c.at("weight"));
    GradientTape tape;
    tape.watch(weight);
    const Tensor penalty = make(c.at("class"), c.at("arguments"))(weight);
    expect_golden(penalty, c.at("penalty"), 1e-6);
    expect_golden(tape.gradient(penalty, weight), c.at("gradient"), 1e-6);
  }
  EXPECT_EQ(golden.at("regularizers").size(), 6u);
}

TEST(Regularizers, LayersCollectPenaltiesOfTrainableWeights) {
  struct Net : Layer {
    Dense first{{.units = 2, .kernel_initializer = "ones", .kernel_regularizer = regularizers::L2(0.5)}},
        last{{.units = 3, .kernel_initializer = "ones", .kernel_regularizer = regularizers::L1(0.25)}};
    Tensor call(const Tensor& x) override { return last(first(x)); }
  };
  Net net;
  EXPECT_TRUE(net.losses().empty());
  net(full({1, 4}, 1));
  Net copy = net;
  copy(full({1, 4}, 1));
  const auto values = [&] {
    std::vector<float> out;
    for (const Tensor& loss : copy.losses()) out.push_back(loss.item<float>());
    return out;
  };
  EXPECT_EQ(values(), (std::vector<float>{4, 1.5}));
  net.variables()[0].set_trainable(false);
  EXPECT_EQ(values(), (std::vector<float>{1.5}));

  Conv2D conv({.filters = 2,
               .kernel_initializer = "ones",
               .bias_initializer = "ones",
               .kernel_regularizer = regularizers::L2(0.5),
               .bias_regularizer = regularizers::L1(0.25)});
  conv(full({1, 3, 3, 1}, 1));
  ASSERT_EQ(conv.losses().size(), 2u);
  EXPECT_EQ(conv.losses()[0].item<float>(), 9);
  EXPECT_EQ(conv.losses()[1].item<float>(), 0.5f);

  Dense shifted({.units = 4, .bias_initializer = "ones", .bias_regularizer = regularizers::L2(0.5)});
  shifted(full({1, 2}, 1));
  ASSERT_EQ(shifted.losses().size(), 1u);
  EXPECT_EQ(shifted.losses()[0].item<float>(), 2);
  Embedding table({.input_dim = 3,
                   .output_dim = 2,
                   .embeddings_initializer = "ones",
                   .embeddings_regularizer = regularizers::L1(0.5)});
  table(Tensor::of<int32_t>({0}, {1}));
  ASSERT_EQ(table.losses().size(), 1u);
  EXPECT_EQ(table.losses()[0].item<float>(), 3) << "of all rows, not of those that were asked for";

  Dense rows({.units = 2, .kernel_regularizer = [](const Tensor& w) { return w * w; }});
  rows(full({1, 2}, 1));
  EXPECT_EQ(rule_of([&] { rows.losses(); }), "layer.regularizer");
  Dense narrow({.units = 2,
                .kernel_initializer = "ones",
                .kernel_regularizer = regularizers::L2(0.5),
                .dtype = "bfloat16"});
  narrow(full({1, 2}, 1));
  EXPECT_EQ(narrow.losses()[0].dtype(), DType::kF32);
}

TEST(Regularizers, PenaltiesArePartOfTheLossOfFit) {
  Sequential model{Dense({.units = 1,
                          .use_bias = false,
                          .kernel_initializer = "ones",
                          .kernel_regularizer = regularizers::L2(0.5)})};
  model.compile({.optimizer = SGD{.learning_rate = 0.125}, .loss = MeanSquaredError(), .metrics = {}});
  const Tensor x = Tensor::of<float>({1, 0, 0, 1, 1, 1}, {3, 2}), y = Tensor::of<float>({1, 1, 2}, {3, 1});
  // Every output is right: the loss is 0.5 (1 + 1), the gradient of each weight 1.
  EXPECT_EQ(model.evaluate(x, y, 2).at("loss"), 1);
  EXPECT_EQ(model.fit(x, y, {.batch_size = 3}).at(0).at("loss"), 1);
  EXPECT_EQ(model.variables()[0].read().to_vector<float>(), (std::vector<float>{0.875f, 0.875f}));
}

TEST(Regularizers, FactorsOutsideOfTheirRangeAreRefused) {
  for (const double bad :
       {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(rule_of([&] { regularizers::L1(bad); }), "regularizer.l1");
    EXPECT_EQ(rule_of([&] { regularizers::L2(bad); }), "regularizer.l2");
    EXPECT_EQ(rule_of([&] { regularizers::L1L2({.l2 = bad}); }), "regularizer.l2");
  }
}

}  // namespace
}  // namespace espalier
