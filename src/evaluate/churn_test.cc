#include "evaluate/churn.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "evaluate/estimates_test.h"

namespace espalier {
namespace {

// 2 sum_k<=3 C(13, k) / 2^13.
TEST(Churn, TheSignTestIsThatOfEqualCoins) {
  EXPECT_NEAR(sign_test(10, 3), 756.0 / 8192, 1e-12);
  EXPECT_EQ(sign_test(10, 3), sign_test(3, 10));
  EXPECT_NEAR(sign_test(5, 0), 2.0 / 32, 1e-12);
  EXPECT_EQ(sign_test(0, 0), 1);
  EXPECT_EQ(sign_test(4, 4), 1);
}

struct Decided {
  std::vector<uint32_t> truths, before, now;
  std::vector<double> weights;
  CategoryColumn group{"g", {"a", "b"}, {}};
  DecidedTwice view() const { return {truths, before, now, weights}; }

  // Of group b `lost` in a hundred of the rows that were right are wrong now.
  Decided(size_t rows, uint64_t lost, uint64_t seed, bool weighted = true) {
    Philox random(seed, 7);
    for (size_t i = 0; i < rows; ++i) {
      truths.push_back(static_cast<uint32_t>(random.below(3)));
      before.push_back(random.below(10) < 8 ? truths[i] : (truths[i] + 1) % 3);
      now.push_back(random.below(20) ? before[i] : static_cast<uint32_t>(random.below(3)));
      group.codes.push_back(static_cast<uint32_t>(random.below(2)));
      if (group.codes[i] && random.below(100) < lost) now[i] = (truths[i] + 2) % 3;
      if (weighted) weights.push_back(static_cast<double>(1 + random.below(4)) / 2);
    }
  }
};

TEST(Churn, CountsRowsAsTheyAre) {
  const std::vector<uint32_t> truths = {0, 1, 2, 0, 1, 2}, before = {0, 1, 1, 1, 1, 0},
                              now = {0, 0, 2, 2, 1, 2};
  const std::vector<double> weights = {1, 2, 1, 1, 3, 2};
  const SliceChurn all = churn({truths, before, now, weights}, {})[0];
  EXPECT_DOUBLE_EQ(*all.changed.value, 6.0 / 10) << "the second, third, fourth and last";
  EXPECT_DOUBLE_EQ(*all.before.value, 6.0 / 10);
  EXPECT_DOUBLE_EQ(*all.now.value, 7.0 / 10);
  EXPECT_NEAR(*all.gain.value, 0.1, 1e-15);
  EXPECT_EQ(all.better, 2);
  EXPECT_EQ(all.worse, 1);
}

TEST(Churn, VariancesAreThoseOfWeightsThatChange) {
  Decided rows(50, 20, 1);
  const auto gain = [&] { return churn(rows.view(), {})[0].gain; };
  const double expected = variance_by_weights(rows.weights, [&] { return *gain().value; });
  EXPECT_NEAR(gain().variance.value(), expected, 1e-5 * expected);
}

TEST(Churn, ASliceThatLosesIsNamedAndOthersSeldom) {
  int found = 0, falsely = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Decided worse(2000, 8, seed);
    const std::vector<SliceChurn> all = churn(worse.view(), {{&worse.group}});
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[2].slice.name, "g=b");
    found += all[2].lost();
    EXPECT_FALSE(churn(worse.view(), {{&worse.group}}, {.min_rows = 5000})[2].lost()) << "it is thin";
    // Two models that are right as often, each by itself.
    Decided alike(2000, 0, seed);
    Philox random(seed, 8);
    for (size_t i = 0; i < alike.now.size(); ++i)
      alike.now[i] = random.below(10) < 8 ? alike.truths[i] : (alike.truths[i] + 1) % 3;
    for (const SliceChurn& one : churn(alike.view(), {{&alike.group}})) falsely += one.lost();
  }
  EXPECT_EQ(found, 200);
  EXPECT_LE(falsely, 12);
}

TEST(Churn, RowsOfNoUseAreRefused) {
  const std::vector<uint32_t> two = {0, 1}, one = {0};
  const std::vector<double> bad = {1, -1};
  EXPECT_EQ(rule_of([&] { churn({two, two, one}, {}); }), "evaluate.rows");
  EXPECT_EQ(rule_of([&] { churn({two, two, two, bad}, {}); }), "evaluate.weight");
}

}  // namespace
}  // namespace espalier
