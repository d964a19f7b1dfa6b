// What the coordinator makes of hosts and their agents.
#include <csignal>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/format.h"
#include "launch/control_scripted_run_test.h"

namespace espalier {
namespace {

using Message = ControlMessage;

constexpr int kFirstAgent = 100;  // links of agents

// Hosts a and b of two ranks each; their ranks have started, and joined where `join` says so.
Message host_join(int link, const Message::HostJoin& join, const std::string& secret = kSecret) {
  return {proved(join, secret, nonce_of(link))};
}

struct HostedRun : ScriptedRun {
  explicit HostedRun(bool join = true, bool agents = true) : ScriptedRun(Unjoined(), options()) {
    for (int host = 0; host < 2 && agents; ++host) {
      connect(kFirstAgent + host, host_join(kFirstAgent + host, {{}, host, host ? "b" : "a", 2 * host, 2}));
      for (int rank = 2 * host; rank < 2 * host + 2; ++rank)
        agent(host, {Message::RankStarted{rank, 800 + rank}});
    }
    for (int rank = 0; rank < 4 && join; ++rank) connect(rank, join_of(rank, rank, 4, 5));
    take();
  }
  static ControlCoordinator::Options options() {
    return {.world = 4, .secret = kSecret, .id = "id", .limits = {}, .hosts = {{"a", 0, 2}, {"b", 2, 2}}};
  }
  void agent(int host, const Message& message) { say(kFirstAgent + host, message); }
  // Time in which these links beat.
  void beats(double seconds, const std::vector<int>& links, const StageReport& at = in_step(7, 14)) {
    for (; seconds > 1e-9; seconds -= 0.5) {
      for (const int link : links) say(link, {Message::Beat{at}});
      pass(0.5);
    }
  }
  int given_to(int link) {
    int out = 0;
    for (const Message& message : sent[link]) out += std::holds_alternative<Message::GivenUp>(message.is);
    return out;
  }
};

TEST(ControlHosts, ARankThatDiesIsNamedWithItsHost) {
  HostedRun run;
  EXPECT_EQ(run.started_ranks, "0:800 1:801 2:802 3:803 ");
  run.beats(0.5, {0, 1, 2, 3, 100, 101});
  run.agent(1, {Message::RankEnded{3, {true, SIGKILL}, in_step(7, 14), "\nits lines"}});
  for (int i = 0; i < 3; ++i) run.beat(i, waits_in(7, 15));
  run.pass(0.4);
  EXPECT_EQ(run.text(),
            "rank 3 (pid 803, host b) ended by signal 9 in step 7 before all-reduce 'gradients/2'; ranks 0-2 "
            "waited");
  EXPECT_EQ(run.ended_ranks, "3:ended by signal 9:\nits lines ");
  for (const int link : {0, 1, 2, 3, 100, 101}) EXPECT_EQ(run.given_to(link), 1) << link;
  EXPECT_EQ(run.gone_host, -1);
}

// Its ranks die with it, and what they did last is no reason.
TEST(ControlHosts, AHostThatIsGoneIsTheReasonNotItsRanks) {
  HostedRun run;
  run.beats(0.5, {0, 1, 2, 3, 100, 101});
  for (const int link : {2, 3, 101}) run.coordinator.lost(link, run.now);
  for (int i = 0; i < 2; ++i) run.beat(i, waits_in(7, 15));
  run.pass(0.2);
  run.coordinator.agent_ended(1, {false, 255}, run.now);
  run.pass(0.2);
  EXPECT_EQ(run.text(),
            "host b is gone (its agent ended with status 255), and with it ranks 2, 3; ranks 0, 1 waited");
  EXPECT_EQ(run.coordinator.verdict()->kind, VerdictKind::kHost);
  EXPECT_EQ(run.coordinator.verdict()->rank, -1);
  EXPECT_EQ(run.gone_host, 1);
  EXPECT_EQ(run.given_to(100), 1);
  HostedRun cut;
  cut.coordinator.lost(100, cut.now);
  cut.pass(0.4);
  EXPECT_EQ(cut.text(), "host a is gone (its connection broke), and with it ranks 0, 1");
}

TEST(ControlHosts, ProgramsThatDoNotJoinAreLostWithTheirHost) {
  HostedRun run(false);
  run.agent(1, {Message::RankEnded{2, {false, 0}}});
  run.coordinator.agent_ended(1, {true, SIGKILL}, run.now);
  run.pass(0.4);
  EXPECT_EQ(run.text(), "host b is gone (its agent ended by signal 9), and with it rank 3");
}

// An agent goes when its ranks have ended, and its process may be seen before its last words.
TEST(ControlHosts, AnAgentThatIsDoneMayGo) {
  HostedRun run(false);
  run.coordinator.agent_ended(1, {false, 0}, run.now);
  for (const int rank : {2, 3}) run.agent(1, {Message::RankEnded{rank, {false, 3}}});
  run.coordinator.lost(101, run.now);
  run.pass(120, {});
  EXPECT_EQ(run.text().find("host b"), std::string::npos) << run.text();
  EXPECT_EQ(run.text().find("host a has not been heard of for 5"), 0u) << run.text();
}

TEST(ControlHosts, AHostThatDoesNotComeIsASentence) {
  HostedRun run(false, false);
  run.coordinator.agent_ended(0, {false, 255}, run.now);
  run.pass(0.4);
  EXPECT_EQ(run.text(), "host a has not joined: its agent ended with status 255");
  HostedRun late(false, false);
  late.pass(59);
  EXPECT_EQ(late.text(), "none");
  late.pass(2);
  EXPECT_EQ(late.text(), "host a has not joined in 60 s");
}

// Of a cut cable: its ranks are silent, too, and beat at other moments than it.
TEST(ControlHosts, ASilentHostIsNamedBeforeItsRanks) {
  HostedRun run;
  run.beats(1, {0, 1, 2, 3, 100, 101});
  run.beats(0.5, {0, 1, 100, 101});
  run.beats(8, {0, 1, 100}, waits_in(7, 15));
  EXPECT_EQ(run.text(), "host b has not been heard of for 4.8 s, and with it ranks 2, 3; ranks 0, 1 waited");
  HostedRun all;  // ranks that waited themselves before they went with it are not said to wait
  all.beats(1, {0, 1, 2, 3, 100, 101}, waits_in(7, 15));
  all.beats(8, {0, 1, 100}, waits_in(7, 15));
  EXPECT_TRUE(all.text().ends_with(", and with it ranks 2, 3; ranks 0, 1 waited")) << all.text();
  HostedRun rank;  // that alone is silent
  rank.beats(8, {0, 1, 2, 100, 101});
  EXPECT_EQ(rank.text().find("rank 3 (pid 803, host b) has not been heard of for 5"), 0u) << rank.text();
}

TEST(ControlHosts, RefusesWhoIsNoHostOfTheRun) {
  const std::string unknown = "it does not know the secret of the run";
  const std::string no_host = "it says that it is a host which the run has not";
  const std::pair<Message, std::string> cases[] = {
      {host_join(50, {{}, 0, "a", 0, 2}, "other"), unknown},
      {host_join(kFirstAgent, {{}, 0, "a", 0, 2}), unknown},  // recorded on its own connection
      {{Message::HostJoin{kSecret, 0, "a", 0, 2}}, unknown},
      {host_join(50, {{}, 2, "c", 4, 2}), no_host},
      {host_join(50, {{}, -1, "a", 0, 2}), no_host},
      {host_join(50, {{}, 0, "b", 0, 2}), no_host},
      {host_join(50, {{}, 0, "a", 0, 4}), no_host},
      {host_join(50, {{}, 0, "a", 0, 2}), "host a has joined before"}};
  for (const auto& [join, why] : cases) {
    HostedRun run;
    run.connect(50, join);
    run.take();
    ASSERT_EQ(run.warnings.size(), 1u) << why;
    EXPECT_EQ(run.warnings[0], cat("a stranger was refused: ", why));
    EXPECT_FALSE(run.coordinator.is_known(50));
  }
}

TEST(ControlHosts, AnAgentSpeaksForItsOwnRanks) {
  const Message cases[] = {{Message::RankStarted{0, 5}},
                           {Message::RankEnded{1, {false, 0}}},
                           {Message::RankStopped{-1, true}},
                           {Message::RankEnded{4, {false, 0}}},
                           {Message::Left{}}};
  for (const Message& message : cases) {
    HostedRun run;
    run.agent(1, message);
    run.take();
    ASSERT_EQ(run.warnings.size(), 1u);
    EXPECT_EQ(run.warnings[0], "host b is cut off: it says what no agent says");
    EXPECT_EQ(run.closed, std::vector<int>{101});
    EXPECT_EQ(run.ended_ranks, "");
  }
}

TEST(ControlHosts, AStoppedRankIsNamedAsSuch) {
  HostedRun run;
  run.agent(1, {Message::RankStopped{3, true}});
  run.beats(8, {0, 1, 2, 100, 101});
  EXPECT_NE(run.text().find("; it is stopped"), std::string::npos) << run.text();
}

}  // namespace
}  // namespace espalier
