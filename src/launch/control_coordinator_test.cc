#include "launch/control_coordinator.h"

#include <csignal>
#include <functional>

#include <gtest/gtest.h>

#include "base/format.h"
#include "launch/control_scripted_run_test.h"

namespace espalier {
namespace {

using Message = ControlMessage;

TEST(ControlCoordinator, AKilledRankIsNamedWithItsStepAndTheWaiting) {
  ScriptedRun run(4);
  for (int i = 0; i < 4; ++i) run.beat(i, in_step(812, 40));
  run.now += 0.5;
  run.coordinator.ended(3, {true, SIGKILL}, in_step(812, 41), run.now);
  run.take();
  EXPECT_EQ(run.sent[0].size(), 2u) << "Welcome and Ask";
  for (int i = 0; i < 3; ++i) run.beat(i, waits_in(812, 42));
  run.pass(0.2);
  EXPECT_EQ(run.given_up, 0) << "it collects for 300 ms";
  run.pass(0.2);
  EXPECT_EQ(run.given_up, 1);
  EXPECT_EQ(
      run.text(),
      "rank 3 (pid 803) ended by signal 9 in step 812 before all-reduce 'gradients/2'; ranks 0-2 waited");
  EXPECT_EQ(run.coordinator.verdict()->rank, 3);
  for (int i = 0; i < 4; ++i) {
    const auto* given = std::get_if<Message::GivenUp>(&run.sent[i].back().is);
    ASSERT_TRUE(given) << i;
    EXPECT_EQ(given->verdict, *run.coordinator.verdict());
  }
  run.pass(20);
  EXPECT_EQ(run.given_up, 1);
}

TEST(ControlCoordinator, WhereItIsNotKnownWhatItDidLastItSaysSo) {
  ScriptedRun run(3);
  for (int i = 0; i < 3; ++i) run.beat(i, in_step(7, 14));
  run.coordinator.ended(1, {true, SIGSEGV}, std::nullopt, run.now);
  run.pass(0.4);
  EXPECT_EQ(run.text(), "rank 1 (pid 801) ended by signal 11, last seen in step 7");
  ScriptedRun other(3);
  for (int i = 0; i < 3; ++i) other.beat(i, in_step(7, 14));
  other.beat(0, waits_in(9, 20, "header"));
  other.coordinator.ended(1, {false, 3}, std::nullopt, other.now);
  other.pass(0.4);
  EXPECT_EQ(other.text(),
            "rank 1 (pid 801) ended with status 3 before all-reduce 'header' of step 9, last seen in step 7; "
            "rank 0 waited");
}

// Each is stronger than those behind it, and wins although it comes last.
TEST(ControlCoordinator, StrongerEvidenceWins) {
  const std::vector<std::function<void(ScriptedRun&, int)>> by_strength{
      [](ScriptedRun& run, int rank) {
        run.coordinator.ended(rank, {true, SIGKILL}, std::nullopt, run.now);
      },
      [](ScriptedRun& run, int rank) {
        run.say(rank, {Message::Failed{"bad", FailureCause::kOwn, in_step(1, 1)}});
      },
      [](ScriptedRun& run, int rank) {
        run.coordinator.ended(rank, {false, 1}, std::nullopt, run.now);
      },
      [](ScriptedRun& run, int rank) { run.coordinator.lost(rank, run.now); }};
  for (size_t weak = 1; weak < by_strength.size(); ++weak) {
    for (size_t strong = 0; strong < weak; ++strong) {
      for (const bool weak_first : {true, false}) {
        ScriptedRun run(3);
        by_strength[weak_first ? weak : strong](run, weak_first ? 0 : 1);
        run.pass(0.2, {{2, in_step(1, 1)}});
        by_strength[weak_first ? strong : weak](run, weak_first ? 1 : 0);
        run.pass(0.3);
        ASSERT_TRUE(run.coordinator.verdict());
        EXPECT_EQ(run.coordinator.verdict()->rank, 1) << strong << " against " << weak << ": " << run.text();
      }
    }
  }
}

TEST(ControlCoordinator, OfEqualEvidenceTheFirstCounts) {
  ScriptedRun run(3);
  run.say(2, {Message::Failed{"first", FailureCause::kOwn, in_step(9, 3)}});
  run.pass(0.1);
  run.say(0, {Message::Failed{"second", FailureCause::kOwn, in_step(9, 3)}});
  run.pass(0.3);
  EXPECT_EQ(run.text(), "rank 2 (pid 802) failed in step 9: first");
}

// What fails behind it, as its last lines do, is no reason.
TEST(ControlCoordinator, OfOneRankTheFirstFailureCounts) {
  ScriptedRun run(3);
  run.say(2, {Message::Failed{"first", FailureCause::kOwn, in_step(9, 3)}});
  run.say(2, {Message::Failed{"second", FailureCause::kOwn, in_step(10, 4)}});
  run.pass(0.4);
  EXPECT_EQ(run.text(), "rank 2 (pid 802) failed in step 9: first");
}

TEST(ControlCoordinator, RanksThatFailForOthersAreNeverTheCulprit) {
  ScriptedRun run(4);
  for (const int rank : {0, 1, 3}) {
    run.say(rank, {Message::Failed{"rank 2 is gone", FailureCause::kOthers, waits_in(5, 10)}});
    run.coordinator.ended(rank, rank ? ProcessEnd{false, 1} : ProcessEnd{true, SIGSEGV}, std::nullopt,
                          run.now);
  }
  run.pass(1, {{2, in_step(5, 9)}});
  EXPECT_EQ(run.text(), "none");
  run.coordinator.lost(2, run.now);
  run.pass(0.5);
  EXPECT_EQ(run.text(), "rank 2 (pid 802) lost its connection, last seen in step 5");
}

TEST(ControlCoordinator, WhereNobodyIsToBlameTheRunIsGivenUpAllTheSame) {
  ScriptedRun run(2);
  run.say(0, {Message::Failed{"somebody is gone", FailureCause::kOthers, waits_in(5, 10)}});
  run.pass(8, {{1, in_step(5, 9)}});
  EXPECT_EQ(run.text(), "somebody is gone");
  EXPECT_EQ(run.coordinator.verdict()->rank, -1);
}

TEST(ControlCoordinator, CollectivesThatDifferAreTheVerdictThatTheEngineFound) {
  ScriptedRun run(2);
  for (const int rank : {0, 1})
    run.say(rank, {Message::Failed{"rank 1 calls x where rank 0 calls y", FailureCause::kMismatch,
                                   waits_in(5, 10)}});
  run.pass(0.5);
  EXPECT_EQ(run.text(), "rank 1 calls x where rank 0 calls y");
  EXPECT_EQ(run.coordinator.verdict()->kind, VerdictKind::kMismatch);
}

TEST(ControlCoordinator, SilenceOfFiveSeconds) {
  ScriptedRun run(2);
  run.beat(1, in_step(60, 5));
  run.coordinator.stopped(1, true, run.now);
  run.pass(4.8, {{0, waits_in(60, 6)}});
  EXPECT_EQ(run.text(), "none");
  run.beat(1, in_step(60, 5));
  run.pass(4.8, {{0, waits_in(60, 6)}});
  EXPECT_EQ(run.text(), "none");
  run.pass(0.6, {{0, waits_in(60, 6)}});
  EXPECT_EQ(run.text(),
            "rank 1 (pid 801) has not been heard of for 5.3 s in step 60 before all-reduce 'gradients/2'; it "
            "is stopped; "
            "rank 0 waited");
}

TEST(ControlCoordinator, OneThatComesBackWhileItCollectsIsNotBlamed) {
  ScriptedRun run(2);
  run.pass(5.1, {{0, in_step(1, 1)}});
  run.beat(1, in_step(1, 1));
  run.pass(3, {{0, in_step(1, 1)}});
  EXPECT_EQ(run.text(), "none");
}

TEST(ControlCoordinator, ShowsThatItIsThereWhereItIsToldTo) {
  for (const double shows : {0.0, 1.0}) {
    ScriptedRun run(2, {.shows = shows});
    run.sent.clear();
    run.pass(4.05, {{0, in_step(1, 1)}, {1, in_step(1, 1)}});
    for (const int rank : {0, 1}) {
      if (shows > 0)
        EXPECT_GE(run.sent[rank].size(), 3u);
      else
        EXPECT_TRUE(run.sent[rank].empty());
      for (const ControlMessage& message : run.sent[rank])
        EXPECT_TRUE(message == ControlMessage{ControlMessage::Ask{}});
    }
  }
}

TEST(ControlCoordinator, ALateCoordinatorBlamesNobody) {
  ScriptedRun run(2);
  run.pass(1, {{0, in_step(1, 1)}, {1, in_step(1, 1)}});
  run.now += 400;
  run.pass(3);
  EXPECT_EQ(run.text(), "none") << "neither of silence nor of a stall";
  run.pass(3);
  EXPECT_NE(run.text(), "none") << "but what it then hears itself counts";
}

TEST(ControlCoordinator, AStallIsWarnedOfAndThenTheVerdict) {
  ScriptedRun run(3, {.stalled = 60});
  const std::map<int, StageReport> stuck{
      {0, waits_in(8, 20)}, {1, {Stage::kInput, 8, 18, ""}}, {2, waits_in(8, 20)}};
  run.pass(9, stuck);
  EXPECT_TRUE(run.warnings.empty());
  run.pass(2, stuck);
  ASSERT_EQ(run.warnings.size(), 1u);
  EXPECT_EQ(run.warnings[0],
            "rank 1 (pid 801) has been waiting for input in step 8 for 10 s; ranks 0, 2 wait");
  run.pass(45, stuck);
  EXPECT_EQ(run.warnings.size(), 3u) << "at 10, 20 and 40 s";
  EXPECT_EQ(run.text(), "none");
  run.pass(6, stuck);
  EXPECT_EQ(run.text(), "rank 1 (pid 801) has been waiting for input in step 8 for 60 s; ranks 0, 2 waited");
}

TEST(ControlCoordinator, AStallBeforeTheFirstStepOrAfterTheLastIsASentence) {
  for (const auto& [stage, sentence] : {std::pair{Stage::kStart, "has not begun its first step for 60 s"},
                                        {Stage::kEnd, "has finished step 8 and made no progress for 60 s"}}) {
    ScriptedRun run(2, {.stalled = 60});
    run.pass(61, {{0, waits_in(9, 20)}, {1, {stage, stage == Stage::kEnd ? 8 : 0, 18, ""}}});
    EXPECT_EQ(run.text(), cat("rank 1 (pid 801) ", sentence, "; rank 0 waited"));
  }
}

// A rank that is started late has as long to join as one of the beginning.
TEST(ControlCoordinator, TheTimeToJoinRunsFromTheStartOfTheRank) {
  ScriptedRun run(ScriptedRun::Unjoined(),
                  {.world = 2, .secret = kSecret, .id = "id", .limits = {.stalled = 60}});
  run.coordinator.started(0, 800, run.now);
  run.connect(0, join_of(0, 0, 2, 800));
  run.pass(50, {{0, waits_in(0, 0)}});
  run.coordinator.started(1, 801, run.now);
  run.pass(59, {{0, waits_in(0, 0)}});
  EXPECT_EQ(run.text(), "none");
  run.pass(2, {{0, waits_in(0, 0)}});
  EXPECT_NE(run.text().find("rank 1"), std::string::npos) << run.text();
}

TEST(ControlCoordinator, OneThatFailsBeforeItsFirstStepAndACollectiveSaysBoth) {
  ScriptedRun run(2);
  run.beat(0, waits_in(1, 1, "header"));
  run.coordinator.ended(1, {true, SIGKILL}, StageReport{Stage::kStart, 0, 0, ""}, run.now);
  run.pass(0.4);
  EXPECT_EQ(run.text(),
            "rank 1 (pid 801) ended by signal 9 before its first step and before all-reduce 'header'; rank 0 "
            "waited");
}

TEST(ControlCoordinator, SlowAndHealthyGetsNoVerdict) {
  ScriptedRun run(3, {.stalled = 20});
  for (int64_t step = 1; step < 8; ++step) {
    const auto at = static_cast<uint64_t>(step);
    run.pass(15, {{0, waits_in(step, at)}, {1, in_step(step, at - 1)}, {2, waits_in(step, at)}});
  }
  EXPECT_EQ(run.text(), "none");
}

// Each waits, and so nobody is the one.
TEST(ControlCoordinator, AllThatWaitForEachOther) {
  ScriptedRun run(2, {.stalled = 20});
  run.pass(22, {{0, waits_in(8, 20, "a")}, {1, waits_in(8, 20, "b")}});
  EXPECT_EQ(
      run.text(),
      "no rank goes on: rank 0 waits in step 8 in all-reduce 'a', rank 1 waits in step 8 in all-reduce 'b'");
  EXPECT_EQ(run.coordinator.verdict()->rank, -1);
}

TEST(ControlCoordinator, OneThatDoesNotJoinStalls) {
  ControlCoordinator coordinator({.world = 2, .secret = kSecret, .id = "id", .limits = {.stalled = 20}});
  for (int i = 0; i < 2; ++i) coordinator.started(i, 800 + i, 0);
  coordinator.connected(0, nonce_of(0), 0);
  coordinator.received(0, join_of(0, 0, 2, 800), 0);
  double now = 0;
  for (int i = 0; i < 205; ++i, now += 0.1) {
    if (i % 10 == 0) coordinator.received(0, {Message::Beat{waits_in(1, 1, "header")}}, now);
    coordinator.tick(now);
  }
  ASSERT_TRUE(coordinator.verdict());
  EXPECT_EQ(coordinator.verdict()->text, "rank 1 (pid 801) has not joined in 20 s; rank 0 waited");
}

TEST(ControlCoordinator, OneThatLeavesEarlyIsMissed) {
  ScriptedRun run(3);
  for (int i = 0; i < 3; ++i) run.beat(i, in_step(7, 14));
  run.say(1, {Message::Left{{Stage::kEnd, 7, 14, ""}}});
  run.coordinator.lost(1, run.now);
  run.coordinator.ended(1, {}, std::nullopt, run.now);
  run.pass(3, {{0, in_step(7, 14)}, {2, in_step(7, 14)}});
  EXPECT_EQ(run.text(), "none") << "they may be at their end too";
  run.beat(0, waits_in(8, 15));
  run.beat(2, in_step(8, 14));
  run.pass(0.4);
  EXPECT_EQ(run.text(), "rank 1 (pid 801) left the run after step 7 while ranks 0, 2 are in step 8");
}

TEST(ControlCoordinator, OneThatLeavesEarlyAndFailsIsNamedWithItsStatus) {
  ScriptedRun run(3);
  for (int i = 0; i < 3; ++i) run.beat(i, in_step(7, 14));
  run.say(1, {Message::Left{{Stage::kEnd, 7, 14, ""}}});
  run.coordinator.lost(1, run.now);
  run.coordinator.ended(1, {false, 5}, std::nullopt, run.now);
  run.beat(0, waits_in(8, 15));
  run.beat(2, in_step(8, 14));
  run.pass(0.4);
  EXPECT_EQ(
      run.text(),
      "rank 1 (pid 801) left the run and ended with status 5 after step 7 while ranks 0, 2 are in step 8");
}

TEST(ControlCoordinator, ThoseThatLeaveOneAfterTheOtherAreHealthy) {
  ScriptedRun run(3);
  for (int i = 0; i < 3; ++i) {
    run.say(i, {Message::Left{{Stage::kEnd, 7, 14, ""}}});
    run.coordinator.lost(i, run.now);
    std::map<int, StageReport> others;
    for (int j = i + 1; j < 3; ++j) others[j] = {Stage::kSave, 7, 14, ""};
    run.pass(8, others);
    run.coordinator.ended(i, {false, i == 1 ? 139 : 0}, std::nullopt, run.now);
  }
  EXPECT_EQ(run.text(), "none");
}

TEST(ControlCoordinator, StatusZeroWithoutAWordIsMissedWhenAllWait) {
  ScriptedRun run(3);
  for (int i = 0; i < 3; ++i) run.beat(i, in_step(7, 14));
  run.coordinator.lost(2, run.now);
  run.coordinator.ended(2, {}, std::nullopt, run.now);
  run.pass(10, {{0, waits_in(9, 18)}, {1, in_step(9, 17)}});
  EXPECT_EQ(run.text(), "none") << "rank 1 may be slow";
  run.pass(1.6, {{0, waits_in(9, 18)}, {1, waits_in(9, 18)}});
  EXPECT_EQ(run.text(), "none") << "it may just have come";
  run.pass(1.2, {{0, waits_in(9, 18)}, {1, waits_in(9, 18)}});
  EXPECT_EQ(run.text(),
            "rank 2 (pid 802) ended with status 0, last seen in step 7, while ranks 0, 1 are in step 9");
}

// What the engine counts does not have comparisons of facts, which are collectives of reports.
TEST(ControlCoordinator, StatusZeroAtTheEndIsHealthy) {
  ScriptedRun run(2);
  for (int times = 0; times < 2; ++times) {
    for (const int rank : {0, 1}) run.say(rank, {Message::Facts{{{"seed", "7"}}}});
  }
  run.coordinator.ended(1, {}, StageReport{Stage::kEnd, 7, 14, ""}, run.now);
  run.pass(4, {{0, {Stage::kSave, 7, 16, ""}}});
  EXPECT_EQ(run.text(), "none");
  run.pass(1, {{0, waits_in(8, 17)}});
  EXPECT_EQ(run.text(), "rank 1 (pid 801) ended with status 0 after step 7 while rank 0 is in step 8");
}

TEST(ControlCoordinator, OneThatEndsBeforeItJoinsIsMissed) {
  ControlCoordinator coordinator({.world = 2, .secret = kSecret, .id = "id"});
  for (int i = 0; i < 2; ++i) coordinator.started(i, 800 + i, 0);
  coordinator.connected(0, nonce_of(0), 0);
  coordinator.received(0, join_of(0, 0, 2, 800), 0);
  coordinator.ended(1, {}, std::nullopt, 0);
  double now = 0;
  const auto pass = [&](double until, const StageReport& at) {
    for (; now < until; now += 0.1) {
      coordinator.received(0, {Message::Beat{at}}, now);
      coordinator.tick(now);
    }
  };
  pass(20, {Stage::kStart, 0, 0, ""});
  EXPECT_FALSE(coordinator.verdict());
  pass(20.5, waits_in(1, 1, "header"));
  ASSERT_TRUE(coordinator.verdict());
  EXPECT_EQ(coordinator.verdict()->text,
            "rank 1 (pid 801) ended with status 0 before its first step while rank 0 is in step 1");
}

TEST(ControlCoordinator, ARankThatDiesWhileItWaitsIsNotBeforeIt) {
  ScriptedRun run(3);
  run.coordinator.ended(2, {true, SIGKILL}, waits_in(5, 10), run.now);
  run.beat(0, waits_in(5, 10));
  run.pass(0.4);
  EXPECT_EQ(run.text(),
            "rank 2 (pid 802) ended by signal 9 in step 5 in all-reduce 'gradients/2'; rank 0 waited");
}

}  // namespace
}  // namespace espalier
