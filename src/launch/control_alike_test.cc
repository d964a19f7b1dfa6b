// Ranks that all refuse the same before any step: no rank is to blame.
#include <csignal>
#include <functional>

#include <gtest/gtest.h>

#include "launch/control_scripted_run_test.h"

namespace espalier {
namespace {

ControlMessage refusal(const std::string& text, const StageReport& at = {}) {
  return {ControlMessage::Failed{text, FailureCause::kOwn, at}};
}

TEST(ControlAlike, OneVerdictOfAllWhereTheyFailApartInTime) {
  ScriptedRun run(3);
  run.say(1, refusal("line 7 has 2 cells"));
  run.pass(0.8, {{0, {}}, {2, {}}});
  EXPECT_EQ(run.given_up, 0) << run.text();
  run.say(0, refusal("line 7 has 2 cells"));
  run.pass(0.8, {{2, {}}});
  EXPECT_EQ(run.given_up, 0) << run.text();
  run.say(2, refusal("line 7 has 2 cells"));
  run.pass(0.2);
  EXPECT_EQ(run.given_up, 1);
  EXPECT_EQ(run.text(), "all ranks failed alike: line 7 has 2 cells");
  EXPECT_EQ(run.coordinator.verdict()->kind, VerdictKind::kAlike);
}

TEST(ControlAlike, OfOneRankTheSentenceIsItsOwn) {
  ScriptedRun run(1);
  run.say(0, refusal("line 7 has 2 cells"));
  run.pass(0.4);
  EXPECT_EQ(run.text(), "rank 0 (pid 800) failed before its first step: line 7 has 2 cells");
  EXPECT_EQ(run.coordinator.verdict()->kind, VerdictKind::kAlike);
}

TEST(ControlAlike, NotWhereOneGoesOn) {
  ScriptedRun run(2);
  run.say(0, refusal("there is no file a.csv"));
  run.pass(1.5, {{1, {}}});
  EXPECT_EQ(run.given_up, 0) << "rank 1 may find out the same";
  run.pass(1, {{1, {}}});
  EXPECT_EQ(run.coordinator.verdict()->kind, VerdictKind::kThrown);
  EXPECT_EQ(run.coordinator.verdict()->rank, 0);
}

// Who cannot meet has refused no input.
TEST(ControlAlike, NotWhereRanksDoNotFindEachOther) {
  ScriptedRun run(2);
  for (const int rank : {0, 1})
    run.say(rank, {ControlMessage::Failed{"connection refused", FailureCause::kMeeting, {}}});
  run.pass(0.4);
  EXPECT_EQ(run.coordinator.verdict()->kind, VerdictKind::kThrown);
  EXPECT_EQ(run.coordinator.verdict()->rank, 0);
}

// Each of these is decided as soon as evidence is collected.
TEST(ControlAlike, NotWhereTheyDiffer) {
  const auto kind_of = [](const std::function<void(ScriptedRun&)>& second) {
    ScriptedRun run(2);
    run.say(0, refusal("there is no file a.csv"));
    second(run);
    run.pass(0.4);
    return run.coordinator.verdict() ? std::string(name(run.coordinator.verdict()->kind)) : "none";
  };
  EXPECT_EQ(kind_of([](ScriptedRun& run) { run.say(1, refusal("there is no file a.csv")); }), "alike");
  EXPECT_EQ(kind_of([](ScriptedRun& run) { run.say(1, refusal("there is no file b.csv")); }), "thrown");
  EXPECT_EQ(kind_of([](ScriptedRun& run) { run.say(1, refusal("there is no file a.csv", in_step(1, 0))); }),
            "thrown");
  EXPECT_EQ(kind_of([](ScriptedRun& run) { run.beat(1, waits_in(0, 1, "header")); }), "thrown");
  EXPECT_EQ(kind_of([](ScriptedRun& run) { run.beat(1, {Stage::kInput, 1, 0, {}}); }), "thrown");
  EXPECT_EQ(kind_of([](ScriptedRun& run) { run.coordinator.stopped(1, true, run.now); }), "thrown");
  EXPECT_EQ(kind_of([](ScriptedRun& run) {
              run.coordinator.ended(1, {true, SIGKILL}, std::nullopt, run.now);
            }),
            "killed");
  EXPECT_EQ(kind_of([](ScriptedRun& run) {
              run.say(1, {ControlMessage::Failed{"there is no file a.csv", FailureCause::kOthers, {}}});
            }),
            "thrown");
}

}  // namespace
}  // namespace espalier
