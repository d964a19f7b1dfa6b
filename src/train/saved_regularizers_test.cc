// Penalties of saved models.
#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/espalier.h"

namespace espalier {
namespace {

using OrderedJson = nlohmann::ordered_json;

class SavedRegularizers : public testing::Test {
 protected:
  SavedRegularizers() { set_seed(6); }
  ~SavedRegularizers() override { std::filesystem::remove_all(path_); }

  LoadedModel loaded(Model& model) {
    model.save(path_);
    return load_model(path_);
  }
  // The model that was saved last, with another description.
  LoadedModel edited(const std::function<void(OrderedJson& variables)>& edit) {
    const std::string file = path_ + "/model.json";
    OrderedJson description = OrderedJson::parse(posix_env().read_file(file));
    edit(description["variables"]);
    description.erase("crc32");
    posix_env().write_file(file, description.dump());
    return load_model(path_);
  }

  // Of each test its own: they run beside each other.
  const std::string path_ = cat(testing::TempDir(), "espalier-penalties-",
                                testing::UnitTest::GetInstance()->current_test_info()->name(), "-", getpid());
  const Tensor x_ = Generator(1).normal({60, 6}), y_ = argmax(slice(x_, {0, 0}, {60, 3}), 1);
};

Sequential penalised() {
  return Sequential{Dense({.units = 8,
                           .activation = "relu",
                           .kernel_regularizer = regularizers::L2(0.03),
                           .bias_regularizer = regularizers::L1(0.02)}),
                    BatchNormalization(), Dropout(0.3),
                    Dense({.units = 3, .kernel_regularizer = [](const Tensor& w) {
                             const Tensor norms = sqrt(sum(w * w, 0));
                             return 0.01 * sum((norms - 1) * (norms - 1));
                           }})};
}

Logs loss_of(Model& model, const Tensor& x, const Tensor& y) {
  model.compile({.optimizer = Adam{.learning_rate = 0.01, .global_clipnorm = 0.5}});
  return model.evaluate(x, y);
}

TEST_F(SavedRegularizers, LossAfterLoadingIsTheLossOfBeforeAndTrainingGoesOnAlike) {
  Sequential model = penalised();
  model.compile();
  model.fit(x_, y_, {.epochs = 1});
  LoadedModel once = loaded(model);
  ASSERT_EQ(once.losses().size(), 3u);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(once.losses()[i].item<float>(), model.losses()[i].item<float>()) << i;
  LoadedModel twice = loaded(once);
  const Logs said = loss_of(model, x_, y_);
  EXPECT_EQ(loss_of(once, x_, y_), said);
  EXPECT_EQ(loss_of(twice, x_, y_), said);
  // Dropout draws from the saved generator, and in the process from its own, which stands there too.
  const auto history = model.fit(x_, y_, {.epochs = 3, .batch_size = 16});
  EXPECT_EQ(once.fit(x_, y_, {.epochs = 3, .batch_size = 16}), history);
  EXPECT_EQ(twice.fit(x_, y_, {.epochs = 3, .batch_size = 16}), history);
  EXPECT_EQ(once.predict(x_).to_vector<float>(), model.predict(x_).to_vector<float>());
}

TEST_F(SavedRegularizers, PenaltyOfAFrozenWeightComesBackWithIt) {
  Sequential model = penalised();
  model.predict(x_);
  model.set_trainable(false);
  LoadedModel frozen = loaded(model);
  EXPECT_TRUE(frozen.losses().empty());
  for (Variable& variable : frozen.variables()) variable.set_trainable(true);
  EXPECT_EQ(frozen.losses().size(), 3u);
}

TEST_F(SavedRegularizers, VariablesThatTheyReadAndUpdateAreSaved) {
  struct Net : Model {
    Variable calls{Tensor::scalar(0.0f), {.name = "calls", .trainable = false}};
    Dense dense{{.units = 2,
                 .kernel_initializer = "ones",
                 .kernel_regularizer = [calls = calls](const Tensor& w) mutable {
                   calls.assign_add(1.0);
                   return calls.read() * sum(w);
                 }}};
    Tensor call(const Tensor& x) override { return dense(x); }
  } net;
  net.predict(full({4, 3}, 1));
  net.losses();
  LoadedModel model = loaded(net);
  EXPECT_EQ(net.calls.read().item<float>(), 1);
  EXPECT_EQ(model.losses().at(0).item<float>(), 12);
  EXPECT_EQ(model.losses().at(0).item<float>(), 18);
}

TEST_F(SavedRegularizers, CountInAModelThatHoldsTheLoadedOne) {
  Sequential model = penalised();
  model.predict(x_);
  Sequential around{loaded(model), Dense({.units = 2, .kernel_regularizer = regularizers::L2()})};
  around.predict(x_);
  EXPECT_EQ(around.losses().size(), 4u);
  EXPECT_EQ(loaded(around).losses().size(), 4u);
}

TEST_F(SavedRegularizers, VariablesKeepTheirOrder) {
  struct Net : Model {
    Dense dense{{.units = 2}};
    void build(const TensorType&) override { add_weight("own", {2}, "ones"); }
    Tensor call(const Tensor& x) override { return dense(x) * weight("own"); }
  } net;
  net.predict(full({4, 3}, 1));
  std::vector<std::string> before, after;
  for (const Variable& variable : net.variables()) before.push_back(variable.path());
  for (const Variable& variable : loaded(net).variables()) after.push_back(variable.path());
  ASSERT_EQ(before.size(), 3u);
  EXPECT_TRUE(before[0].ends_with("/own"));
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(after[i].substr(after[i].find('/')), before[i].substr(before[i].find('/')));
}

TEST_F(SavedRegularizers, ModelsOfBeforeThereWereAnyLoadWithoutThem) {
  Sequential model = penalised();
  loss_of(model, x_, y_);
  model.save(path_);
  LoadedModel old = edited([](OrderedJson& variables) {
    for (OrderedJson& variable : variables) variable.erase("penalty");
  });
  EXPECT_TRUE(old.losses().empty());
  EXPECT_LT(loss_of(old, x_, y_).at("loss"), loss_of(model, x_, y_).at("loss"));
}

TEST_F(SavedRegularizers, ConstantsBelongIntoVariables) {
  const Tensor constants = Generator(1).normal({700, 400});
  Sequential big{Dense({.units = 400, .kernel_regularizer = [constants](const Tensor& w) {
                          return sum((w - constants) * (w - constants));
                        }})};
  big.predict(full({2, 700}, 1));
  EXPECT_EQ(rule_of([&] { big.save(path_); }), "save.regularizer");
  const Variable centre(constants, {.name = "centre", .trainable = false});
  Sequential kept{Dense({.units = 400, .kernel_regularizer = [centre](const Tensor& w) {
                           return sum((w - centre.read()) * (w - centre.read()));
                         }})};
  kept.predict(full({2, 700}, 1));
  EXPECT_EQ(loaded(kept).losses().at(0).item<float>(), kept.losses().at(0).item<float>());
}

TEST_F(SavedRegularizers, DamageIsNamed) {
  Sequential model = penalised();
  model.predict(x_);
  const auto refused = [&](const std::function<void(OrderedJson & penalty)>& edit) {
    model.save(path_);
    try {
      edited([&](OrderedJson& variables) { edit(variables[0]["penalty"]); });
    } catch (const FormatError& error) {
      return error.message().substr(path_.size());
    }
    return std::string("accepted");
  };
  const auto replaced = [&](const std::string& from, const std::string& to) {
    return refused([&](OrderedJson& penalty) {
      std::string text = penalty.get<std::string>();
      for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
      penalty = text;
    });
  };
  const std::string begin = "/model.json: the penalty on variable \"sequential/dense/kernel\" ";
  EXPECT_EQ(refused([](OrderedJson& penalty) { penalty = 7; }), begin + "must be a text");
  EXPECT_TRUE(replaced("stablehlo.", "stable.").starts_with(begin + "is no program: "));
  EXPECT_EQ(replaced("6x8", "6x7"), begin + "must take f32[6,8] and give f32[]");
}

}  // namespace
}  // namespace espalier
