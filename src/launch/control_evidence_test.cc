// Of what kind the evidence against a rank is, and from when on it counts.
#include <csignal>

#include <gtest/gtest.h>

#include "launch/control_coordinator.h"
#include "launch/control_scripted_run_test.h"

namespace espalier {
namespace {

std::string kind_of(const ScriptedRun& run) {
  const auto& verdict = run.coordinator.verdict();
  return verdict ? cat(name(verdict->kind), " ", verdict->rank) : "none";
}

// A process may die of these because another rank did.
TEST(ControlEvidence, OfEndsBySignalAndStatus) {
  for (const int number : {SIGKILL, SIGSEGV, SIGBUS, SIGINT, SIGHUP, SIGABRT, SIGTERM, SIGPIPE}) {
    ScriptedRun run(2);
    run.coordinator.ended(1, {true, number}, std::nullopt, run.now);
    run.pass(0.4, {{0, in_step(1, 1)}});
    const bool follows = number == SIGABRT || number == SIGTERM || number == SIGPIPE;
    EXPECT_EQ(kind_of(run), follows ? "ended 1" : "killed 1") << number;
  }
  for (const int status : {1, 2, 41, 43, 139}) {
    ScriptedRun run(2);
    run.coordinator.ended(1, {false, status}, std::nullopt, run.now);
    run.pass(0.4, {{0, in_step(1, 1)}});
    EXPECT_EQ(kind_of(run), "ended 1") << status;
  }
  for (const int status : {0, kPreemptedStatus}) {
    ScriptedRun run(2);
    run.coordinator.ended(1, {false, status}, std::nullopt, run.now);
    run.pass(10, {{0, in_step(1, 1)}});
    EXPECT_EQ(kind_of(run), "none") << status;
  }
}

TEST(ControlEvidence, OfWhatRanksSayAndDoNotSay) {
  const auto said = [](FailureCause cause) {
    ScriptedRun run(2);
    run.say(1, {ControlMessage::Failed{"why", cause, in_step(3, 1)}});
    run.pass(0.4, {{0, in_step(3, 1)}});
    return kind_of(run);
  };
  EXPECT_EQ(said(FailureCause::kOwn), "thrown 1");
  EXPECT_EQ(said(FailureCause::kMeeting), "thrown 1");
  EXPECT_EQ(said(FailureCause::kMismatch), "mismatch -1");
  EXPECT_EQ(said(FailureCause::kOthers), "none");
  ScriptedRun lost(3);
  lost.coordinator.lost(2, lost.now);
  lost.pass(0.4, {{0, in_step(1, 1)}, {1, in_step(1, 1)}});
  EXPECT_EQ(kind_of(lost), "lost 2");
  ScriptedRun silent(3);
  silent.pass(5.5, {{0, in_step(1, 1)}, {2, in_step(1, 1)}});
  EXPECT_EQ(kind_of(silent), "silent 1");
  EXPECT_EQ(silent.text(),
            "rank 1 (pid 801) has not been heard of for 5.3 s, last seen before its first step");
}

// With a number of its own each, and whoever waits is named as one or as several.
TEST(ControlEvidence, WarningsNameAllWhoStall) {
  ScriptedRun run(3, {.stalled = 60});
  run.pass(10.5, {{0, in_step(8, 20)}, {1, {Stage::kInput, 8, 18, ""}}, {2, waits_in(8, 21)}});
  ASSERT_EQ(run.warnings.size(), 1u);
  EXPECT_EQ(run.warnings[0],
            "rank 0 (pid 800) has been in step 8 for 10 s; rank 1 (pid 801) has been waiting for input in "
            "step 8 for 10 s; rank 2 waits");
  ScriptedRun none_waits(1, {.stalled = 60});
  none_waits.pass(10.5, {{0, {Stage::kSave, 8, 20, ""}}});
  ASSERT_EQ(none_waits.warnings.size(), 1u);
  EXPECT_EQ(none_waits.warnings[0], "rank 0 (pid 800) has been in the save of step 8 for 10 s");
  // Who goes on in between has as long again.
  ScriptedRun goes_on(2, {.stalled = 60});
  goes_on.pass(9.5, {{0, in_step(1, 1)}, {1, in_step(1, 1)}});
  goes_on.pass(9.5, {{0, in_step(2, 2)}, {1, in_step(2, 2)}});
  EXPECT_TRUE(goes_on.warnings.empty());
}

TEST(ControlEvidence, WhoIsThere) {
  ScriptedRun run(3, ScriptedRun::Unjoined());
  EXPECT_EQ(run.coordinator.joined(), 0);
  EXPECT_FALSE(run.coordinator.report_of(1));
  run.connect(5, join_of(5, 1, 3, 77));
  run.take();
  EXPECT_EQ(run.coordinator.joined(), 1);
  EXPECT_EQ(run.coordinator.report_of(1), StageReport());
  run.beat(5, in_step(4, 2));
  EXPECT_EQ(run.coordinator.report_of(1), in_step(4, 2));
  EXPECT_FALSE(run.coordinator.report_of(0));
  run.say(5, {ControlMessage::Failed{"bad", FailureCause::kOwn, in_step(4, 2)}});
  run.pass(0.4);
  EXPECT_EQ(run.text(), "rank 1 (pid 77) failed in step 4: bad") << "by its own word where nobody started it";
}

// What only the coordinator says cuts a rank off, and with a warning.
TEST(ControlEvidence, WhoSaysWhatTheCoordinatorSaysIsCutOff) {
  for (const ControlMessage& message :
       {ControlMessage{ControlMessage::Welcome{}}, ControlMessage{ControlMessage::Ask{}},
        ControlMessage{ControlMessage::Agreed{}}, ControlMessage{ControlMessage::Value{"a", "b"}}}) {
    ScriptedRun run(2);
    run.say(1, message);
    run.take();
    EXPECT_EQ(run.closed, std::vector<int>{1});
    EXPECT_EQ(run.warnings, std::vector<std::string>{"rank 1 is cut off: it says what the coordinator says"});
    run.pass(0.4, {{0, in_step(1, 1)}});
    EXPECT_EQ(kind_of(run), "lost 1");
  }
}

// Its process ends after its strategy, by what main() returns.
TEST(ControlEvidence, TheStatusOfOneThatLeavesIsWaitedFor) {
  for (const bool ends : {true, false}) {
    ScriptedRun run(3);
    for (int i = 0; i < 3; ++i) run.beat(i, in_call(7, 14));
    run.say(1, {ControlMessage::Left{{Stage::kCallback, 7, 14, "", "step"}}});
    for (const int rank : {0, 2}) run.beat(rank, in_call(8, 15));
    run.pass(0.5);
    EXPECT_EQ(run.text(), "none");
    if (ends) run.coordinator.ended(1, {false, 5}, std::nullopt, run.now);
    run.pass(ends ? 0.2 : 0.6);
    EXPECT_EQ(run.text(), cat("rank 1 (pid 801) left the run", ends ? " and ended with status 5" : "",
                              " behind call 7 of \"step\" while ranks 0, 2 are at call 8 of \"step\""));
  }
}

// In a loop of one's own.
TEST(ControlEvidence, WhereCallsAreCountedSentencesNameTheFunction) {
  ScriptedRun run(3);
  for (int i = 0; i < 3; ++i) run.beat(i, in_call(7, 14));
  StageReport waits = waits_in(8, 20, "call");
  waits.function = "step";
  run.coordinator.ended(1, {true, SIGKILL}, in_call(8, 19), run.now);
  for (const int rank : {0, 2}) run.beat(rank, waits);
  run.pass(0.4);
  EXPECT_EQ(
      run.text(),
      "rank 1 (pid 801) ended by signal 9 in call 8 of \"step\" before all-reduce 'call'; ranks 0, 2 waited");
  ScriptedRun unknown(3);
  for (int i = 0; i < 3; ++i) unknown.beat(i, in_call(7, 14));
  unknown.coordinator.ended(1, {true, SIGKILL}, std::nullopt, unknown.now);
  for (const int rank : {0, 2}) unknown.beat(rank, waits);
  unknown.pass(0.4);
  EXPECT_EQ(unknown.text(),
            "rank 1 (pid 801) ended by signal 9 before all-reduce 'call' of call 8 of \"step\", last seen in "
            "call 7 "
            "of \"step\"; ranks 0, 2 waited");
}

}  // namespace
}  // namespace espalier
