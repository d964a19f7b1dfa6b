#include "evaluate/score_means.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "ir/golden_test.h"

namespace espalier {
namespace {

TEST(ScoreMeans, FollowTheirFormulas) {
  const std::vector<double> scores{0.2, 0.9, 0.5, 0.1}, weights{1, 2, 0, 3};
  const std::vector<uint8_t> labels{0, 1, 1, 1};
  const ScoreSums sums = score_sums({scores, labels, weights}, overall(4))[0];
  EXPECT_EQ(sums.rows.rows, 4);
  const auto value = [&](const char* name) { return score_mean(name)(sums).value(); };
  EXPECT_NEAR(value("log_loss"), -(std::log(0.8) + 2 * std::log(0.9) + 3 * std::log(0.1)) / 6, 1e-15);
  EXPECT_NEAR(value("brier_score"), (0.04 + 2 * 0.01 + 3 * 0.81) / 6, 1e-15);
  EXPECT_NEAR(value("mean_prediction"), (0.2 + 1.8 + 0.3) / 6, 1e-15);
  EXPECT_NEAR(value("mean_label"), 5.0 / 6, 1e-15);
  EXPECT_NEAR(value("calibration"), 2.3 / 5, 1e-15);
  EXPECT_EQ(score_means().size(), 5u);
  EXPECT_EQ(rule_of([] { score_mean("brier"); }), "evaluate.metric");
}

TEST(ScoreMeans, AreUndefinedWithoutWeightOrLabels) {
  for (const ScoreMean& one : score_means()) EXPECT_FALSE(one({})) << one.name;
  const std::vector<double> scores{0.2};
  const std::vector<uint8_t> labels{0};
  const ScoreSums sums = score_sums({scores, labels}, overall(1))[0];
  EXPECT_FALSE(score_mean("calibration")(sums));
  EXPECT_EQ(score_mean("mean_label")(sums), 0.0);
}

TEST(ScoreMeans, SureMistakesCostMuchAndNotInfinitelyMuch) {
  const std::vector<double> scores{0, 1};
  const std::vector<uint8_t> labels{1, 0};
  const ScoreSums sums = score_sums({scores, labels}, overall(2))[0];
  EXPECT_NEAR(score_mean("log_loss")(sums).value(), 52 * std::log(2), 1e-12);
}

TEST(ScoreMeans, LogLossesOfSureScoresAreScikitLearns) {
  const nlohmann::json golden = read_golden("log_loss.json");
  const std::vector<double> scores = golden["scores"];
  const std::vector<uint8_t> labels = golden["labels"];
  const ScoreSums sums = score_sums({scores, labels}, overall(scores.size()))[0];
  EXPECT_NEAR(score_mean("log_loss")(sums).value(), golden["log_loss"].get<double>(), 1e-12);
}

TEST(ScoreMeans, ScoresAreProbabilities) {
  const std::vector<uint8_t> labels{1};
  for (const double bad : {-0.01, 1.01}) {
    const std::vector<double> scores{bad};
    EXPECT_EQ(rule_of([&] { score_sums({scores, labels}, overall(1)); }), "evaluate.probability") << bad;
  }
}

TEST(ScoreMeans, SumsOfPartsAreThoseOfTheWhole) {
  const std::vector<double> scores{0.25, 0.5, 0.75};
  const std::vector<uint8_t> labels{0, 1, 1};
  CategoryColumn column{"c", {"x", "y"}, {0, 1, 0}};
  std::vector<ScoreSums> parts = score_sums({scores, labels}, slice_by({&column}));
  const ScoreSums sum = parts[0] += parts[1], whole = score_sums({scores, labels}, overall(3))[0];
  for (const ScoreMean& one : score_means())
    EXPECT_NEAR(one(sum).value(), one(whole).value(), 1e-15) << one.name;
}

}  // namespace
}  // namespace espalier
