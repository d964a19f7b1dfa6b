#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "espalier/function.h"
#include "espalier/layers.h"
#include "espalier/merging.h"
#include "espalier/model.h"
#include "espalier/ops.h"
#include "espalier/pooling.h"
#include "espalier/random.h"
#include "espalier/tape.h"

namespace espalier {
namespace {

struct Block : Layer {
  Block() : Layer("block") {}
  Dense first{{.units = 3, .activation = "relu"}}, second{{.units = 2}};
  Tensor call(const Tensor& x) override { return second(first(x)); }
};
struct Net : Layer {
  Net() : Layer("net") {}
  Block a, b;
  Tensor call(const Tensor& x) override { return b(a(x)); }
};

TEST(Layers, SubclassesGiveTheirVariablesPaths) {
  set_seed(0);
  Net net;
  net(full({4, 5}, 1));
  std::vector<std::string> paths;
  for (const Variable& variable : net.variables()) paths.push_back(variable.path());
  EXPECT_EQ(paths, (std::vector<std::string>{"net/block/dense/kernel", "net/block/dense/bias",
                                             "net/block/dense_1/kernel", "net/block/dense_1/bias",
                                             "net/block_1/dense/kernel", "net/block_1/dense/bias",
                                             "net/block_1/dense_1/kernel", "net/block_1/dense_1/bias"}));
  EXPECT_EQ(net.variables()[0].shape(), (Shape{5, 3}));
}

TEST(Layers, TheNumberOfARefusedOneIsTheNextOnes) {
  const Tensor x = full({2, 3}, 1), scalars = full({3}, 1);
  const auto path_of = [&] {
    Dense layer({.units = 2, .name = "numbered"});
    layer(x);
    return layer.path();
  };
  EXPECT_EQ(path_of(), "numbered");
  EXPECT_EQ(path_of(), "numbered_1");
  for (int i = 0; i < 3; ++i) EXPECT_THROW(Dense({.units = 2, .name = "numbered"})(scalars), Error);
  EXPECT_EQ(path_of(), "numbered_2");
  Dense last({.units = 2, .name = "numbered"});
  EXPECT_THROW(last(scalars), Error);
  EXPECT_EQ(path_of(), "numbered_3");
  last(x);
  EXPECT_EQ(last.path(), "numbered_4");
}

TEST(Layers, DenseIsAffineAndRefusesWhatDoesNotFit) {
  Dense dense({.units = 2, .kernel_initializer = "ones", .bias_initializer = "ones"});
  EXPECT_EQ(dense(Tensor::of<float>({1, 2, 3, 4}, {2, 2})).to_vector<float>(),
            (std::vector<float>{4, 4, 8, 8}));
  EXPECT_THROW(dense(full({2, 3}, 1)), ShapeError);
  EXPECT_THROW(Dense({.units = 0}), ValueError);
  EXPECT_THROW(Dense({.activation = "rellu"}), ValueError);
}

TEST(Layers, ActivationFlattenAndEmbedding) {
  EXPECT_EQ(Activation("relu")(Tensor::of({-1.0f, 2.0f})).to_vector<float>(), (std::vector<float>{0, 2}));
  EXPECT_EQ(Flatten()(full({2, 3, 4}, 1)).shape(), (Shape{2, 12}));
  Embedding embedding({.input_dim = 5, .output_dim = 2});
  const Tensor rows = embedding(Tensor::of<int32_t>({4, 0, 4}));
  ASSERT_EQ(rows.shape(), (Shape{3, 2}));
  const auto table = embedding.variables()[0].read().to_vector<float>();
  EXPECT_EQ(rows.to_vector<float>(),
            (std::vector<float>{table[8], table[9], table[0], table[1], table[8], table[9]}));
  EXPECT_THROW(Embedding({.input_dim = 3})(full({2}, 1)), DTypeError);
}

TEST(Layers, NoRowsGiveNoRows) {
  const auto expect = [](auto layer, const Shape& example, const Shape& result, DType dtype = DType::kF32) {
    Shape in = example, out = result;
    in.insert(0, 0);
    out.insert(0, 0);
    for (const bool training : {false, true}) {
      const TrainingScope mode(training);
      const Tensor rows = full(in, 0, dtype);
      EXPECT_EQ(layer(rows).shape(), out) << layer.path();
      EXPECT_EQ(function([&](const Tensor& x) { return layer(x); })(rows).shape(), out) << layer.path();
      GradientTape tape;
      const Tensor loss = reduce_sum(layer(rows), Dims::range(out.size()));
      const std::vector<Variable> weights = layer.trainable_variables();
      const auto gradients = tape.gradient(loss, weights);
      for (size_t i = 0; i < weights.size(); ++i) {
        if (!gradients[i].defined()) continue;
        for (const float value : gradients[i].template to_vector<float>())
          EXPECT_EQ(value, 0) << weights[i].path();
      }
    }
  };
  // Wide enough that a single row beside the result would lie outside of every block.
  expect(Dense({.units = 1000}), {4}, {1000});
  expect(Dense({.units = 3, .activation = "softmax"}), {0}, {3});
  expect(Conv2D({.filters = 40, .padding = "same"}), {9, 9, 3}, {9, 9, 40});
  expect(MaxPooling2D(), {8, 8, 3}, {4, 4, 3});
  expect(AveragePooling2D(), {8, 8, 3}, {4, 4, 3});
  expect(BatchNormalization(), {300}, {300});
  expect(LayerNormalization(), {300}, {300});
  expect(Dropout(0.5), {300}, {300});
  expect(Flatten(), {3, 100}, {300});
  expect(Activation("gelu"), {300}, {300});
  expect(Embedding({.input_dim = 3, .output_dim = 100}), {2}, {2, 100}, DType::kI32);
}

TEST(Embedding, RefusesWhatIsNoId) {
  Embedding embedding({.input_dim = 5, .output_dim = 2});
  const auto said = [&](const Tensor& ids) -> std::string {
    try {
      embedding(ids);
    } catch (const ValueError& error) {
      EXPECT_EQ(error.rule(), "embedding.ids");
      return error.message();
    }
    return "";
  };
  EXPECT_EQ(said(Tensor::of<int32_t>({0, 4})), "");
  EXPECT_EQ(said(Tensor::of<int32_t>({0, 1, 4, 5}, {2, 2})),
            "id 5 of row 1 is none: layer \"embedding\" has 5, numbered from 0");
  EXPECT_EQ(said(Tensor::of<int8_t>({0, -1})),
            "id -1 of row 1 is none: layer \"embedding\" has 5, numbered from 0");
  EXPECT_EQ(said(Tensor::scalar(int64_t{1} << 40)),
            "id 1099511627776 is none: layer \"embedding\" has 5, numbered from 0");
  EXPECT_EQ(embedding(full({0, 3}, 0, DType::kI32)).shape(), (Shape{0, 3, 2}));
  // What a trace computes has no value yet.
  const auto traced = function([&](const Tensor& ids) { return embedding(ids + 1); });
  const auto rows = traced(Tensor::of<int32_t>({3, 4, -2})).to_vector<float>();
  EXPECT_TRUE(std::isfinite(rows[0]) && std::isfinite(rows[1]));
  for (const size_t i : {2, 3, 4, 5}) EXPECT_TRUE(std::isnan(rows[i])) << i;
}

TEST(Layers, DropoutDropsWhileTrainingOnlyAndAnewAtEachCall) {
  set_seed(9);
  Dropout dropout(0.25);
  const Tensor x = full({10000}, 1);
  EXPECT_EQ(dropout(x).to_vector<float>(), x.to_vector<float>());
  TrainingScope training(true);
  auto step = function([&](const Tensor& t) { return dropout(t); });
  const auto a = step(x).to_vector<float>(), b = step(x).to_vector<float>();
  int64_t zeros = 0;
  for (const float value : a) {
    if (value != 0) {
      EXPECT_FLOAT_EQ(value, 1 / 0.75f);
    }
    zeros += value == 0;
  }
  // 10,000 draws at 1/4: six deviations are 260.
  EXPECT_NEAR(static_cast<double>(zeros), 2500, 260);
  EXPECT_NE(a, b);
  set_seed(9);
  EXPECT_EQ(step(x).to_vector<float>(), a);
  EXPECT_THROW(Dropout(1), ValueError);
}

TEST(Layers, BatchNormalizationByTheBatchThenByItsAverages) {
  BatchNormalization norm({.momentum = 0.5, .epsilon = 0});
  const Tensor x = Tensor::of<float>({1, 10, 3, 30}, {2, 2});  // means 2, 20; variances 1, 100
  {
    TrainingScope training(true);
    const auto y = norm(x).to_vector<float>();
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[i], i < 2 ? -1 : 1, 1e-5);
  }
  const std::vector<Variable> variables = norm.variables();
  ASSERT_EQ(variables.size(), 4u);
  EXPECT_EQ(norm.trainable_variables().size(), 2u);
  EXPECT_EQ(variables[2].read().to_vector<float>(), (std::vector<float>{1, 10}));
  EXPECT_FLOAT_EQ(variables[3].read().to_vector<float>()[0], 1);
  EXPECT_FLOAT_EQ(variables[3].read().to_vector<float>()[1], 50.5f);
  EXPECT_NEAR(norm(x).to_vector<float>()[0], 0, 1e-6);  // (1 - 1) / 1
}

TEST(Layers, BatchNormalizationOfNoRowsMovesNothing) {
  const TrainingScope training(true);
  BatchNormalization norm;
  EXPECT_EQ(norm(full({0, 2}, 1)).shape(), (Shape{0, 2}));
  EXPECT_EQ(norm.variables()[2].read().to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(norm.variables()[3].read().to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(Layers, Conv2DCountsAndMaxPooling2DPicks) {
  Conv2D conv({.filters = 1, .kernel_size = {2, 2}, .padding = "same", .kernel_initializer = "ones"});
  const Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 3, 1});
  EXPECT_EQ(conv(x).to_vector<float>(), (std::vector<float>{12, 16, 9, 24, 28, 15, 15, 17, 9}));
  Conv2D valid({.filters = 1,
                .kernel_size = {2, 2},
                .strides = {1, 1},
                .use_bias = false,
                .kernel_initializer = "ones"});
  EXPECT_EQ(valid(x).shape(), (Shape{1, 2, 2, 1}));
  MaxPooling2D pool({.pool_size = {2, 2}, .strides = {1, 1}});
  EXPECT_EQ(pool(x).to_vector<float>(), (std::vector<float>{5, 6, 8, 9}));
  MaxPooling2D same({.padding = "same"});
  EXPECT_EQ(same(x).to_vector<float>(), (std::vector<float>{5, 6, 8, 9}));
  EXPECT_THROW(conv(full({3, 3}, 1)), ShapeError);
  EXPECT_THROW(valid(full({3, 3}, 1)), ShapeError);
  EXPECT_THROW(Conv2D({.padding = "full"}), ValueError);
  EXPECT_THROW(Conv2D({.kernel_initializer = "glorot"}), ValueError);

  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = reduce_sum(pool(x), {0, 1, 2, 3});
  EXPECT_EQ(tape.gradient(y, Source(x)).to_vector<float>(), (std::vector<float>{0, 0, 0, 0, 1, 1, 0, 1, 1}));
}

// An int for both axes, as in Keras, and `{}` for the defaults of all layers that have some.
TEST(Layers, OptionsAreWrittenAsInKeras) {
  const Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, {1, 4, 4, 1});
  Conv2D one({.kernel_size = 3, .strides = 2, .padding = "same", .kernel_initializer = "ones"}),
      both({.kernel_size = {3, 3}, .strides = {2, 2}, .padding = "same", .kernel_initializer = "ones"});
  EXPECT_EQ(one(x).to_vector<float>(), both(x).to_vector<float>());
  EXPECT_EQ(one(x).shape(), (Shape{1, 2, 2, 1}));
  EXPECT_EQ(MaxPooling2D({.pool_size = 3})(x).item<float>(), 11);
  EXPECT_EQ(MaxPooling2D({.pool_size = 3, .strides = 1})(x).to_vector<float>(),
            (std::vector<float>{11, 12, 15, 16}));
  EXPECT_EQ(AveragePooling2D({.pool_size = 4})(x).item<float>(), 8.5f);
  for (MaxPooling2D pool : {MaxPooling2D({}), MaxPooling2D(), MaxPooling2D{{}}})
    EXPECT_EQ(pool(x).to_vector<float>(), (std::vector<float>{6, 8, 14, 16}));
  EXPECT_EQ(AveragePooling2D({})(x).to_vector<float>(), (std::vector<float>{3.5f, 5.5f, 11.5f, 13.5f}));
  EXPECT_EQ(GlobalAveragePooling2D({})(x).item<float>(), 8.5f);
  EXPECT_EQ(ReLU({})(x - 8).to_vector<float>(), ReLU()(x - 8).to_vector<float>());
  EXPECT_EQ(LayerNormalization({})(x).shape(), x.shape());
  EXPECT_EQ(BatchNormalization({})(x).shape(), x.shape());
  EXPECT_EQ(Concatenate({})({x, x}).shape(), (Shape{1, 4, 4, 2}));
  EXPECT_EQ(Dense({})(x).shape(), x.shape());
  EXPECT_THROW(Conv2D({.kernel_size = {3}}), ValueError) << "a list has both";
  EXPECT_THROW(MaxPooling2D({.pool_size = 0}), ValueError);
}

TEST(Layers, AWindowLargerThanTheImageIsRefused) {
  const Tensor x = full({1, 3, 5, 1}, 1);
  const auto message = [](auto f) -> std::string {
    try {
      f();
    } catch (const ShapeError& error) {
      return error.message();
    }
    return "";
  };
  for (const std::string& text : {message([&] {
                                    Conv2D({.kernel_size = {4, 2}})(x);
                                  }),
                                  message([&] {
                                    MaxPooling2D({.pool_size = {4, 2}})(x);
                                  })}) {
    EXPECT_NE(text.find("[4,2]"), std::string::npos) << text;
    EXPECT_NE(text.find("f32[1,3,5,1]"), std::string::npos) << text;
  }
  EXPECT_EQ(Conv2D({.kernel_size = {4, 2}, .padding = "same"})(x).shape(), x.shape());
  EXPECT_EQ(Conv2D({.kernel_size = {3, 5}})(x).shape(), (Shape{1, 1, 1, 1}));
}

TEST(Layers, ErrorsNameTheUsersLine) {
  const Tensor x = full({2, 3}, 1);
  Net net;
  net(x);
  const std::vector<std::function<void()>> mistakes = {
      [&] {
        net(full({2, 4}, 1));
      },
      [&] { net(full({3}, 1)); },
      [&] { Sequential{Dense({.units = 2})}(full({3}, 1)); },
      [&] { Dense({.units = 2})(full({3}, 1)); },
      [&] { Dense({.units = 2})(Tensor()); },
      [&] { BatchNormalization({.axis = 7})(x); },
      [&] { Conv2D({.filters = 2})(x); },
      [&] { MaxPooling2D()(x); },
      [&] { Embedding({.input_dim = 2})(x); },
      [&] { Flatten()(full({}, 1)); },
      [&] { Dense({.units = 0}); },
      [&] { Dense({.activation = "rellu"}); },
      [&] { Dense({.name = ""}); },
      [&] { Dense({.kernel_initializer = "glorot"}); },
      [&] { Dense({.bias_initializer = "zero"}); },
      [&] { Activation("rellu"); },
      [&] { Dropout(1); },
      [&] { BatchNormalization({.momentum = 2}); },
      [&] { Embedding({.input_dim = 0}); },
      [&] { Embedding({.embeddings_initializer = "none"}); },
      [&] { Conv2D({.filters = 0}); },
      [&] {
        MaxPooling2D({.pool_size = {0, 1}});
      },
      [&] { initializer("none"); },
      [&] { activation("none"); },
  };
  for (size_t i = 0; i < mistakes.size(); ++i) {
    try {
      mistakes[i]();
      ADD_FAILURE() << "mistake " << i << " is not refused";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(" at layer_test.cc:"), std::string::npos) << error.what();
    }
  }
}

