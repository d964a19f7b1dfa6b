// What handles on layers share, and what calls change: weights, paths, parents.
#include <set>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/function.h"
#include "espalier/layers.h"
#include "espalier/model.h"
#include "espalier/ops.h"

namespace espalier {
namespace {

const Tensor kX = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});

std::vector<std::string> paths(const Layer& layer) {
  std::vector<std::string> out;
  for (const Variable& variable : layer.variables()) out.push_back(variable.path());
  return out;
}
std::vector<float> sharing_values(const Tensor& tensor) { return tensor.to_vector<float>(); }
TEST(LayerSharing, ACopyMadeBeforeTheFirstCallHasTheSameWeights) {
  Dense a({.units = 2});
  Dense b = a, unbuilt = a;
  const auto y = sharing_values(b(kX));
  EXPECT_EQ(sharing_values(a(kX)), y);
  ASSERT_EQ(a.variables().size(), 2u);
  a.variables()[0].assign(full({3, 2}, 0));
  EXPECT_EQ(sharing_values(b(kX)), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(a.variables()[0].state(), b.variables()[0].state());
  EXPECT_EQ(rule_of([&] { unbuilt(full({2, 4}, 1)); }), "layer.weight");
}

TEST(LayerSharing, EveryLayerWithWeightsIsAHandle) {
  const Tensor image = full({1, 4, 4, 2}, 1), ids = Tensor::of<int32_t>({1, 0});
  Conv2D conv({.filters = 3});
  BatchNormalization norm;
  Embedding embedding({.input_dim = 4, .output_dim = 3});
  Conv2D conv_copy = conv;
  BatchNormalization norm_copy = norm;
  Embedding embedding_copy = embedding;
  EXPECT_EQ(sharing_values(conv(image)), sharing_values(conv_copy(image)));
  EXPECT_EQ(sharing_values(norm(kX)), sharing_values(norm_copy(kX)));
  EXPECT_EQ(sharing_values(embedding(ids)), sharing_values(embedding_copy(ids)));
}

// Keeps its weight in a member, as a user may.
struct SharingScale : Layer {
  SharingScale() : Layer("scale") {}
  std::vector<Variable> weights;
  void build(const TensorType& x) override {
    weights = {add_weight("factor", {x.shape.back()}, initializer("ones"))};
  }
  Tensor call(const Tensor& x) override { return x * weights[0]; }
};
struct Pair : Layer {
  Pair() : Layer("pair") {}
  Dense inner{{.units = 3}};
  SharingScale scale;
  Tensor call(const Tensor& x) override { return scale(inner(x)); }
};

TEST(LayerSharing, CopiesOfAUsersLayerShareToo) {
  Pair a;
  Pair b = a;
  EXPECT_EQ(sharing_values(a(kX)), sharing_values(b(kX)));
  a.scale.weights[0].assign(full({3}, 0));
  EXPECT_EQ(sharing_values(b(kX)), std::vector<float>(6, 0.0f));
  EXPECT_EQ(a.variables().size(), 3u);
  EXPECT_EQ(paths(a), paths(b));
}

TEST(LayerSharing, OneLayerInTwoModels) {
  set_seed(0);
  Dense shared({.units = 2});
  Sequential a{shared, Dense({.units = 2})}, b{shared};
  a(kX);
  b(kX);
  shared(kX);
  EXPECT_EQ(paths(a), (std::vector<std::string>{"sequential/dense/kernel", "sequential/dense/bias",
                                                "sequential/dense_1/kernel", "sequential/dense_1/bias"}));
  EXPECT_EQ(paths(b), (std::vector<std::string>{"sequential/dense/kernel", "sequential/dense/bias"}));
  EXPECT_EQ(a.variables()[0].state(), b.variables()[0].state());
  EXPECT_EQ(shared.path(), "sequential/dense");
}

TEST(LayerSharing, ALayerThatWasCalledAloneBelongsToTheModelThatCallsIt) {
  set_seed(0);
  Dense base({.units = 2});
  base(kX);
  Sequential model{base, base};
  EXPECT_THROW(model(kX), ShapeError);  // 2 features do not fit the kernel for 3
  Sequential once{base};
  once(kX);
  once(kX);
  EXPECT_EQ(paths(once), (std::vector<std::string>{"dense/kernel", "dense/bias"}));

  Dense square({.units = 3});
  Sequential twice{square, square};
  twice(kX);
  EXPECT_EQ(twice.variables().size(), 2u);
}

TEST(LayerCalls, ARefusedFirstCallChangesNothing) {
  set_seed(0);
  // The first layer fits any width, the second takes no matrix: both must forget this call.
  Sequential model{Dense({.units = 2}), Conv2D({.filters = 1})};
  EXPECT_THROW(model(kX), ShapeError);
  EXPECT_TRUE(model.variables().empty());
  EXPECT_EQ(model.path(), "");
  model(full({1, 3, 3, 5}, 1));
  EXPECT_EQ(paths(model), (std::vector<std::string>{"sequential/dense/kernel", "sequential/dense/bias",
                                                    "sequential/conv2d/kernel", "sequential/conv2d/bias"}));
  EXPECT_EQ(model.variables()[0].shape(), (Shape{5, 2}));

  Dense dense({.units = 2});
  EXPECT_THROW(dense(full({3}, 1)), ShapeError);
  dense(kX);
  EXPECT_EQ(paths(dense), (std::vector<std::string>{"dense/kernel", "dense/bias"}));
}

// Tries one layer and, when that is refused, takes another.
struct Fallback : Layer {
  Fallback() : Layer("fallback") {}
  Conv2D conv{{.filters = 1}};
  Dense dense{{.units = 1}};
  Tensor call(const Tensor& x) override {
    try {
      return conv(x);
    } catch (const ShapeError&) {
      return dense(x);
    }
  }
};

TEST(LayerCalls, ACaughtRefusalForgetsOnlyTheRefusedLayer) {
  set_seed(0);
  Fallback layer;
  layer(kX);
  EXPECT_EQ(paths(layer), (std::vector<std::string>{"fallback/dense/kernel", "fallback/dense/bias"}));
}

TEST(LayerCalls, LayersWithoutAParentHavePathsAndValuesOfTheirOwn) {
  set_seed(3);
  Dense a({.units = 2}), b({.units = 2});
  a(kX), b(kX);
  EXPECT_EQ(paths(a), (std::vector<std::string>{"dense/kernel", "dense/bias"}));
  EXPECT_EQ(paths(b), (std::vector<std::string>{"dense_1/kernel", "dense_1/bias"}));
  EXPECT_NE(sharing_values(a.variables()[0]), sharing_values(b.variables()[0]));
  set_seed(3);
  Dense again({.units = 2});
  again(kX);
  EXPECT_EQ(sharing_values(again.variables()[0]), sharing_values(a.variables()[0]));

  NameScope scope("encoder");
  Dense inside({.units = 2});
  inside(kX);
  EXPECT_EQ(inside.path(), "encoder/dense");
  EXPECT_EQ(inside.variables()[0].path(), "encoder/dense/kernel");
}

TEST(LayerCalls, WeightsAreAddedInBuildAndFoundByName) {
  struct Early : Layer {
    Early() { add_weight("w", {2}, initializer("ones")); }
    Tensor call(const Tensor& x) override { return x; }
  };
  struct Misnamed : Layer {
    Tensor call(const Tensor& x) override { return x * weight("w"); }
  };
  EXPECT_THROW(Early(), StateError);
  EXPECT_THROW(Misnamed()(kX), ValueError);
}

TEST(LayerCalls, ALayerIsAFunctionOfOneTensor) {
  Dense dense({.units = 2, .kernel_initializer = "ones"});
  const auto traced = function(dense);
  EXPECT_EQ(sharing_values(traced(kX)), (std::vector<float>{6, 6, 15, 15}));
  EXPECT_EQ(dense.variables().size(), 2u);
}

TEST(LayerCalls, NamesAreUniqueEvenBesideNamesThatLookNumbered) {
  Sequential model{Dense({.units = 3, .name = "dense_1"}), Dense({.units = 3}), Dense({.units = 3})};
  model(kX);
  const auto all = paths(model);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 6u);
}

}  // namespace
}  // namespace espalier
