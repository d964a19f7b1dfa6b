// Gradients that travel between workers in half their bytes.
#include <cmath>

#include "base/rule_of_test.h"
#include "espalier/layers.h"
#include "espalier/model.h"
#include "espalier/ops.h"
#include "espalier/random.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

using Values = std::vector<std::vector<float>>;

// What each of two workers ends with.
std::vector<Values> trained_by_two(const strategy::MultiWorkerOptions& options) {
  const Tensor x = random_normal({96, 12}, 7, 0);
  const Tensor y = argmax(dot(x, random_normal({12, 4}, 8, 0)), 1);
  std::vector<Values> out(2);
  on_each_worker(2, [&](const Strategy& given) {
    const strategy::MultiWorkerMirrored workers(options);
    const auto scope = workers.scope();
    set_seed(3);
    Sequential model{Dense({.units = 16, .activation = "relu"}), Dense({.units = 4})};
    model.compile({.optimizer = SGD{.learning_rate = 0.05, .momentum = 0.9}});
    model.fit(x, y, {.epochs = 3, .batch_size = 32});
    for (const Variable& variable : model.trainable_variables())
      out[static_cast<size_t>(given.worker())].push_back(variable.read().to_vector<float>());
  });
  return out;
}

double most_apart(const Values& a, const Values& b) {
  double out = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    float largest = 0, apart = 0;
    for (size_t k = 0; k < a[i].size(); ++k) {
      largest = std::max(largest, std::abs(a[i][k]));
      apart = std::max(apart, std::abs(a[i][k] - b[i][k]));
    }
    out = std::max(out, static_cast<double>(apart / largest));
  }
  return out;
}

TEST(StrategyCompress, HalfTheBytesTrainNearlyTheSameAndAllWorkersAlike) {
  const std::vector<Values> whole = trained_by_two({}), half = trained_by_two({.compress = "bf16"});
  EXPECT_EQ(half[0], half[1]);
  const double apart = most_apart(whole[0], half[0]);
  // A gradient rounded to 8 bits is within 2^-9 of itself, and so are its sums.
  EXPECT_GT(apart, 1e-5);
  EXPECT_LE(apart, 1e-2);
}

TEST(StrategyCompress, OnlyGradientsAreNarrow) {
  std::string step;
  on_each_worker(2, [&](const Strategy& given) {
    const strategy::MultiWorkerMirrored workers({.compress = "bf16"});
    const auto scope = workers.scope();
    Sequential model{Dense({.units = 4})};
    model.compile({.optimizer = SGD{}});
    const std::string text = model.step_program(full({8, 3}, 1), full({8}, 1, DType::kI32), "strategy");
    if (given.worker() == 0) step = text;
  });
  const size_t sums = step.find("all_reduce");
  ASSERT_NE(sums, std::string::npos) << step;
  const size_t end = step.find(": (tensor<", step.find("replica_groups", sums));
  EXPECT_EQ(step.substr(end, 35), ": (tensor<4xbf16>, tensor<3x4xbf16>") << step.substr(end, 100);
}

TEST(StrategyCompress, WhatCannotBeIsRefused) {
  EXPECT_EQ(rule_of([] { strategy::MultiWorkerMirrored({.compress = "f8"}); }), "strategy.compress");
  const auto errors = errors_of_workers(2, [](const Strategy&) {
    const strategy::MultiWorkerMirrored workers({.compress = "bf16"});
    const auto scope = workers.scope();
    Sequential model{Dense({.units = 4})};
    EXPECT_EQ(rule_of([&] { model.compile({.optimizer = SGD{}, .logical_shards = 4}); }), "model.compress");
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace espalier
