// Who may be in a run, and what its ranks say to each other.
#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>

#include "base/format.h"
#include "launch/control_coordinator.h"
#include "launch/control_scripted_run_test.h"

namespace espalier {
namespace {

using Message = ControlMessage;

TEST(ControlJoining, FactsThatDifferAreNamedBeforeTheFirstStep) {
  ScriptedRun run(3);
  run.say(0, {Message::Facts{{{"seed", "7"}, {"plan", "aa"}}}});
  run.say(2, {Message::Facts{{{"seed", "8"}, {"plan", "aa"}}}});
  run.pass(1, {{0, in_step(0, 0)}, {1, in_step(0, 0)}, {2, in_step(0, 0)}});
  EXPECT_EQ(run.text(), "none") << "the third may say who is the odd one";
  run.say(1, {Message::Facts{{{"seed", "7"}, {"plan", "aa"}}}});
  run.pass(0.4);
  EXPECT_EQ(run.text(), "ranks do not run the same: seed is 7 on ranks 0, 1 and 8 on rank 2");
  EXPECT_EQ(run.coordinator.verdict()->rank, 2);
}

TEST(ControlJoining, EqualFactsAreAgreedOn) {
  ScriptedRun run(2);
  run.say(0, {Message::Facts{{{"seed", "7"}}}});
  run.take();
  EXPECT_EQ(run.sent[0].size(), 1u);
  run.say(1, {Message::Facts{{{"seed", "7"}}}});
  run.take();
  for (const int rank : {0, 1}) EXPECT_TRUE(run.sent[rank].back() == Message{Message::Agreed{}});
}

TEST(ControlJoining, FactsAreComparedAgainOnceTheyWereEqual) {
  ScriptedRun run(3);
  const auto say_all = [&](const char* of_last) {
    for (const int rank : {0, 1, 2})
      run.say(rank, {Message::Facts{{{"learning rate", rank == 2 ? of_last : "0.1"}}}});
    run.take();
  };
  for (const size_t times : {1u, 2u}) {
    say_all("0.1");
    for (const int rank : {0, 1, 2})
      EXPECT_EQ(std::ranges::count(run.sent[rank], Message{Message::Agreed{}}), times);
    run.pass(1, {{0, in_step(5, 9)}, {1, in_step(5, 9)}, {2, in_step(5, 9)}});
    EXPECT_EQ(run.text(), "none");
  }
  say_all("0.2");
  run.pass(0.4);
  EXPECT_EQ(run.text(), "ranks do not run the same: learning rate is 0.1 on ranks 0, 1 and 0.2 on rank 2");
  EXPECT_EQ(run.coordinator.verdict()->rank, 2);
  for (const int rank : {0, 1, 2})
    EXPECT_EQ(std::ranges::count(run.sent[rank], Message{Message::Agreed{}}), 2);
}

// A rank that compares, and others in another collective, wait for each other.
TEST(ControlJoining, ARankThatComparesAloneIsNamed) {
  ScriptedRun run(3);
  const StageReport compares{Stage::kCollective, 4, 9, kComparison};
  run.say(1, {Message::Facts{{{"seed", "7"}}}});
  run.pass(1.9, {{0, waits_in(4, 9, "header")}, {1, compares}, {2, waits_in(4, 9, "header")}});
  EXPECT_EQ(run.text(), "none") << "they may just have come";
  run.pass(0.6, {{0, waits_in(4, 9, "header")}, {1, compares}, {2, waits_in(4, 9, "header")}});
  EXPECT_EQ(run.text(),
            "ranks do not run the same: ranks 0, 2 wait in all-reduce 'header' of step 4 and rank 1 waits in "
            "the comparison of what ranks run");
  EXPECT_EQ(run.coordinator.verdict()->rank, 1);
  // Of ranks that are still behind, nothing is known.
  ScriptedRun slow(3);
  slow.say(1, {Message::Facts{{{"seed", "7"}}}});
  slow.pass(20, {{0, waits_in(4, 8)}, {1, compares}, {2, in_step(4, 8)}});
  EXPECT_EQ(slow.text(), "none");
}

// Values that differ only far behind their begin.
TEST(ControlJoining, LongFactsThatDifferAreNamed) {
  ScriptedRun run(2);
  const std::string begin(200, 'x');
  for (const int rank : {0, 1}) run.say(rank, {Message::Facts{{{"files", cat(begin, rank)}}}});
  run.pass(0.4);
  const std::string shown(100, 'x');
  EXPECT_EQ(run.text(),
            cat("ranks do not run the same: files is ", shown, " on rank 0 and ", shown, " on rank 1"));
}

TEST(ControlJoining, StrangersAreRefusedAndNamed) {
  ScriptedRun run(2);
  const auto refused = [&](int link, const Message& message) {
    run.connect(link, message);
    run.take();
    EXPECT_EQ(run.closed.back(), link);
    return std::get<Message::Refused>(run.sent[link].back().is).why;
  };
  int link = 100;
  for (const char* secret : {"", "s3cres", "s3cret!", "S3cret", "s3cret\n"}) {
    ++link;
    EXPECT_EQ(refused(link, join_of(link, 1, 2, 1, secret)), "it does not know the secret of the run");
  }
  EXPECT_EQ(refused(200, {Message::Beat{}}), "its first message does not say who it is");
  EXPECT_EQ(refused(201, join_of(201, 1, 3, 1)), "it says that it is rank 1 of 3, and the run has 2");
  EXPECT_EQ(refused(202, join_of(202, 2, 2, 1)), "it says that it is rank 2 of 2, and the run has 2");
  EXPECT_EQ(refused(203, join_of(203, 1, 2, 1)), "rank 1 has joined before");
  run.connect(204);
  run.coordinator.bad_message(204, "no frame", run.now);
  run.connect(205);
  run.pass(5.2, {{0, in_step(1, 1)}, {1, in_step(1, 1)}});
  EXPECT_EQ(run.closed.size(), 11u);
  EXPECT_EQ(run.closed.back(), 205);
  EXPECT_EQ(run.warnings.size(), 5u) << "and no more of them";
  EXPECT_EQ(run.warnings[0], "a stranger was refused: it does not know the secret of the run");
  EXPECT_EQ(run.text(), "none");
}

// A proof is of one connection and of what it was given for.
TEST(ControlJoining, ARecordedJoinIsWorthNothing) {
  ScriptedRun run(3, ScriptedRun::Unjoined());
  const auto outcome = [&](int link, const Message& message) {
    run.connect(link, message);
    run.take();
    const auto* refused = std::get_if<Message::Refused>(&run.sent[link].back().is);
    return refused ? refused->why : "welcome";
  };
  const Message recorded = join_of(7, 1, 3, 800);
  EXPECT_EQ(outcome(8, recorded), "it does not know the secret of the run");
  Message changed = join_of(9, 0, 3, 800);
  std::get<Message::Join>(changed.is).rank = 1;
  EXPECT_EQ(outcome(9, changed), "it does not know the secret of the run");
  EXPECT_EQ(outcome(10, {Message::Join{kSecret, 1, 3, 800}}), "it does not know the secret of the run");
  EXPECT_EQ(outcome(11, {proved(Message::HostJoin{{}, 1, "", 3, 800}, kSecret, nonce_of(11))}),
            "it says that it is a host which the run has not");
  // The rank itself joins in spite of them.
  EXPECT_EQ(outcome(7, recorded), "welcome");
  EXPECT_EQ(run.text(), "none");
}

TEST(ControlJoining, NoTwoConnectionsGetOneNonce) {
  const std::string one = random_nonce(), other = random_nonce();
  EXPECT_EQ(one.size(), kNonceBytes);
  EXPECT_NE(one, other);
  EXPECT_NE(one.substr(0, 8), one.substr(8, 8));
}

TEST(ControlJoining, ManyStrangersAreFewLines) {
  ScriptedRun run(1);
  for (int link = 100; link < 700; ++link) run.connect(link);
  run.pass(5.2, {{0, in_step(1, 1)}});
  EXPECT_EQ(run.closed.size(), 600u);
  ASSERT_EQ(run.warnings.size(), 7u);
  EXPECT_EQ(run.warnings[4], "a stranger was refused: it does not say who it is");
  EXPECT_EQ(run.warnings[5], "50 strangers have been refused; the last: it does not say who it is");
  EXPECT_EQ(run.warnings[6], "500 strangers have been refused; the last: it does not say who it is");
  EXPECT_EQ(run.text(), "none");
}

TEST(ControlJoining, ASignalIsPassedOnOnce) {
  ScriptedRun run(3);
  for (const int rank : {1, 0, 1}) run.say(rank, {Message::Preempted{SIGTERM}});
  run.take();
  EXPECT_EQ(run.preempted, std::vector<std::string>{cat("1:", SIGTERM)});
  for (const int rank : {0, 1, 2}) EXPECT_TRUE(run.sent[rank].back() == Message{Message::Preempted{SIGTERM}});
}

TEST(ControlJoining, WhatARankLeavesIsThereForAll) {
  ScriptedRun run(3);
  run.say(1, {Message::Get{"a"}});
  run.say(2, {Message::Get{"a"}});
  run.say(2, {Message::Get{"a"}});
  run.take();
  EXPECT_EQ(run.sent[1].size(), 1u) << "it waits";
  run.say(0, {Message::Put{"b", "1"}});
  run.say(0, {Message::Put{"a", "2"}});
  run.say(1, {Message::Put{"a", "3"}});
  run.say(0, {Message::Get{"a"}});
  run.take();
  for (const int rank : {0, 1, 2}) {
    EXPECT_EQ(run.sent[rank].size(), 2u) << rank;
    EXPECT_TRUE(run.sent[rank].back() == (Message{Message::Value{"a", "2"}})) << rank;
  }
}

TEST(ControlJoining, OneThatLeavesValuesWithoutEndIsCutOff) {
  ScriptedRun run(2);
  const std::string value(kLongestValue, 'x');
  for (size_t i = 0; i < (size_t{64} << 20) / kLongestValue - 1; ++i)
    run.say(0, {Message::Put{cat("key", i), value}});
  run.take();
  EXPECT_TRUE(run.closed.empty());
  run.say(0, {Message::Put{"one", value}});
  run.say(0, {Message::Put{"more", value}});
  run.take();
  EXPECT_EQ(run.closed, std::vector<int>{0});
  EXPECT_EQ(run.warnings.at(0),
            "rank 0 is cut off: ranks leave at most 67108864 bytes of keys and values for each other");
}

// Programs that know nothing of each other are no run.
TEST(ControlJoining, WithoutAnyWhoJoinedThereIsNoVerdict) {
  ControlCoordinator coordinator({.world = 2, .secret = kSecret, .id = "id"});
  coordinator.started(0, 1, 0);
  coordinator.ended(0, {true, SIGKILL}, std::nullopt, 1);
  for (double now = 1; now < 400; now += 0.1) coordinator.tick(now);
  EXPECT_FALSE(coordinator.verdict());
}

// By what its engine says of it: its collectives do not wait until the coordinator has read who it is.
TEST(ControlJoining, WhoIsSeenByItsEngineHasJoined) {
  for (const bool other_joins : {false, true}) {
    ScriptedRun run(2, ScriptedRun::Unjoined());
    for (const int rank : {0, 1}) run.coordinator.started(rank, 800 + rank, run.now);
    run.coordinator.ended(1, {false, 6}, in_call(4, 12), run.now);
    EXPECT_EQ(run.coordinator.joined(), 1);
    // Its own word comes late, and is that of no stranger.
    run.connect(1, join_of(1, 1, 2, 801));
    StageReport waits = waits_in(5, 13, "call");
    waits.function = "step";
    if (other_joins) {
      run.connect(0, join_of(0, 0, 2, 800));
      run.beat(0, waits);
    }
    run.pass(0.4);
    EXPECT_EQ(run.text(), cat("rank 1 (pid 801) ended with status 6 in call 4 of \"step\"",
                              other_joins ? " before all-reduce 'call'; rank 0 waited" : ""));
    EXPECT_TRUE(run.warnings.empty());
  }
}

TEST(ControlJoining, WhoComesLateIsTold) {
  ControlCoordinator coordinator({.world = 2, .secret = kSecret, .id = "id"});
  coordinator.connected(0, nonce_of(0), 0);
  coordinator.received(0, join_of(0, 0, 2, 1), 0);
  coordinator.ended(0, {true, SIGKILL}, std::nullopt, 1);
  for (double now = 1; now < 2; now += 0.1) coordinator.tick(now);
  ASSERT_TRUE(coordinator.verdict());
  coordinator.take();
  coordinator.connected(1, nonce_of(1), 2);
  coordinator.received(1, join_of(1, 1, 2, 2), 2);
  const auto actions = coordinator.take();
  ASSERT_EQ(actions.size(), 3u);  // the challenge, the welcome
  EXPECT_TRUE(std::get<ControlAction::Send>(actions[2].is).message ==
              Message{Message::GivenUp{*coordinator.verdict()}});
}

}  // namespace
}  // namespace espalier
