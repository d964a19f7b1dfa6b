// What a launcher says of how its ranks ended.
#include "launch/launch_tally.h"

#include <gtest/gtest.h>

#include "base/format.h"

namespace espalier {
namespace {

constexpr ProcessEnd kDone{}, kSaved{.number = kPreemptedStatus}, kRefused{.number = kRefusedStatus},
    kKilled{.by_signal = true, .number = SIGKILL}, kTerminated{.by_signal = true, .number = SIGTERM};

std::string lines_of_rank(int rank) { return cat("\nlines of ", rank); }

// "code; failure; kind of its verdict".
std::string tallied(const LaunchTally& tally, const std::optional<RunVerdict>& verdict = {}) {
  const LaunchRecord record = tally.record(verdict, lines_of_rank, "\naside");
  return cat(record.code, "; ", record.failure, "; ",
             record.verdict ? name(record.verdict->kind) : std::string_view("none"));
}

LaunchTally tally_of(const std::vector<ProcessEnd>& ends, int forwarded = 0) {
  LaunchTally out(static_cast<int>(ends.size()));
  if (forwarded) out.forwarded(forwarded);
  for (size_t i = 0; i < ends.size(); ++i) {
    out.started(static_cast<int>(i), 800 + static_cast<int64_t>(i));
    out.ended(static_cast<int>(i), ends[i], false);
  }
  return out;
}

TEST(LaunchTally, CodesOfRanksThatHaveNotFailed) {
  EXPECT_EQ(tallied(tally_of({kDone, kDone})), "0; ; none");
  EXPECT_EQ(tallied(tally_of({kDone, kSaved, kDone})), "42; ; none");
  EXPECT_EQ(tallied(tally_of({kSaved, kTerminated}, SIGTERM)), "143; ; none");
  EXPECT_EQ(tallied(tally_of({kTerminated, kSaved}, SIGTERM)), "143; ; none");
  EXPECT_EQ(tallied(LaunchTally(2)), "0; ; none") << "their host was lost";
}

TEST(LaunchTally, TheFirstFailureIsSaidAndThoseBehindIt) {
  EXPECT_EQ(tallied(tally_of({kDone, {.number = 7}, kSaved, kKilled, {.number = 1}})),
            "7; rank 1 (pid 801) ended with status 7\nlines of 1\nafter it rank 3 (pid 803) ended by signal "
            "9\nafter it rank 4 (pid 804) ended with status 1; none");
  LaunchTally late(3);
  late.started(0, 5, "a");
  late.started(2, 6, "b");
  late.ended(2, {.number = 3}, false);
  EXPECT_TRUE(late.any_failed() && late.has_ended(2));
  EXPECT_FALSE(late.has_ended(0) || late.all_ended());
  late.ended(0, {.number = 4}, false);
  EXPECT_FALSE(late.all_ended());
  late.ended(1, kKilled, true);
  EXPECT_TRUE(late.all_ended());
  EXPECT_EQ(tallied(late),
            "3; rank 2 (pid 6, host b) ended with status 3\nlines of 2\nafter it rank 0 (pid 5, host a) "
            "ended with status 4; none");
  LaunchTally starter(1, "mpirun");
  starter.started(0, 9);
  starter.ended(0, {.number = 1}, false);
  EXPECT_EQ(tallied(starter), "1; mpirun (pid 9) ended with status 1\nlines of 0; none");
}

TEST(LaunchTally, WhoDiesOfWhatAllWereSentHasNotFailed) {
  EXPECT_FALSE(tally_of({kTerminated}, SIGTERM).any_failed());
  EXPECT_TRUE(tally_of({kTerminated}, SIGINT).any_failed());
  EXPECT_TRUE(tally_of({{.number = SIGTERM}}, SIGTERM).any_failed()) << "a status, and no signal";
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) EXPECT_TRUE(tally_of({}, number).was_told_to_end());
  for (const int number : {SIGUSR1, SIGTSTP}) EXPECT_FALSE(tally_of({}, number).was_told_to_end());
}

TEST(LaunchTally, AVerdictCountsMoreThanEnds) {
  const auto verdict = [](VerdictKind kind, int rank) { return RunVerdict{"id", kind, rank, "why"}; };
  EXPECT_EQ(tallied(tally_of({kDone, kKilled}), verdict(VerdictKind::kKilled, 1)),
            "43; why (verdict id)\nlines of 1\naside; killed");
  EXPECT_EQ(tallied(tally_of({kDone, kDone}), verdict(VerdictKind::kStalled, -1)),
            "43; why (verdict id)\naside; stalled");
  // One that has died as it was told, before it could save.
  for (const VerdictKind kind : {VerdictKind::kKilled, VerdictKind::kEnded})
    EXPECT_EQ(tallied(tally_of({kDone, kTerminated}, SIGTERM), verdict(kind, 1)), "143; ; none");
  EXPECT_EQ(tallied(tally_of({kDone, kTerminated}, SIGTERM), verdict(VerdictKind::kThrown, 1)),
            "43; why (verdict id)\nlines of 1\naside; thrown");
  EXPECT_EQ(tallied(tally_of({kTerminated, kKilled}, SIGTERM), verdict(VerdictKind::kKilled, 1)),
            "43; why (verdict id)\nlines of 1\naside; killed");
  // Bad input that each has refused by itself.
  EXPECT_EQ(tallied(tally_of({kRefused, kRefused}), verdict(VerdictKind::kAlike, 0)), "2; ; none");
  EXPECT_EQ(tallied(tally_of({kRefused, kDone}), verdict(VerdictKind::kAlike, 0)),
            "43; why (verdict id)\nlines of 0\naside; alike");
  EXPECT_EQ(tallied(tally_of({kRefused, kRefused}), verdict(VerdictKind::kThrown, 0)),
            "43; why (verdict id)\nlines of 0\naside; thrown");
}

TEST(LaunchTally, WhatRanksDoIsSeenOnce) {
  LaunchTally tally = tally_of({kDone, kKilled});
  EXPECT_FALSE(tally.seen());
  tally.see([](int rank, LaunchRecord::Rank& record) { record.doing = cat("first look at ", rank); });
  EXPECT_TRUE(tally.seen());
  const int64_t seen = tally.record({}, lines_of_rank, "").seen_ns;
  tally.see([](int, LaunchRecord::Rank& record) { record.doing = "second look"; });
  const LaunchRecord record = tally.record({}, lines_of_rank, "");
  EXPECT_GT(seen, 0);
  EXPECT_EQ(record.seen_ns, seen);
  ASSERT_EQ(record.ranks.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(record.ranks[i].doing, cat("first look at ", i));
    EXPECT_EQ(record.ranks[i].pid, 800 + static_cast<int64_t>(i));
  }
  EXPECT_EQ(record.ranks[1].end, kKilled);
}

}  // namespace
}  // namespace espalier
