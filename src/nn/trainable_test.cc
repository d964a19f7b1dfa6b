// Freezing layers.
#include <gtest/gtest.h>

#include "espalier/layers.h"
#include "espalier/model.h"
#include "espalier/ops.h"

namespace espalier {
namespace {

const Tensor kTrainableX = Tensor::of<float>({1, 2, 3, 4, 5, 7}, {2, 3});

struct TrainableBlock : Layer {
  Dense dense{{.units = 2}};
  BatchNormalization norm;
  Tensor call(const Tensor& x) override { return norm(dense(x)); }
};

size_t trained(const Layer& layer) { return layer.trainable_variables().size(); }

TEST(Trainable, FreezesWhatIsBuiltAndWhatWillBe) {
  for (const bool before : {true, false}) {
    TrainableBlock block;
    if (before) block.set_trainable(false);
    block(kTrainableX);
    EXPECT_EQ(trained(block), before ? 0u : 4u);
    block.set_trainable(false);
    EXPECT_EQ(block.variables().size(), 6u);
    EXPECT_EQ(trained(block), 0u);
    EXPECT_FALSE(block.dense.trainable());
    block.set_trainable(true);
    EXPECT_EQ(trained(block), 4u) << "averages are never trained";
    block.dense.set_trainable(false);
    EXPECT_EQ(trained(block), 2u);
  }
}

TEST(Trainable, ALayerThatWasBuiltIsFrozenByItsNewParent) {
  Dense dense({.units = 2});
  dense(kTrainableX);
  Sequential model{dense};
  model.set_trainable(false);
  EXPECT_EQ(trained(dense), 2u) << "the model has not called it yet";
  model(kTrainableX);
  EXPECT_EQ(trained(dense), 0u);
}

TEST(Trainable, ARefusedCallThawsAgain) {
  Dense dense({.units = 2});
  dense(kTrainableX);
  Sequential model{dense, Conv2D({.filters = 1})};
  model.set_trainable(false);
  EXPECT_THROW(model(kTrainableX), ShapeError);
  EXPECT_EQ(trained(dense), 2u);
  EXPECT_TRUE(dense.trainable());
}

TEST(Trainable, FrozenBatchNormalizationUsesItsAverages) {
  BatchNormalization norm({.epsilon = 0});
  norm(kTrainableX);
  norm.set_trainable(false);
  const TrainingScope training(true);
  EXPECT_EQ(norm(kTrainableX).to_vector<float>(), kTrainableX.to_vector<float>());
  EXPECT_EQ(norm.variables()[2].read().to_vector<float>(), (std::vector<float>{0, 0, 0}));
}

TEST(Trainable, CompiledStepsSeeTheChange) {
  Dense base({.units = 3, .activation = "tanh"});
  Sequential model{base, Dense({.units = 2})};
  model.compile({.optimizer = SGD{.learning_rate = 0.5}});
  const Tensor y = Tensor::of<int32_t>({0, 1});
  model.fit(kTrainableX, y);
  const auto kernel = [&](size_t i) { return model.variables()[i].read().to_vector<float>(); };
  base.set_trainable(false);
  const auto frozen = kernel(0), head = kernel(2);
  model.fit(kTrainableX, y, {.epochs = 3});
  EXPECT_EQ(kernel(0), frozen);
  EXPECT_NE(kernel(2), head);
  base.set_trainable(true);
  model.fit(kTrainableX, y);
  EXPECT_NE(kernel(0), frozen);
  model.set_trainable(false);
  const auto last = kernel(2);
  EXPECT_THROW(model.fit(kTrainableX, y), StateError);
  EXPECT_EQ(kernel(2), last);
}

}  // namespace
}  // namespace espalier
