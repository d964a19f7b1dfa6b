// A batch of one shape in which some rows do not count.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/espalier.h"

namespace espalier {
namespace {

using Found = std::vector<std::pair<std::string, std::vector<float>>>;

// Losses and metrics of two steps, then variables, which have the gradients of both in them.
Found two_steps(const Tensor& x, const Tensor& y, const Tensor& weights, bool eager) {
  set_seed(5);
  Sequential model{Dense({.units = 4, .activation = "tanh"}), BatchNormalization({.momentum = 0.5}),
                   Dense({.units = 1, .activation = "sigmoid"})};
  model.compile({.optimizer = SGD{.learning_rate = 0.125, .momentum = 0.5},
                 .loss = BinaryCrossentropy(),
                 .metrics = {"binary_accuracy", "auc", "precision", "mae", "r2_score"},
                 .run_eagerly = eager});
  Found out;
  for (int step = 0; step < 2; ++step) {
    for (const auto& [name, value] : model.train_on_batch(x, y, weights))
      out.emplace_back(cat(name, " of step ", step), std::vector<float>{static_cast<float>(value)});
  }
  for (const Variable& variable : model.variables())
    out.emplace_back(variable.path(), variable.read().to_vector<float>());
  return out;
}

TEST(PaddedRows, ZeroToSevenOfEightAreNotThere) {
  constexpr int64_t kRows = 8;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Generator random(3);
  const auto all_x = random.normal({kRows, 2}).to_vector<float>(),
             noise = random.normal({kRows, 2}).to_vector<float>();
  for (const bool eager : {false, true}) {
    for (int64_t padded = 0; padded < kRows; ++padded) {
      Found first;
      for (int fill = 0; fill < 4; ++fill) {
        std::vector<float> x, y, weights, own_x, own_y, own_weights;
        for (int64_t place = 0; place < kRows; ++place) {
          // Spread over the batch: 3 * place takes every number from 0 to 7 once.
          const bool counts = (3 * place + 1) % kRows >= padded;
          const auto row = static_cast<size_t>(place);
          const float label = place % 3 == 0 ? 1.0f : 0.0f,
                      weight = counts ? 0.5f + static_cast<float>(place % 2) : 0;
          const float other[] = {0, noise[2 * row], 1e30f, nan};
          for (const size_t k : {2 * row, 2 * row + 1}) x.push_back(counts ? all_x[k] : other[fill]);
          y.push_back(counts ? label : other[fill]);
          weights.push_back(weight);
          if (!counts) continue;
          own_x.insert(own_x.end(), {all_x[2 * row], all_x[2 * row + 1]});
          own_y.push_back(label);
          own_weights.push_back(weight);
        }
        const Found found = two_steps(Tensor::of(x, {kRows, 2}), Tensor::of(y, {kRows, 1}),
                                      Tensor::of(weights, {kRows}), eager);
        if (first.empty()) {
          first = found;
          const int64_t own = kRows - padded;
          const Found alone = two_steps(Tensor::of(own_x, {own, 2}), Tensor::of(own_y, {own, 1}),
                                        Tensor::of(own_weights, {own}), eager);
          ASSERT_EQ(alone.size(), found.size());
          for (size_t i = 0; i < alone.size(); ++i) {
            float largest = 0;
            for (const float value : alone[i].second) largest = std::max(largest, std::abs(value));
            for (size_t k = 0; k < alone[i].second.size(); ++k)
              EXPECT_NEAR(found[i].second[k], alone[i].second[k], 1e-6 * largest)
                  << alone[i].first << ", " << padded;
          }
        }
        ASSERT_EQ(found.size(), first.size());
        for (size_t i = 0; i < found.size(); ++i)
          EXPECT_EQ(found[i], first[i]) << found[i].first << ", " << padded << " rows, fill " << fill;
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace espalier
