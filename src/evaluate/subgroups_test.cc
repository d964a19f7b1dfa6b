#include "evaluate/subgroups.h"

#include <gtest/gtest.h>

#include "evaluate/estimates_test.h"
#include "evaluate/golden_rows_test.h"
#include "evaluate/random_rows_test.h"
#include "evaluate/ranking.h"

namespace espalier {
namespace {

void expect(const Estimate& got, const nlohmann::json& expected) {
  ASSERT_EQ(got.value.has_value(), !expected.is_null()) << got.metric;
  if (got.value) {
    EXPECT_NEAR(*got.value, expected.get<double>(), 1e-12) << got.metric;
  }
}

TEST(Subgroups, FiguresAreScikitLearns) {
  const GoldenRows data;
  const nlohmann::json golden = read_golden("subgroups.json");
  for (const char* weighted : {"plain", "weighted"}) {
    const ScoredRows rows = data.rows(weighted);
    const Slicing groups = slice_by({&data.group});
    const nlohmann::json& expected = golden[weighted];
    expect(calibration_errors(rows, overall(rows.size()))[0], expected["calibration_error"][0]);
    const std::vector<Estimate> errors = calibration_errors(rows, groups);
    const std::vector<BackgroundAucs> areas = background_aucs(rows, order_by_score(data.scores), groups);
    ASSERT_EQ(areas.size(), 4u);
    for (size_t i = 0; i < 4; ++i) {
      expect(errors[i], expected["calibration_error"][i + 1]);
      expect(areas[i].bpsn, expected["bpsn_auc"][i]);
      expect(areas[i].bnsp, expected["bnsp_auc"][i]);
    }
  }
}

TEST(Subgroups, VariancesOfCalibrationErrorsAreThoseOfWeightsThatChange) {
  RandomRows rows = random_rows(60, 4);
  const auto now = [&] { return calibration_errors(rows.view(), overall(60))[0]; };
  const double expected = variance_by_weights(rows.weights, [&] { return *now().value; });
  EXPECT_NEAR(now().variance.value(), expected, 1e-5 * expected);
}

// The rows of a tenth lie with those below it.
TEST(Subgroups, BinsHoldTheirUpperEdge) {
  const std::vector<uint8_t> labels = {1, 0};
  for (const double edge : {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0}) {
    const std::vector<double> together = {edge - 0.01, edge}, apart = {edge, std::min(1.0, edge + 0.01)};
    const auto error = [&](const std::vector<double>& scores) {
      return *calibration_errors(ScoredRows(scores, labels), overall(2))[0].value;
    };
    EXPECT_NEAR(error(together), std::abs(together[0] + together[1] - 1) / 2, 1e-12) << edge;
    if (edge < 1) {
      EXPECT_NEAR(error(apart), (std::abs(apart[0] - 1) + apart[1]) / 2, 1e-12) << edge;
    }
  }
}

TEST(Subgroups, WhatHasNoRowsIsUndefined) {
  const std::vector<double> scores = {0.5, 0.6}, none = {0, 0};
  const std::vector<uint8_t> labels = {1, 0};
  EXPECT_FALSE(calibration_errors(ScoredRows(scores, labels, none), overall(2))[0].value);
  const std::vector<BackgroundAucs> all =
      background_aucs(ScoredRows(scores, labels), order_by_score(scores), overall(2));
  EXPECT_FALSE(all[0].bpsn.value) << "nothing lies outside";
}

}  // namespace
}  // namespace espalier
