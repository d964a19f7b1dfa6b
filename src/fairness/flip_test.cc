#include "fairness/flip.h"

#include <gtest/gtest.h>

#include "base/rule_of_test.h"

namespace espalier {
namespace {

const CategoryColumn kColour{"colour", {"red", "green", "blue"}, {0, 1, 2, 0, CategoryColumn::kMissing, 1}};
const std::vector<uint32_t> kSaid = {1, 0, 1, 0, 0, 1};

TEST(Flip, ARowFlipsWhenAnyOtherValueChangesItsDecision) {
  const Flips flips = count_flips(kSaid, kColour,
                                  {{1, 1, 1, 0, 0, 1},    // of red: the second row
                                   {1, 0, 0, 0, 1, 1},    // of green: the third and the fifth
                                   {1, 0, 1, 0, 1, 1}});  // of blue: the fifth again
  EXPECT_EQ(flips.overall.rows, 6);
  EXPECT_EQ(flips.overall.to_positive, 2);
  EXPECT_EQ(flips.overall.to_negative, 1);
  EXPECT_DOUBLE_EQ(flips.overall.rate().share, 0.5);
  ASSERT_EQ(flips.groups.size(), 4u);
  EXPECT_EQ(flips.groups[0].flips(), 0) << "red";
  EXPECT_EQ(flips.groups[1].to_positive, 1) << "green";
  EXPECT_EQ(flips.groups[2].to_negative, 1) << "blue";
  EXPECT_EQ(flips.groups[3].group, "(missing)");
  EXPECT_EQ(flips.groups[3].to_positive, 1);
}

TEST(Flip, NoValueIsNamedAsMissingRowsAre) {
  const CategoryColumn texts{"colour", {"(missing)", "red"}, {0, 1, CategoryColumn::kMissing, 0, 1, 1}};
  const Flips flips = count_flips(kSaid, texts, {kSaid, kSaid});
  EXPECT_EQ(flips.groups[0].group, "\"(missing)\"");
  EXPECT_EQ(flips.groups[2].group, "(missing)");
}

TEST(Flip, ItsOwnValueIsPassedOver) {
  // The third row is blue: that blue says otherwise is no flip of it.
  const Flips flips = count_flips(kSaid, kColour, {kSaid, kSaid, {1, 0, 0, 0, 0, 1}});
  EXPECT_EQ(flips.overall.flips(), 0);
}

TEST(Flip, OfSeveralClassesEveryOtherOneCounts) {
  const std::vector<uint32_t> said = {2, 1, 0, 300, 2, 2};
  const Flips flips = count_flips(said, kColour, {{2, 1, 0, 44, 2, 1}, {2, 1, 1, 300, 2, 0}});
  EXPECT_EQ(flips.overall.flips(), 2) << "the third and, were it red, the last";
  EXPECT_EQ(flips.groups[1].flips(), 1);
  EXPECT_EQ(flips.groups[2].flips(), 1);
}

TEST(Flip, WithoutValuesNothingFlips) {
  const Flips flips = count_flips(kSaid, {"none", {"a", "b"}, {0, 0, 1, 1, 1, 0}}, {});
  EXPECT_EQ(flips.overall.flips(), 0);
  EXPECT_EQ(flips.overall.rows, 6);
}

TEST(Flip, ColumnsOfOtherRowsAreRefused) {
  EXPECT_EQ(rule_of([] { count_flips({}, kColour, {}); }), "fairness.flip");
  EXPECT_EQ(rule_of([] { count_flips(kSaid, kColour, {{1, 0}}); }), "fairness.flip");
}

}  // namespace
}  // namespace espalier
