// What is frozen stays as it is, in the process and in a folder, and can be thawed.
#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/espalier.h"

namespace espalier {
namespace {

class Frozen : public testing::Test {
 protected:
  Frozen() { set_seed(3); }
  ~Frozen() override { std::filesystem::remove_all(path_); }

  Sequential base() const {
    Sequential out{Dense({.units = 4}), BatchNormalization()};
    out.compile({.loss = MeanSquaredError()});
    out.fit(x_, x_, {.epochs = 2});
    return out;
  }
  LoadedModel loaded(Model& model) const {
    model.save(path_);
    return load_model(path_);
  }

  const std::string path_ = cat(testing::TempDir(), "espalier-frozen-",
                                testing::UnitTest::GetInstance()->current_test_info()->name(), "-", getpid());
  const Tensor x_ = Generator(1).normal({200, 4}), classes_ = argmax(slice(x_, {0, 0}, {200, 2}), 1);
};

// A base whose statistics moved would give the head other inputs in training than in use.
TEST_F(Frozen, ALoadedBaseKeepsItsStatistics) {
  Sequential model = base();
  LoadedModel kept = loaded(model);
  const auto before = kept.predict(x_).to_vector<float>();
  const auto learn = [&] {
    Sequential whole{kept, Dense({.units = 2})};
    whole.compile();
    whole.fit(x_ * 10, classes_, {.epochs = 3});
    return kept.predict(x_).to_vector<float>() != before;
  };
  kept.set_trainable(false);
  EXPECT_FALSE(learn());
  kept.set_trainable(true);
  EXPECT_TRUE(learn());
}

TEST_F(Frozen, VariablesThatWereSavedSoCanBeThawed) {
  Sequential model = base();
  model.set_trainable(false);
  LoadedModel again = loaded(model);
  EXPECT_EQ(again.trainable_variables().size(), 0u);
  EXPECT_EQ(again.made_trainable().size(), 4u);
  again.set_trainable(true);
  EXPECT_EQ(again.trainable_variables().size(), 4u) << "kernel, bias, gamma, beta, and no average";
  const auto before = again.predict(x_).to_vector<float>();
  again.compile({.loss = MeanSquaredError()});
  again.fit(x_, x_ * 2);
  EXPECT_NE(again.predict(x_).to_vector<float>(), before);
  // Through a second folder, too.
  again.set_trainable(false);
  LoadedModel twice = loaded(again);
  EXPECT_EQ(twice.trainable_variables().size(), 0u);
  twice.set_trainable(true);
  EXPECT_EQ(twice.trainable_variables().size(), 4u);
}

TEST_F(Frozen, OneLayerAloneIsSavedSo) {
  Dense first({.units = 3});
  Sequential model{first, Dense({.units = 2})};
  model.predict(x_);
  first.set_trainable(false);
  LoadedModel again = loaded(model);
  EXPECT_EQ(again.trainable_variables().size(), 2u);
  EXPECT_EQ(again.made_trainable().size(), 4u);
}

TEST_F(Frozen, AModelWithNothingToTrainIsRefused) {
  Sequential model{Dense({.units = 2})};
  model.compile();
  model.fit(x_, classes_);
  model.set_trainable(false);
  EXPECT_EQ(rule_of([&] { model.fit(x_, classes_); }), "fit.trainable");
  EXPECT_EQ(rule_of([&] { model.train_on_batch(x_, classes_); }), "fit.trainable");
  EXPECT_NO_THROW(model.evaluate(x_, classes_));
  model.set_trainable(true);
  EXPECT_NO_THROW(model.fit(x_, classes_));
  QuantizedModel quantized = quantize(model, x_);
  quantized.compile();
  EXPECT_EQ(rule_of([&] { quantized.fit(x_, classes_); }), "fit.trainable");
  LoadedModel again = loaded(quantized);
  again.compile();
  EXPECT_EQ(rule_of([&] { again.fit(x_, classes_); }), "fit.trainable");
}

}  // namespace
}  // namespace espalier