TEST(Layers, AnEmptyActivationIsToldWhatSaysNone) {
  try {
    Dense({.units = 4, .activation = ""});
    ADD_FAILURE() << "it is not refused";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "activation.name");
    EXPECT_NE(error.message().find("known are linear, relu, "), std::string::npos) << error.message();
    EXPECT_EQ(error.fix(), "write \"linear\" for none");
  }
}

TEST(Layers, ErrorsNameTheLineInTheUsersLayerToo) {
  static uint32_t inside = 0;
  struct Wrong : Layer {
    explicit Wrong(bool calls_dense) : Layer("wrong"), calls_dense(calls_dense) {}
    bool calls_dense;
    Dense dense{{.units = 4}};
    Tensor call(const Tensor& x) override {
      const Tensor y = dense(x);
      inside = __LINE__ + 1;
      return calls_dense ? dense(y) : x + y;
    }
  };
  const Tensor x = full({2, 3}, 1);
  for (const bool calls_dense : {false, true}) {
    Sequential model{Wrong(calls_dense)};
    model.compile({.loss = MeanSquaredError(), .metrics = {}});
    std::string text;
    const uint32_t fit = __LINE__ + 2;
    try {
      model.fit(x, x);
    } catch (const ShapeError& error) {
      text = error.what();
    }
    const std::string path = calls_dense ? "sequential/wrong/dense" : "sequential/wrong";
    const std::string wanted = " at layer_test.cc:" + std::to_string(inside) +
                               ", called at layer_test.cc:" + std::to_string(fit) + ", " + path + "\n";
    EXPECT_NE(text.find(wanted), std::string::npos) << text << wanted;
  }
}

