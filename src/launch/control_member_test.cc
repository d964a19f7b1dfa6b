#include "launch/control_member.h"

#include <csignal>
#include <utility>

#include <gtest/gtest.h>

#include "launch/control_proof.h"

namespace espalier {
namespace {

using Message = ControlMessage;

const StageReport kInStep{Stage::kStep, 3, 6, "all-reduce 'a'"};

const std::string kNonce(kNonceBytes, 'n');

std::vector<Message> only(Message message) { return {std::move(message)}; }

// A member that has been welcomed.
ControlMember welcomed() {
  ControlMember out({2, 4, 77, "secret"});
  out.connected(10);
  out.received({Message::Challenge{kNonce}}, kInStep);
  out.received({Message::Welcome{}}, kInStep);
  out.take();
  return out;
}

TEST(ControlMember, SaysWhoItIsFirst) {
  ControlMember member({2, 4, 77, "secret"});
  member.tick(9, kInStep);
  EXPECT_TRUE(member.take().empty()) << "nobody is there";
  member.connected(10);
  member.tick(10, kInStep);
  member.put("a", "1");
  EXPECT_TRUE(member.take().empty()) << "the coordinator has not asked";
  EXPECT_TRUE(member.has_to_say());
  member.received({Message::Challenge{kNonce}}, kInStep);
  member.tick(11, kInStep);
  const auto out = member.take();
  ASSERT_EQ(out.size(), 3u);
  const auto* join = std::get_if<Message::Join>(&out[0].is);
  ASSERT_NE(join, nullptr);
  EXPECT_EQ(join->rank, 2);
  EXPECT_EQ(join->world, 4);
  EXPECT_EQ(join->pid, 77);
  EXPECT_TRUE(is_proved(*join, "secret", kNonce));
  EXPECT_FALSE(is_proved(*join, "secres", kNonce));
  EXPECT_TRUE(out[1] == (Message{Message::Put{"a", "1"}}));
  EXPECT_TRUE(out[2] == Message{Message::Beat{kInStep}});
  EXPECT_FALSE(member.has_to_say());
}

TEST(ControlMember, AnswersOnce) {
  ControlMember member = welcomed();
  member.received({Message::Challenge{std::string(kNonceBytes, 'm')}}, kInStep);
  EXPECT_TRUE(member.take().empty());
}

TEST(ControlMember, BeatsEachSecondAndWhenAsked) {
  ControlMember member = welcomed();
  int beats = 0;
  for (double now = 10; now < 20; now += 0.25) {
    member.tick(now, kInStep);
    beats += static_cast<int>(member.take().size());
  }
  EXPECT_EQ(beats, 10);
  member.received({Message::Ask{}}, kInStep);
  EXPECT_TRUE(member.take() == only({Message::Beat{kInStep}}));
}

TEST(ControlMember, AsksForAKeyOnceAndKeepsItsValue) {
  ControlMember member = welcomed();
  member.put("a", "1");
  EXPECT_TRUE(member.take() == only({Message::Put{"a", "1"}}));
  EXPECT_EQ(member.value("a"), nullptr);
  member.want("b");
  member.want("b");
  EXPECT_TRUE(member.take() == only({Message::Get{"b"}}));
  EXPECT_EQ(member.value("b"), nullptr);
  member.received({Message::Value{"b", ""}}, kInStep);
  member.received({Message::Value{"c", "nobody asked"}}, kInStep);
  member.want("b");
  EXPECT_TRUE(member.take().empty());
  ASSERT_NE(member.value("b"), nullptr);
  EXPECT_EQ(*member.value("b"), "");
  EXPECT_EQ(member.value("c"), nullptr);
}

TEST(ControlMember, AComparisonOfFactsIsACollective) {
  ControlMember member = welcomed();
  member.describe({{"a", "1"}});
  EXPECT_TRUE(member.take() == only({Message::Facts{{{"a", "1"}}}}));
  member.tick(11, {Stage::kStart, 0, 0, ""});
  const StageReport waits{Stage::kCollective, 0, 1, "the comparison of what ranks run"};
  EXPECT_TRUE(member.take() == only({Message::Beat{waits}}));
  EXPECT_FALSE(member.agreed());
  member.received({Message::Agreed{}}, kInStep);
  EXPECT_TRUE(member.agreed());
  member.tick(12, kInStep);
  EXPECT_TRUE(member.take() == only({Message::Beat{{Stage::kStep, 3, 7, "all-reduce 'a'"}}}));
  // And again, of another run of fit.
  member.describe({{"a", "2"}});
  EXPECT_TRUE(member.take() == only({Message::Facts{{{"a", "2"}}}}));
  EXPECT_FALSE(member.agreed());
  member.tick(13, kInStep);
  EXPECT_TRUE(member.take() ==
              only({Message::Beat{{Stage::kCollective, 3, 8, "the comparison of what ranks run"}}}));
  member.received({Message::Agreed{}}, kInStep);
  EXPECT_TRUE(member.agreed());
  member.tick(14, kInStep);
  EXPECT_TRUE(member.take() == only({Message::Beat{{Stage::kStep, 3, 8, "all-reduce 'a'"}}}));
}

TEST(ControlMember, TheFirstEndCountsAndIsTheLastWord) {
  for (const bool leaves : {true, false}) {
    ControlMember member = welcomed();
    if (leaves) {
      member.left(kInStep);
      member.failed("too late", FailureCause::kOwn, kInStep);
    } else {
      member.failed("bad", FailureCause::kMismatch, kInStep);
      member.left(kInStep);
    }
    member.tick(50, kInStep);
    member.received({Message::Ask{}}, kInStep);
    member.preempted(SIGTERM);
    const Message wanted = leaves ? Message{Message::Left{kInStep}}
                                  : Message{Message::Failed{"bad", FailureCause::kMismatch, kInStep}};
    EXPECT_TRUE(member.take() == only(wanted));
    // The verdict is still taken; the end of the link is none.
    member.lost();
    EXPECT_FALSE(member.verdict());
    member.received({Message::GivenUp{{"id", VerdictKind::kKilled, 1, "text"}}}, kInStep);
    EXPECT_TRUE(member.verdict());
  }
}

TEST(ControlMember, TheFirstVerdictCounts) {
  ControlMember member = welcomed();
  member.received({Message::GivenUp{{"id", VerdictKind::kKilled, 1, "first"}}}, kInStep);
  member.received({Message::GivenUp{{"id", VerdictKind::kKilled, 1, "second"}}}, kInStep);
  member.lost();
  EXPECT_EQ(member.verdict()->text, "first");
}

TEST(ControlMember, WithoutALauncherItGivesUp) {
  ControlMember silent({0, 1, 7, "secret"});
  silent.connected(10);
  silent.tick(39, kInStep);
  EXPECT_FALSE(silent.verdict());
  silent.tick(40, kInStep);
  EXPECT_EQ(silent.verdict()->text, "the launcher does not answer");
  ControlMember member = welcomed();
  member.tick(100, kInStep);
  EXPECT_FALSE(member.verdict());
  member.lost();
  EXPECT_EQ(member.verdict()->text, "the launcher is gone");
  EXPECT_EQ(member.verdict()->rank, -1);
  ControlMember other = welcomed();
  other.lost("the other side speaks version 1 of the protocol, this one 2");
  EXPECT_EQ(other.verdict()->text,
            "the launcher is not understood: the other side speaks version 1 of the protocol, this one 2");
}

// A coordinator asks at once who has come.
TEST(ControlMember, WhoSaysNothingWhereRanksMeetIsNoCoordinator) {
  const ControlMember::Options options{.rank = 1,
                                       .world = 2,
                                       .secret = "secret",
                                       .coordinator = "rank 0",
                                       .place = "node0:29500",
                                       .greets = 5};
  ControlMember silent(options);
  silent.connected(10);
  for (double now = 10; now < 15; now += 0.25) {
    silent.tick(now, kInStep);
    ASSERT_FALSE(silent.verdict()) << now;
  }
  silent.tick(15, kInStep);
  EXPECT_EQ(silent.verdict()->text,
            "node0:29500 is no rank 0 of this run: it takes connections and has said nothing for 5 s");
  EXPECT_EQ(silent.verdict()->kind, VerdictKind::kLost);

  ControlMember other(options);
  other.connected(10);
  other.lost("the other side speaks another protocol");
  EXPECT_EQ(other.verdict()->text,
            "node0:29500 is no rank 0 of this run: the other side speaks another protocol");

  // Who greets may take its time for the rest; this rank itself may have been away.
  ControlMember greeted(options), away(options);
  greeted.connected(10);
  greeted.received({Message::Challenge{kNonce}}, kInStep);
  greeted.tick(39, kInStep);
  EXPECT_FALSE(greeted.verdict());
  away.connected(10);
  away.tick(10, kInStep);
  away.tick(50, kInStep);
  EXPECT_FALSE(away.verdict());
  for (double now = 50.25; now < 56; now += 0.25) away.tick(now, kInStep);
  EXPECT_TRUE(away.verdict());
}

// A coordinator that says that it is there each second, and then no more.
TEST(ControlMember, ASilentCoordinatorIsGivenUp) {
  ControlMember member({.rank = 2, .world = 4, .coordinator = "rank 0", .silent = 6});
  member.connected(10);
  member.received({Message::Welcome{}}, kInStep);
  double now = 10;
  for (; now < 30; now += 0.25) {
    if (now == static_cast<int>(now)) member.received({Message::Ask{}}, kInStep);
    member.tick(now, kInStep);
    ASSERT_FALSE(member.verdict()) << now;
  }
  for (; !member.verdict() && now < 60; now += 0.25) member.tick(now, kInStep);
  EXPECT_NEAR(now, 29 + 6, 0.6);
  EXPECT_EQ(member.verdict()->kind, VerdictKind::kLost);
  EXPECT_EQ(member.verdict()->text, "rank 0 has not been heard of for 6 s");
}

// A rank that was stopped itself has heard nothing, and knows nothing.
TEST(ControlMember, WhoWasAwayGivesNobodyUp) {
  ControlMember member({.rank = 2, .world = 4, .coordinator = "rank 0", .silent = 6});
  member.connected(10);
  member.received({Message::Welcome{}}, kInStep);
  member.tick(10, kInStep);
  member.tick(50, kInStep);
  EXPECT_FALSE(member.verdict());
  member.tick(50.1, kInStep);
  EXPECT_FALSE(member.verdict());
}

TEST(ControlMember, TheFirstSignalOfAnyRankIsKept) {
  ControlMember member = welcomed();
  EXPECT_EQ(member.preemption(), 0);
  member.preempted(SIGUSR1);
  EXPECT_TRUE(member.take() == only({Message::Preempted{SIGUSR1}}));
  EXPECT_EQ(member.preemption(), 0) << "the coordinator says it to all";
  for (const int signal : {SIGTERM, SIGUSR1}) member.received({Message::Preempted{signal}}, kInStep);
  EXPECT_EQ(member.preemption(), SIGTERM);
}

}  // namespace
}  // namespace espalier
