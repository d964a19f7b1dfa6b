#include "fairness/permutation.h"

#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "evaluate/counted_test.h"

namespace espalier {
namespace {

TEST(Hypergeometric, NumbersHaveTheirChances) {
  constexpr int kRuns = 40000;
  const auto choose = [](int n, int k) {
    return std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0));
  };
  for (const auto& [total, marked, drawn] :
       std::vector<std::array<int, 3>>{{20, 7, 9}, {12, 12, 5}, {12, 0, 5}, {9, 6, 6}}) {
    Philox random(1);
    const Hypergeometric law(total, marked, drawn);
    std::vector<int> counts(static_cast<size_t>(total) + 1);
    for (int run = 0; run < kRuns; ++run) ++counts.at(static_cast<size_t>(law(random)));
    for (int k = 0; k <= total; ++k) {
      const bool possible = k <= marked && k <= drawn && drawn - k <= total - marked;
      const double chance =
          possible ? choose(marked, k) * choose(total - marked, drawn - k) / choose(total, drawn) : 0;
      EXPECT_NEAR(counts[static_cast<size_t>(k)], kRuns * chance, 5 * std::sqrt(kRuns * chance) + 1e-6) << k;
    }
  }
}

TEST(Hypergeometric, LargeNumbersHaveTheirMeanAndVariance) {
  Philox random(2);
  const Hypergeometric law(1000000, 300000, 200000);
  double sum = 0, squares = 0;
  for (int run = 0; run < 2000; ++run) {
    const double off = static_cast<double>(law(random)) - 60000;
    sum += off / 2000, squares += off * off / 2000;
  }
  const double variance = 200000 * 0.3 * 0.7 * 0.8;
  EXPECT_NEAR(sum, 0, 4 * std::sqrt(variance / 2000));
  EXPECT_NEAR(squares / variance, 1, 0.15);
}

// Of two groups of four, all 70 ways to exchange their rows, each as likely as the others.
TEST(Permutation, AChanceIsThatOfAllExchanges) {
  const std::vector<Confusion> groups = {counted(3, 0, 0, 1), counted(1, 0, 0, 3)};
  const ByChance got = by_chance(criterion("equal_opportunity"), {groups, {}}, {}, {.least = 50000}).value();
  // 4 of 8 rows are found: |a - b| is 1 in 2 of 70 ways, 1/2 in 32, 0 in 36.
  EXPECT_NEAR(got.p, 34.0 / 70, 0.01);
  EXPECT_NEAR(got.expected, (2 * 1 + 32 * 0.5) / 70, 0.005);
}

// The gap of the highest and the lowest of k groups of n rows is, under no difference, the range of k normal
// numbers in deviations of one: 1.128, 2.326, 3.078 for 2, 5, 10 (Tippett, 1925).
TEST(Permutation, TheBiasIsTheRangeOfAsManyNumbers) {
  for (const auto& [k, range] : std::vector<std::pair<int, double>>{{2, 1.1284}, {5, 2.3259}, {10, 3.0775}}) {
    const std::vector<Confusion> groups(static_cast<size_t>(k), counted(0, 120, 280, 0));
    const ByChance got =
        by_chance(criterion("predictive_equality"), {groups, {}}, {}, {.least = 4000}).value();
    EXPECT_NEAR(got.expected, range * std::sqrt(0.3 * 0.7 / 400), 0.001) << k;
    EXPECT_EQ(got.p, 1) << "a gap of 0 is the smallest";
  }
}

TEST(Permutation, ARealGapIsRareByChance) {
  const std::vector<Confusion> groups = {counted(80, 5, 95, 20), counted(40, 5, 95, 60),
                                         counted(60, 5, 95, 40)};
  const ByChance odds = by_chance(criterion("equalised_odds"), {groups, {}}).value();
  EXPECT_LT(odds.p, 0.0002) << "most permutations are made where none has so large a gap";
  EXPECT_GT(by_chance(criterion("predictive_equality"), {groups, {}})->p, 0.99);
  const Convention reference{.against = Against::kReference, .reference = 1};
  EXPECT_LT(by_chance(criterion("equal_opportunity"), {groups, {}}, reference)->p, 0.0002);
}

TEST(Permutation, OfWhatHasNoChanceThereIsNone) {
  const std::vector<Confusion> groups = {counted(3, 1, 0, 1), counted(1, 1, 0, 3)};
  EXPECT_FALSE(by_chance(criterion("treatment_equality"), {groups, {}}));
  EXPECT_FALSE(by_chance(criterion("equal_opportunity"), {std::span(groups).first(1), {}}));
  EXPECT_FALSE(by_chance(criterion("demographic_parity"), {groups, counted(4, 2, 0, 4)},
                         {.against = Against::kOverall}));
  const std::vector<Confusion> undefined = {counted(0, 1, 0, 0), counted(1, 1, 0, 3)};
  EXPECT_FALSE(by_chance(criterion("equal_opportunity"), {undefined, {}}));
}

// Groups of one law, of rows of two weights or of one: how often p is at most 0.05.
int false_alarms(int runs, bool weighted) {
  int alarms = 0;
  for (int run = 0; run < runs; ++run) {
    Philox random(static_cast<uint64_t>(run), 21);
    std::vector<Confusion> groups(4);
    for (int row = 0; row < 600; ++row) {
      const bool positive = random.below(10) < 4, said = random.below(10) < (positive ? 7 : 2);
      const double weight = weighted && random.below(2) == 0 ? 3 : 1;
      groups[random.below(4)][outcome_of(said, positive)].add(weight);
    }
    const auto seed = static_cast<uint64_t>(run);
    alarms +=
        by_chance(criterion("equalised_odds"), {groups, {}}, {}, {.least = 199, .most = 199, .seed = seed})
            ->p <= 0.05;
  }
  return alarms;
}

TEST(Permutation, FewAlarmsAreFalse) {
  EXPECT_LE(false_alarms(300, false), 300 * 0.07);
  EXPECT_LE(false_alarms(300, true), 300 * 0.07);
}
TEST(SlowPermutation, FewAlarmsAreFalse) {
  for (const bool weighted : {false, true}) {
    const int alarms = false_alarms(3000, weighted);
    EXPECT_LE(alarms, 3000 * 0.07);
    EXPECT_GE(alarms, 3000 * 0.03) << "a test that never says anything";
  }
}

}  // namespace
}  // namespace espalier
