#include "comm/calls.h"

#include <set>

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(Calls, FingerprintsTellEachPropertyApart) {
  const Collective what{Collective::Kind::kAllReduce, "gradients/1", "f32 sum", 4, 1000, nullptr, 0};
  std::set<uint64_t> seen{fingerprint(CallKind::kAllReduce, what), fingerprint(CallKind::kAllGather, what)};
  Collective other = what;
  other.name = "gradients/2";
  seen.insert(fingerprint(CallKind::kAllReduce, other));
  other = what;
  other.type = "f32 maximum";
  seen.insert(fingerprint(CallKind::kAllReduce, other));
  other = what;
  other.element = 8;
  seen.insert(fingerprint(CallKind::kAllReduce, other));
  other = what;
  other.count = 1001;
  seen.insert(fingerprint(CallKind::kAllReduce, other));
  other = what;
  other.root = 1;
  seen.insert(fingerprint(CallKind::kAllReduce, other));
  other = what;
  other.call = 1;
  seen.insert(fingerprint(CallKind::kAllReduce, other));
  other.program = "step";
  seen.insert(fingerprint(CallKind::kAllReduce, other));
  EXPECT_EQ(seen.size(), 9u);
  const std::string same_name = "gradients/1";
  other = what;
  other.name = same_name;
  EXPECT_EQ(fingerprint(CallKind::kAllReduce, other), fingerprint(CallKind::kAllReduce, what));
}

TEST(Calls, TextsNameWhatIsCompared) {
  EXPECT_EQ(collective_text(CallKind::kAllReduce, "gradients/1", "f32 sum", 1000, 0),
            "all_reduce \"gradients/1\" of 1000 f32 sum");
  EXPECT_EQ(collective_text(CallKind::kBroadcast, "w", "u8", 3, 2),
            "collective_broadcast \"w\" of 3 u8 from rank 2");
  EXPECT_EQ(collective_text(CallKind::kBarrier, "epoch", "", 0, 0), "barrier \"epoch\"");
  EXPECT_EQ(collective_text(CallKind::kAny, "", "", 0, 0), "vote");
}

TEST(Calls, TheOddOneComesFirst) {
  const RankCall a{1, "A"}, b{2, "B"}, c{3, "C"};
  EXPECT_EQ(mismatch_text({a, a, b, a}), "rank 2 calls B where ranks 0, 1, 3 call A");
  EXPECT_EQ(mismatch_text({b, a, a, a}), "rank 0 calls B where ranks 1, 2, 3 call A");
  EXPECT_EQ(mismatch_text({a, b}), "rank 1 calls B where rank 0 calls A");
  EXPECT_EQ(mismatch_text({a, a, b, b}), "ranks 2, 3 call B where ranks 0, 1 call A");
  EXPECT_EQ(mismatch_text({c, a, b, a}), "rank 2 calls B, rank 0 calls C where ranks 1, 3 call A");
  EXPECT_EQ(
      mismatch_text({a, {9, "A"}}),
      "rank 1 calls A where rank 0 calls A; they differ in the end of a long name or the size of an element");
}

// Alike, and of two calls of programs.
TEST(Calls, OfWhichCallsOfProgramsTheyAreIsSaidWhereThatDiffers) {
  EXPECT_EQ(call_text(0, "step"), "");
  EXPECT_EQ(call_text(8, "step"), "call 8: \"step\"");
  const RankCall second{1, "A", "call 2: \"step\""}, third{2, "A", "call 3: \"step\""}, none{3, "B"};
  EXPECT_EQ(mismatch_text({second, third}),
            "rank 1 calls A (call 3: \"step\") where rank 0 calls A (call 2: \"step\")");
  EXPECT_EQ(mismatch_text({second, none}), "rank 1 calls B where rank 0 calls A (call 2: \"step\")");
  EXPECT_EQ(mismatch_text({second, {4, "B", second.call}}), "rank 1 calls B where rank 0 calls A");
}

}  // namespace
}  // namespace espalier
