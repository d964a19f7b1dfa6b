#include "launch/control_text.h"

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

TEST(ControlText, Stages) {
  EXPECT_EQ(stage_text({Stage::kStart, 0}), "before its first step");
  EXPECT_EQ(stage_text({Stage::kInput, 8}), "waiting for input in step 8");
  EXPECT_EQ(stage_text({Stage::kTrace, 1}), "tracing step 1");
  EXPECT_EQ(stage_text({Stage::kCollective, 3}), "in step 3");
  EXPECT_EQ(stage_text({Stage::kCallback, 0}), "in a callback before its first step");
  EXPECT_EQ(stage_text({Stage::kCallback, 8}), "in a callback of step 8");
  EXPECT_EQ(stage_text({Stage::kEnd, 8}), "after step 8");
}

TEST(ControlText, StagesOfCalls) {
  const auto text = [](Stage stage) { return stage_text({stage, 8, 0, "", "step"}); };
  EXPECT_EQ(text(Stage::kTrace), "tracing call 8 of \"step\"");
  EXPECT_EQ(text(Stage::kStep), "in call 8 of \"step\"");
  EXPECT_EQ(text(Stage::kCollective), "in call 8 of \"step\"");
  EXPECT_EQ(text(Stage::kCallback), "behind call 8 of \"step\"");
  EXPECT_EQ(text(Stage::kSave), "in the save behind call 8 of \"step\"");
}

TEST(ControlText, VersionsThatDifferAreNamedFirst) {
  int odd = 7;
  EXPECT_EQ(mismatch_text({{0, {{"a", "1"}, {"version", "2"}}}, {1, {{"b", "1"}, {"version", "3"}}}}, odd),
            "version is 2 on rank 0 and 3 on rank 1");
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