std::string layer_message(const std::function<void()>& mistake) {
  try {
    mistake();
  } catch (const Error& error) {
    return error.rule() + ": " + error.message() + (error.fix().empty() ? "" : "; " + error.fix());
  }
  return "nothing";
}

TEST(Layers, OneThatWasCopiedAsItsBaseClassIsToldSo) {
  set_seed(0);
  std::vector<Layer> sliced{Dense({.units = 2})};
  EXPECT_EQ(
      layer_message([&] {
        sliced[0](full({1, 2}, 1));
      }),
      "layer.call: layer \"dense\" is a Layer and no more, which computes nothing: perhaps it was copied as "
      "its base class, as into a std::vector<Layer> or through a Layer&; keep the layer as what it was made, "
      "or by a pointer");
  struct Nothing : Layer {};
  EXPECT_EQ(layer_message([&] {
              Nothing()(full({1, 2}, 1));
            }),
            "layer.call: layer \"layer\" defines neither call nor call_many");
}

TEST(Layers, AnInputThatHoldsNothingAndAWeightThatIsNotThereAreNamed) {
  set_seed(0);
  struct Sum : Layer {
    Sum() : Layer("sum") {}
    void build_many(Inputs<TensorType>) override { add_weight("factor", {1}, initializer("ones")); }
    Tensors call_many(Inputs<Tensor> x) override { return {(x[0] + x[1]) * weight("factr")}; }
  };
  const Tensor x = full({1}, 1);
  EXPECT_EQ(layer_message([&] {
              Sum()({x, Tensor()});
            }),
            "tensor.undefined: input 1 of layer \"sum\" holds nothing; assign it before use");
  EXPECT_EQ(
      layer_message([&] {
        Sum()({x, x});
      }),
      "layer.weight: unknown weight of layer \"sum\": \"factr\": known are factor; did you mean \"factor\"?");
}

