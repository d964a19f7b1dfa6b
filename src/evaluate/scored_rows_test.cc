#include "evaluate/scored_rows.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"

namespace espalier {
namespace {

std::string rule_of_rows(const std::vector<double>& scores, const std::vector<uint8_t>& labels,
                         const std::vector<double>& weights = {}) {
  return rule_of([&] { ScoredRows(scores, labels, weights); });
}

TEST(ScoredRows, RowsOfNoUseAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(rule_of_rows({0.5, -inf}, {0, 1}, {0, 2}), "nothing");
  EXPECT_EQ(rule_of_rows({}, {}), "nothing");
  EXPECT_EQ(rule_of_rows({0.5}, {0, 1}), "evaluate.rows");
  EXPECT_EQ(rule_of_rows({0.5, 1}, {0, 1}, {1}), "evaluate.rows");
  EXPECT_EQ(rule_of_rows({0.5, nan}, {0, 1}), "evaluate.score");
  EXPECT_EQ(rule_of_rows({0.5, 1}, {0, 2}), "evaluate.label");
  for (const double bad : {-1.0, nan, inf})
    EXPECT_EQ(rule_of_rows({0.5, 1}, {0, 1}, {1, bad}), "evaluate.weight") << bad;
}

TEST(ScoredRows, AThresholdIsPositiveOrNot) {
  EXPECT_TRUE(says_positive(0.5, 0.5, Positive::kFrom));
  EXPECT_FALSE(says_positive(0.5, 0.5, Positive::kAbove));
  EXPECT_TRUE(says_positive(0.6, 0.5, Positive::kAbove));
  EXPECT_FALSE(says_positive(0.4, 0.5, Positive::kFrom));
}

}  // namespace
}  // namespace espalier
