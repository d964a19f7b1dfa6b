// fit with updates of several steps, and with averages of variables.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/espalier.h"

namespace espalier {
namespace {

using Values = std::vector<std::vector<float>>;
Values values_of(const Model& model) {
  Values out;
  for (const Variable& variable : model.variables()) out.push_back(variable.read().to_vector<float>());
  return out;
}

void expect_values_near(const Values& got, const Values& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    float largest = 0;
    for (const float value : wanted[i]) largest = std::max(largest, std::abs(value));
    for (size_t k = 0; k < got[i].size(); ++k) EXPECT_NEAR(got[i][k], wanted[i][k], 1e-6 * largest) << i;
  }
}

struct Rows {
  Tensor x = Generator(7).normal({11, 3}), y = Generator(8).normal({11, 1});
  Tensor weights = Tensor::of<float>({1, 2, 0, 0.5f, 1, 1, 3, 0, 1, 0.25f, 1});
};

Sequential mlp(const Optimizer& optimizer, bool eager) {
  set_seed(2);
  Sequential model{Dense({.units = 5, .activation = "tanh", .kernel_regularizer = regularizers::L2(0.01)}),
                   Dense({.units = 1})};
  model.compile({.optimizer = optimizer, .loss = MeanSquaredError(), .run_eagerly = eager});
  return model;
}

struct Without {
  const char* what;
  Tensor x;
  std::function<Sequential()> make;
};
// Models without statistics of the batch, each with rows for it.
std::vector<Without> without_statistics() {
  return {
      {"mlp", Rows().x,
       [] {
         return Sequential{
             Dense({.units = 5, .activation = "tanh", .kernel_regularizer = regularizers::L2(0.01)}),
             Dense({.units = 1})};
       }},
      {"cnn", Generator(3).normal({11, 8, 8, 2}),
       // Biases that pass 0 on their way have no largest value to speak of.
       [] {
         return Sequential{
             Conv2D({.filters = 4, .kernel_size = {3, 3}, .activation = "relu", .bias_initializer = "ones"}),
             MaxPooling2D(), Conv2D({.filters = 3, .kernel_size = {2, 2}, .bias_initializer = "ones"}),
             Flatten(), Dense({.units = 1, .bias_initializer = "ones"})};
       }},
      {"layer_normalization", Rows().x,
       [] {
         return Sequential{Dense({.units = 5}), LayerNormalization(), Activation("gelu"),
                           Dense({.units = 1})};
       }},
      {"embedding", Generator(4).integers({11, 4}, 0, 9), [] {
         return Sequential{Embedding({.input_dim = 9, .output_dim = 3}), Flatten(),
                           Dense({.units = 4, .activation = "silu"}), Dense({.units = 1})};
       }}};
}

// In parts whose rows, and weights, are not as many: the last one has fewer.
TEST(Accumulation, PartsOfABatchTrainAsTheBatch) {
  const Rows rows;
  for (const Without& model_of : without_statistics()) {
    for (const bool eager : {false, true}) {
      for (const int64_t parts : {2, 3, 4}) {
        for (const bool weighted : {false, true}) {
          SCOPED_TRACE(
              cat(model_of.what, " in ", parts, eager ? " eagerly" : "", weighted ? " weighted" : ""));
          const auto train = [&](int64_t steps) {
            set_seed(2);
            Sequential model = model_of.make();
            model.compile({.optimizer = SGD{.learning_rate = 0.1,
                                            .momentum = 0.9,
                                            .global_clipnorm = 1,
                                            .gradient_accumulation_steps = steps},
                           .loss = MeanSquaredError(),
                           .run_eagerly = eager});
            model.fit(model_of.x, rows.y,
                      {.epochs = 4,
                       .batch_size = (11 + steps - 1) / steps,
                       .shuffle = false,
                       .sample_weight = weighted ? rows.weights : Tensor()});
            EXPECT_EQ(model.optimizer().variables()[1].read().item<int64_t>(), 4);
            return values_of(model);
          };
          expect_values_near(train(parts), train(1));
        }
      }
    }
  }
}

// As one long epoch: the sum goes on behind the end of one.
TEST(Accumulation, AnEpochsEndCutsNoUpdate) {
  const Rows rows;
  const auto train = [&](int epochs, int steps) {
    Sequential model = mlp(Adam{.learning_rate = 0.1, .gradient_accumulation_steps = 2}, false);
    const Dataset batches = Dataset::from_tensor_slices({rows.x, rows.y}).batch(4).repeat();
    model.fit(batches, {.epochs = epochs, .steps_per_epoch = steps});
    EXPECT_EQ(model.optimizer().variables()[1].read().item<int64_t>(), 4);
    return values_of(model);
  };
  EXPECT_EQ(train(3, 3), train(1, 9));
}

// Against averages that a callback takes of the weights after each step.
TEST(Averages, FitEndsWithThem) {
  const Rows rows;
  for (const bool eager : {false, true}) {
    const auto train = [&](bool ema, Values& averages) {
      Sequential model = mlp(SGD{.learning_rate = 0.1, .use_ema = ema, .ema_momentum = 0.75}, eager);
      const auto follow = [&](int64_t, const Logs&) {
        const Values now = values_of(model);
        if (averages.empty()) averages = now;
        for (size_t i = 0; i < now.size(); ++i) {
          for (size_t k = 0; k < now[i].size(); ++k)
            averages[i][k] = 0.75f * averages[i][k] + 0.25f * now[i][k];
        }
      };
      model.fit(rows.x, rows.y,
                {.epochs = 3, .batch_size = 4, .callbacks = {LambdaCallback({.on_batch_end = follow})}});
      return values_of(model);
    };
    Values averages, ignored;
    train(false, averages);
    expect_values_near(train(true, ignored), averages);
  }
}

}  // namespace
}  // namespace espalier
