#include "evaluate/regression.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "base/rule_of_test.h"
#include "evaluate/estimates_test.h"
#include "ir/golden_test.h"

namespace espalier {
namespace {

using nlohmann::json;

struct RandomNumbers {
  std::vector<double> predictions, truths, weights;
  NumberRows view() const { return {predictions, truths, weights}; }

  RandomNumbers(size_t rows, uint64_t seed, bool weighted = true) {
    Philox random(seed);
    for (size_t i = 0; i < rows; ++i) {
      truths.push_back(10 + 3 * normal_number(random));
      predictions.push_back(truths[i] + 1 + 2 * normal_number(random));
      if (weighted) weights.push_back(static_cast<double>(1 + random.below(4)) / 2);
    }
  }
};

TEST(Regression, FiguresAreScikitLearns) {
  const json golden = read_golden("regression.json");
  const json& rows = golden["rows"];
  const std::vector<double> truths = rows["label"], predictions = rows["prediction"],
                            weights = rows["weight"];
  const CategoryColumn group{"group", golden["groups"], rows["group"]};
  for (const char* weighted : {"plain", "weighted"}) {
    const NumberRows numbers(predictions, truths,
                             weighted == std::string("plain") ? std::span<const double>() : weights);
    std::vector<Estimates> parts = regression_estimates(numbers, overall(truths.size()));
    for (const Estimates& part : regression_estimates(numbers, slice_by({&group}))) parts.push_back(part);
    const json& expected = golden["figures"][weighted];
    ASSERT_EQ(parts.size(), expected.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      EXPECT_EQ(parts[i].of.size(), expected[i].size());
      for (const auto& [name, value] : expected[i].items())
        EXPECT_NEAR(estimate(parts[i], name).value.value(), value.get<double>(),
                    1e-12 * std::max(1.0, std::abs(value.get<double>())))
            << name << " of part " << i << ", " << weighted;
    }
  }
}

// By the definition of influence: how the figure changes with the weight of each row.
TEST(Regression, VariancesAreThoseOfWeightsThatChange) {
  RandomNumbers rows(40, 3);
  const Estimates all = regression_estimates(rows.view(), overall(40))[0];
  for (const EstimateMetric& metric : regression_metrics()) {
    const Estimate its = estimate(all, metric.name);
    const auto value = [&] {
      return *estimate(regression_estimates(rows.view(), overall(40))[0], metric.name).value;
    };
    const double expected = variance_by_weights(rows.weights, value);
    EXPECT_NEAR(its.variance.value(), expected, 1e-5 * expected) << metric.name;
  }
}

TEST(Regression, IntervalsHoldTheTruthNineteenTimesInTwenty) {
  // Of errors 1 + 2 N(0, 1) and truths 10 + 3 N(0, 1).
  const double mae = 2 * std::sqrt(2 / std::numbers::pi) * std::exp(-0.125) + std::erf(0.5 / std::sqrt(2.0));
  const std::pair<const char*, double> truths[] = {
      {"mae", mae}, {"rmse", std::sqrt(5)}, {"r2", 1 - 5.0 / 9}, {"mean_error", 1}, {"calibration", 1.1}};
  for (const bool weighted : {false, true}) {
    for (const auto& [name, truth] : truths) {
      int held = 0, difference_held = 0;
      for (uint64_t seed = 0; seed < 1000; ++seed) {
        const RandomNumbers some(80, 2 * seed, weighted), others(120, 2 * seed + 1, weighted);
        const Estimate a = estimate(regression_estimates(some.view(), overall(80))[0], name);
        const Estimate b = estimate(regression_estimates(others.view(), overall(120))[0], name);
        const Interval one = interval(a).value(), gap = interval(a, b).value();
        held += one.low <= truth && truth <= one.high;
        difference_held += gap.low <= 0 && 0 <= gap.high;
      }
      EXPECT_TRUE(930 <= held && held <= 970) << name << " " << held;
      EXPECT_TRUE(930 <= difference_held && difference_held <= 970) << name << " " << difference_held;
    }
  }
}

TEST(Regression, WhatDividesByZeroIsUndefined) {
  const std::vector<double> alike(5, 0.1), said = {0.1, 0.2, 0.1, 0, 0}, zeros(5, 0.0), none(5, 0.0);
  const auto of = [](const std::vector<double>& predictions, const std::vector<double>& truths,
                     std::span<const double> weights = {}) {
    return regression_estimates(NumberRows(predictions, truths, weights), overall(truths.size()))[0];
  };
  EXPECT_FALSE(estimate(of(said, alike), "r2").value) << "truths that do not vary";
  for (const double one : {0.1, 5.0}) {
    const std::vector<double> same(5, one);
    EXPECT_EQ(estimate(of(same, same), "r2").value, 1) << "and are all met";
    EXPECT_FALSE(interval(estimate(of(same, same), "r2")));
  }
  EXPECT_NEAR(*estimate(of(said, alike), "mae").value, 0.06, 1e-15);
  EXPECT_FALSE(estimate(of(said, zeros), "calibration").value);
  for (const EstimateMetric& metric : regression_metrics())
    EXPECT_FALSE(estimate(of(said, alike, none), metric.name).value) << metric.name << " of no weight";
  // Rows without an error do not tell how far others would be off.
  EXPECT_EQ(estimate(of(said, said), "rmse").value, 0);
  for (const char* name : {"rmse", "mae"}) EXPECT_FALSE(interval(estimate(of(said, said), name))) << name;
  EXPECT_FALSE(interval(estimate(of({1}, {2}), "mae"))) << "one row";
}

TEST(Regression, WhatARowOfWeightZeroHoldsReachesNoVariance) {
  const std::vector<double> truths = {1, 2, 4, 8}, weights = {1, 2, 0, 1};
  const auto of = [&](double said) {
    const std::vector<double> predictions = {1.5, 2, said, 7};
    return regression_estimates(NumberRows(predictions, truths, weights), overall(truths.size()))[0];
  };
  for (const EstimateMetric& metric : regression_metrics()) {
    const Estimates all = of(1e200), others = of(4);
    const Estimate &far = estimate(all, metric.name), &near = estimate(others, metric.name);
    EXPECT_EQ(far.value, near.value) << metric.name;
    EXPECT_EQ(far.variance, near.variance) << metric.name;
  }
}

TEST(Regression, RowsOfNoUseAreRefused) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const auto rule = [](const std::vector<double>& predictions, const std::vector<double>& truths,
                       const std::vector<double>& weights = {}) {
    return rule_of([&] { NumberRows(predictions, truths, weights); });
  };
  EXPECT_EQ(rule({1, -2}, {3, 4}, {0, 2}), "nothing");
  EXPECT_EQ(rule({1}, {3, 4}), "evaluate.rows");
  EXPECT_EQ(rule({1, 2}, {3, 4}, {1}), "evaluate.rows");
  EXPECT_EQ(rule({1, inf}, {3, 4}), "evaluate.score");
  EXPECT_EQ(rule({1, 2}, {nan, 4}), "evaluate.label");
  EXPECT_EQ(rule({1, 2}, {3, 4}, {1, -1}), "evaluate.weight");
}

}  // namespace
}  // namespace espalier