TEST(Layers, NumbersInErrorsHaveTheFewestDigits) {
  EXPECT_EQ(layer_message([] { Dropout(1.5); }), "dropout.rate: the rate must lie in [0, 1), got 1.5");
  EXPECT_EQ(layer_message([] { Optimizer(SGD{.learning_rate = -0.1}); }),
            "optimizer.learning_rate: learning_rate must not be negative, got -0.1");
  EXPECT_EQ(
      layer_message([] { full({2}, 1, DType::kI32) * 0.5; }),
      "operand.fraction: the scalar 0.5 meets a tensor of i32; write an integer, or convert the tensor");
}

TEST(Layers, TheGeneratorIsAVariable) {
  Generator generator(5);
  auto draw = function([&] { return random_uniform({4}, generator.key(), generator.next_step()); });
  const auto a = draw().to_vector<float>(), b = draw().to_vector<float>();
  EXPECT_NE(a, b);
  generator.reset(5);
  EXPECT_EQ(draw().to_vector<float>(), a);
}

TEST(Layers, AShapeAloneDrawsFromTheDefaultGenerator) {
  set_seed(5);
  const Tensor a = random_normal({2, 3}), b = random_uniform({4}), c = random_uniform({4});
  Generator same(5);
  EXPECT_EQ(a.to_vector<float>(), same.normal({2, 3}).to_vector<float>());
  EXPECT_EQ(b.to_vector<float>(), same.uniform({4}).to_vector<float>());
  EXPECT_NE(b.to_vector<float>(), c.to_vector<float>());
}

}  // namespace
}  // namespace espalier
