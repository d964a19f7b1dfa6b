#include "evaluate/jackknife.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "evaluate/golden_rows_test.h"
#include "evaluate/ranking.h"
#include "evaluate/rates.h"

namespace espalier {
namespace {

// Each replicate is what the rows outside of its bucket say alone.
TEST(Jackknife, ABucketIsLeftOut) {
  const GoldenRows data;
  const ScoredRows rows = data.rows("weighted");
  const std::vector<double> thresholds = {0.3, 0.5};
  const PassedThresholds passed = pass_thresholds(rows, thresholds);
  const std::vector<uint32_t> order = order_by_score(data.scores);
  const Slicing slicing = slice_by({&data.group});
  const std::vector<uint8_t> buckets = jackknife_buckets(rows.size(), 3);
  const auto left =
      jackknife(rows, score_cells(rows, log_losses(rows), order, passed, slicing, kJackknifeCells), buckets);
  for (size_t bucket = 0; bucket < kJackknifeBuckets; ++bucket) {
    Slicing others = slicing;
    for (size_t row = 0; row < rows.size(); ++row) {
      if (buckets[row] == bucket) others.of_row[row] = Slicing::kNone;
    }
    const std::vector<Confusion> counted = confusions(rows, passed, others);
    const auto areas = aucs(rows, order, others);
    const std::vector<ScoreSums> sums = score_sums(rows, others);
    for (size_t slice = 0; slice < left.size(); ++slice) {
      const Replicate& one = left[slice][bucket];
      for (size_t t = 0; t < 2; ++t) {
        for (size_t i = 0; i < kOutcomes; ++i)
          EXPECT_EQ(one.at[t].of[i].weight, counted[2 * slice + t].of[i].weight) << "quarters add up exactly";
      }
      ASSERT_EQ(one.auc.has_value(), areas[slice].has_value());
      if (one.auc) {
        EXPECT_NEAR(*one.auc, areas[slice]->area, 1e-12);
      }
      EXPECT_NEAR(one.sums.log_losses, sums[slice].log_losses, 1e-9);
    }
  }
}

TEST(Jackknife, BucketsAreOfOneSizeButForChance) {
  std::vector<int> counts(kJackknifeBuckets);
  for (const uint8_t bucket : jackknife_buckets(20000, 1)) ++counts.at(bucket);
  for (const int count : counts) EXPECT_NEAR(count, 1000, 5 * std::sqrt(1000.0));
  EXPECT_NE(jackknife_buckets(100, 1), jackknife_buckets(100, 2));
}

// tests/golden/tfma_jackknife.py: the same rows in the same buckets.
TEST(EvaluateGoldens, JackknifesAreTfmas) {
  const GoldenRows data;
  const ScoredRows rows = data.rows("weighted");
  std::vector<uint8_t> buckets;
  for (size_t row = 0; row < rows.size(); ++row) {
    const double place = 100 * rows.score(row) + 12 * rows.weight(row) + rows.positive(row);
    buckets.push_back(static_cast<uint8_t>(std::lround(place) % 20));
  }
  const std::vector<double> thresholds = {0.5};
  const PassedThresholds passed = pass_thresholds(rows, thresholds, Positive::kAbove);
  const std::vector<uint32_t> order = order_by_score(data.scores);
  size_t compared = 0;
  for (const nlohmann::json& golden : read_golden("tfma_jackknife.json")) {
    const bool all = golden.at("group").is_null();
    const Slicing slicing = all ? overall(rows.size()) : slice_by({&data.group});
    const size_t slice = all ? 0 : golden.at("group").get<size_t>();
    const auto left = jackknife(
        rows, score_cells(rows, log_losses(rows), order, passed, slicing, kJackknifeCells), buckets);
    const Confusion itself = confusions(rows, passed, slicing)[slice];
    const ScoreSums sums = score_sums(rows, slicing)[slice];
    for (const auto& [name, ends] : golden.at("intervals").items()) {
      const bool mean = std::ranges::count(score_means(), name, &ScoreMean::name) > 0;
      const auto value = [&](const Confusion& confusion, const ScoreSums& of) {
        return mean ? score_mean(name)(of) : rate(name)(confusion);
      };
      std::vector<double> replicates;
      for (const Replicate& one : left[slice]) {
        if (const auto its = value(one.at[0], one.sums)) replicates.push_back(*its);
      }
      EXPECT_EQ(replicates.size() == kJackknifeBuckets, !ends.is_null()) << name;
      if (ends.is_null() || replicates.size() != kJackknifeBuckets) continue;
      const auto interval = resampled_interval(*value(itself, sums), replicates, IntervalMethod::kJackknife);
      EXPECT_NEAR(interval->low, ends[0].get<double>(), 1e-9) << name;
      EXPECT_NEAR(interval->high, ends[1].get<double>(), 1e-9) << name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 30u);
}

}  // namespace
}  // namespace espalier
