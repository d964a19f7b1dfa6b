#include "evaluate/ranking.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "evaluate/random_rows_test.h"
#include "evaluate/thresholds.h"

namespace espalier {
namespace {

// By its definition, from all pairs.
Auc auc_of_pairs(const ScoredRows& rows, const Slicing& slicing, uint32_t slice) {
  const auto placement = [&](size_t row) {
    double below = 0, all = 0;
    for (size_t other = 0; other < rows.size(); ++other) {
      if (slicing.of_row[other] != slice || rows.positive(other) == rows.positive(row)) continue;
      const double tie = rows.score(other) == rows.score(row) ? 0.5 : 0;
      all += rows.weight(other);
      below += rows.weight(other) * (rows.score(other) < rows.score(row) ? 1 : tie);
    }
    return below / all;
  };
  Auc out{.area = 0, .variance = 0};
  for (const bool positive : {true, false}) {
    double weight = 0, squares = 0, sum = 0;
    for (const bool second : {false, true}) {
      const double mean = sum / weight;
      double deviations = 0;
      for (size_t row = 0; row < rows.size(); ++row) {
        if (slicing.of_row[row] != slice || rows.positive(row) != positive) continue;
        const double place = placement(row);
        if (second) {
          deviations += rows.weight(row) * (place - mean) * (place - mean);
        } else {
          weight += rows.weight(row);
          squares += rows.weight(row) * rows.weight(row);
          sum += rows.weight(row) * place;
        }
      }
      if (second) *out.variance += deviations / weight / (weight * weight / squares - 1);
    }
    if (positive) out.area = sum / weight;
  }
  return out;
}

Slicing thirds(size_t rows) {
  CategoryColumn column{"third", {"a", "b", "c"}, {}};
  for (size_t i = 0; i < rows; ++i) column.codes.push_back(i % 7 == 6 ? CategoryColumn::kMissing : i % 3);
  return slice_by({&column}, {.missing = MissingGroup::kLeftOut});
}

TEST(Ranking, AreasAndTheirVariancesAreThoseOfAllPairs) {
  for (const uint64_t seed : {1, 2, 3}) {
    for (const bool weighted : {false, true}) {
      const RandomRows rows = random_rows(200, seed, weighted);
      const Slicing slicing = thirds(200);
      const auto got = aucs(rows.view(), order_by_score(rows.scores), slicing);
      ASSERT_EQ(got.size(), 3u);
      for (uint32_t slice = 0; slice < 3; ++slice) {
        const Auc expected = auc_of_pairs(rows.view(), slicing, slice);
        EXPECT_NEAR(got[slice]->area, expected.area, 1e-14);
        EXPECT_NEAR(got[slice]->variance.value(), expected.variance.value(), 1e-14);
      }
    }
  }
}

std::optional<Auc> auc_of(const std::vector<double>& scores, const std::vector<uint8_t>& labels,
                          const std::vector<double>& weights = {}) {
  return aucs({scores, labels, weights}, order_by_score(scores), overall(scores.size()))[0];
}

TEST(Ranking, AreasOfFewRows) {
  EXPECT_EQ(auc_of({0.1, 0.2, 0.3, 0.4}, {0, 0, 1, 1})->area, 1);
  EXPECT_EQ(auc_of({0.1, 0.2, 0.3, 0.4}, {1, 1, 0, 0})->area, 0);
  EXPECT_EQ(auc_of({0.5, 0.5, 0.5}, {1, 0, 0})->area, 0.5);
  EXPECT_FALSE(auc_of({0.1, 0.2, 0.3, 0.4}, {0, 0, 1, 1})->variance) << "scores that part the classes";
  EXPECT_FALSE(auc_of({0.1, 0.2, 0.3, 0.4}, {1, 1, 0, 0})->variance);
  EXPECT_FALSE(auc_of({0.1, 0.2, 0.3}, {0, 1, 0})->variance) << "one positive";
  EXPECT_FALSE(auc_of({0.1, 0.2, 0.3, 0.4}, {0, 1, 0, 1}, {1, 1, 1, 0})->variance) << "one that weighs";
  EXPECT_TRUE(auc_of({0.1, 0.2, 0.3, 0.4}, {0, 1, 0, 1})->variance);
  EXPECT_FALSE(auc_of({0.1, 0.2}, {1, 1})) << "no negatives";
  EXPECT_FALSE(auc_of({0.1, 0.2}, {1, 0}, {0, 1})) << "none that weighs";
  EXPECT_FALSE(auc_of({}, {}));
}

TEST(Ranking, RoundingIsNoVariance) {
  Philox random(8);
  for (int run = 0; run < 50; ++run) {
    std::vector<double> scores, weights;
    std::vector<uint8_t> above, below, one;
    for (int i = 0; i < 20; ++i) {
      scores.push_back(i);
      weights.push_back(static_cast<double>(random.uniform()) + 0.1);
      above.push_back(i >= 10);
      below.push_back(i < 10);
      one.push_back(i % 10 == 5);
    }
    EXPECT_FALSE(auc_of(scores, above, weights)->variance);
    EXPECT_FALSE(auc_of(scores, below, weights)->variance);
    weights[15] = 0;
    EXPECT_FALSE(auc_of(scores, one, weights)->variance) << "one positive that weighs";
  }
}

Confusion confusion_of_rows(const ScoredRows& rows, const Slicing& slicing, uint32_t slice, double threshold,
                            Positive positive) {
  Confusion out;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (slicing.of_row[row] != slice) continue;
    out[outcome_of(says_positive(rows.score(row), threshold, positive), rows.positive(row))].add(
        rows.weight(row));
  }
  return out;
}

void expect_same_counts(const Confusion& got, const Confusion& expected) {
  for (size_t i = 0; i < kOutcomes; ++i) {
    EXPECT_EQ(got.of[i].rows, expected.of[i].rows);
    EXPECT_EQ(got.of[i].weight, expected.of[i].weight);
    EXPECT_EQ(got.of[i].squares, expected.of[i].squares);
  }
}

// Weights are halves, so that sums are exact in any order.
TEST(Ranking, EveryThresholdCountsAsTheRowsSay) {
  const RandomRows rows = random_rows(150, 4);
  const Slicing all = overall(150);
  const Ranking ranking(rows.view(), order_by_score(rows.scores));
  EXPECT_EQ(ranking.confusions().size(), ranking.scores().size() + 1);
  for (const Positive positive : {Positive::kFrom, Positive::kAbove}) {
    for (double threshold = -0.01; threshold < 1.03; threshold += 0.005) {
      SCOPED_TRACE(threshold);
      expect_same_counts(ranking.at(threshold, positive),
                         confusion_of_rows(rows.view(), all, 0, threshold, positive));
    }
    for (const double score : ranking.scores())
      expect_same_counts(ranking.at(score, positive),
                         confusion_of_rows(rows.view(), all, 0, score, positive));
  }
}

TEST(Ranking, OfNoRowsSaysNothing) {
  const Ranking ranking({{}, {}}, {});
  EXPECT_EQ(ranking.at(0.5).all().rows, 0);
}

TEST(Thresholds, AllSlicesCountAsTheRowsSay) {
  const RandomRows rows = random_rows(300, 5);
  const Slicing slicing = thirds(300);
  const std::vector<double> thresholds{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
  for (const Positive positive : {Positive::kFrom, Positive::kAbove}) {
    const auto got = confusions(rows.view(), pass_thresholds(rows.view(), thresholds, positive), slicing);
    ASSERT_EQ(got.size(), 27u);
    for (uint32_t slice = 0; slice < 3; ++slice) {
      for (size_t i = 0; i < thresholds.size(); ++i) {
        expect_same_counts(got[slice * thresholds.size() + i],
                           confusion_of_rows(rows.view(), slicing, slice, thresholds[i], positive));
      }
    }
  }
}

TEST(Thresholds, OnlyAscendingOnesAreTaken) {
  const RandomRows rows = random_rows(5, 6);
  const auto rule = [&](const std::vector<double>& thresholds) {
    return rule_of([&] { pass_thresholds(rows.view(), thresholds); });
  };
  EXPECT_EQ(rule({0.5}), "nothing");
  for (const std::vector<double>& bad :
       {std::vector<double>{}, {0.5, 0.5}, {0.5, 0.4}, {std::nan("")}, std::vector<double>(70000)})
    EXPECT_EQ(rule(bad), "evaluate.thresholds");
}

}  // namespace
}  // namespace espalier
