#include "comm/control_text.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(ControlText, Ranks) {
  EXPECT_EQ(ranks_text({2}), "rank 2");
  EXPECT_EQ(ranks_text({0, 1}), "ranks 0, 1");
  EXPECT_EQ(ranks_text({0, 2}), "ranks 0, 2");
  EXPECT_EQ(ranks_text({0, 1, 2}), "ranks 0-2");
  EXPECT_EQ(ranks_text({0, 1, 3, 4, 5, 7}), "ranks 0, 1, 3-5, 7");
}

TEST(ControlText, MismatchNamesTheOddOne) {
  int odd = 7;
  EXPECT_EQ(mismatch_text({{0, {{"a", "1"}, {"rate", "0.1"}}},
                           {1, {{"a", "1"}, {"rate", "0.1"}}},
                           {2, {{"a", "1"}, {"rate", "0.2"}}},
                           {3, {{"a", "1"}, {"rate", "0.1"}}}},
                          odd),
            "rate is 0.1 on ranks 0, 1, 3 and 0.2 on rank 2");
  EXPECT_EQ(odd, 2);
  EXPECT_EQ(mismatch_text({{0, {{"a", "1"}}}, {1, {{"a", "2"}}}}, odd), "a is 1 on rank 0 and 2 on rank 1");
  EXPECT_EQ(odd, -1);
  EXPECT_EQ(mismatch_text({{0, {{"a", "1"}}}, {1, {{"a", "2"}}}, {2, {}}}, odd),
            "a is 1 on rank 0, 2 on rank 1 and not set on rank 2");
  EXPECT_EQ(odd, -1);
  EXPECT_EQ(mismatch_text({{0, {{"a", "1"}}}, {1, {{"a", "1"}}}}, odd), "");
}

}  // namespace
}  // namespace espalier
