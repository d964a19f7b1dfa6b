#include "launch/control_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/comes_true_test.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "comm/ranks_test.h"
#include "espalier/error.h"
#include "launch/control_running_server_test.h"
#include "launch/control_secret.h"
#include "launch/control_socket.h"

namespace espalier {
namespace {

TEST(ControlClient, RanksAgreeOverBothKindsOfSockets) {
  for (const std::string& address :
       {cat("unix:@espalier-test-both-", ::getpid()), std::string("tcp:127.0.0.1:0")}) {
    RunningServer server(4, address);
    std::vector<std::thread> ranks;
    std::atomic<int> agreed{0};
    for (int rank = 0; rank < 4; ++rank) {
      ranks.emplace_back([&, rank] {
        const auto client = client_of(server, rank, 4);
        client->describe({{"seed", "7"}, {"plan", "abc"}});
        ++agreed;
        client->left();
      });
    }
    for (std::thread& rank : ranks) rank.join();
    EXPECT_EQ(agreed, 4) << address;
    EXPECT_FALSE(server.with([](ControlServer& of) { return of.verdict(); }));
  }
}

// Its own thread takes none: the program's threads do, as before.
TEST(ControlClient, TheThreadThatJoinsTakesTheSignalsItTookBefore) {
  RunningServer server(1);
  sigset_t before, after;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &before);
  const auto client = client_of(server, 0, 1);
  ::pthread_sigmask(SIG_BLOCK, nullptr, &after);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (int signal = 1; signal < NSIG; ++signal)
    EXPECT_EQ(::sigismember(&after, signal), ::sigismember(&before, signal)) << "signal " << signal;
  client->left();
}

TEST(ControlClient, FactsThatDifferAreRaisedOnAll) {
  RunningServer server(3);
  std::vector<std::thread> ranks;
  std::vector<std::string> said(3);
  for (int rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto client = client_of(server, rank, 3);
      try {
        client->describe({{"learning_rate", rank == 1 ? "0.2" : "0.1"}});
      } catch (const RunError& error) {
        said[static_cast<size_t>(rank)] = cat(error.rule(), ": ", error.message());
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const std::string& one : said)
    EXPECT_EQ(one,
              "comm.verdict: ranks do not run the same: learning_rate is 0.1 on ranks 0, 2 and 0.2 on rank 1 "
              "(verdict id)");
}

TEST(ControlClient, AFailureReachesAllWithItsStep) {
  RunningServer server(3);
  std::vector<std::unique_ptr<ControlClient>> clients;
  std::vector<std::atomic<int>> told(3);
  for (int rank = 0; rank < 3; ++rank) {
    ControlHooks hooks;
    hooks.report = [rank] {
      if (rank == 1) return StageReport{Stage::kInput, 9, 16, ""};
      return StageReport{Stage::kCollective, 9, 17, "all-reduce 'header'"};
    };
    hooks.on_verdict = [&told, rank](const RunVerdict&) { ++told[static_cast<size_t>(rank)]; };
    clients.push_back(client_of(server, rank, 3, std::move(hooks)));
  }
  ASSERT_TRUE(comes_true([&] { return server.with([](ControlServer& of) { return of.joined(); }) == 3; }));
  clients[1]->failed("ValueError: row 7 has no label", FailureCause::kOwn);
  for (const auto& client : clients) {
    const auto verdict = client->wait_for_verdict(kTooLong);
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->text,
              "rank 1 (pid 501) failed waiting for input in step 9 before all-reduce 'header' while ranks 0, "
              "2 waited: "
              "ValueError: row 7 has no label");
    EXPECT_EQ(verdict->rank, 1);
  }
  // Once, however long they are there.
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  clients.clear();
  for (const auto& times : told) EXPECT_EQ(times, 1);
}

TEST(ControlClient, OneThatIsGoneWithoutAWordIsMissed) {
  RunningServer server(2);
  auto gone = client_of(server, 0, 2);
  const auto stays = client_of(server, 1, 2);
  ASSERT_TRUE(comes_true([&] { return server.with([](ControlServer& of) { return of.joined(); }) == 2; }));
  gone.reset();
  const auto verdict = stays->wait_for_verdict(kTooLong);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->text, "rank 0 (pid 500) lost its connection, last seen before its first step");
}

TEST(ControlClient, ALauncherThatIsGoneIsAVerdictToo) {
  auto server = std::make_unique<RunningServer>(1);
  const auto client = client_of(*server, 0, 1);
  ASSERT_TRUE(comes_true([&] { return server->with([](ControlServer& of) { return of.joined(); }) == 1; }));
  server.reset();
  const auto verdict = client->wait_for_verdict(kTooLong);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->text, "the launcher is gone");
}

TEST(ControlClient, AStrangerIsRefusedAndTheRunGoesOn) {
  RunningServer server(1);
  const auto client = client_of(server, 0, 1);
  const ControlClient stranger(server.server.address(), {0, 1, 1, "0123456789abcdeg"}, {});
  const auto verdict = stranger.wait_for_verdict(kTooLong);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->text, "the launcher does not take this rank: it does not know the secret of the run");
  // What is no message, too much of it, and nothing at all.
  std::vector<ControlFd> others;
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(1 << 20, 'x'), std::string()}) {
    const ControlFd& other = others.emplace_back(connect_to(server.server.address()));
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t done = ::send(other.get(), bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (done < 0 && errno != EAGAIN) break;
      at += done < 0 ? 0 : static_cast<size_t>(done);
    }
  }
  EXPECT_TRUE(comes_true([&] { return server.warnings().size() >= 3; }));
  client->describe({{"a", "b"}});
  client->left();
  EXPECT_FALSE(client->verdict());
}

TEST(ControlClient, MoreStrangersThanThereIsRoomForLeaveRoomForRanks) {
  RunningServer server(2);
  const auto first = client_of(server, 0, 2);
  std::vector<ControlFd> strangers;
  for (int i = 0; i < 200; ++i) strangers.push_back(connect_to(server.server.address()));
  const auto second = client_of(server, 1, 2);
  std::thread other([&] { EXPECT_NO_THROW(second->describe({{"a", "b"}})); });
  EXPECT_NO_THROW(first->describe({{"a", "b"}}));
  other.join();
  // Those for whom there is no room hear of it, and so does the log.
  EXPECT_TRUE(comes_true([&] { return server.warnings().size() >= 5; }));
  EXPECT_EQ(server.warnings()[0], "a stranger was refused: others came before it had said who it is");
}

TEST(ControlClient, ASignalReachesAll) {
  RunningServer server(2);
  std::atomic<int> got{0};
  std::vector<std::unique_ptr<ControlClient>> clients;
  for (int rank = 0; rank < 2; ++rank) {
    ControlHooks hooks;
    hooks.on_preemption = [&got](int signal) { got += signal; };
    clients.push_back(client_of(server, rank, 2, std::move(hooks)));
  }
  ASSERT_TRUE(comes_true([&] { return server.with([](ControlServer& of) { return of.joined(); }) == 2; }));
  clients[1]->preempted(SIGTERM);
  EXPECT_TRUE(comes_true([&] { return got == 2 * SIGTERM; }));
}

TEST(ControlClient, RanksFindWhatOthersLeaveOverBothKindsOfSockets) {
  std::string bytes;
  for (size_t i = 0; i < kLongestValue; ++i) bytes += static_cast<char>(i * 31 >> 3);
  for (const std::string& address :
       {cat("unix:@espalier-test-keys-", ::getpid()), std::string("tcp:127.0.0.1:0")}) {
    RunningServer server(3, address);
    std::vector<std::thread> ranks;
    std::atomic<int> equal{0};
    for (int rank = 0; rank < 3; ++rank)
      ranks.emplace_back([&, rank] {
        const auto client = client_of(server, rank, 3);
        ControlKeys keys(*client, kTooLong);
        // In turn they are first, and wait for the others; 60 values are more than a link holds at once.
        for (int round = 0; round < 60; ++round) {
          keys.put(cat("g/", round, "/", rank), bytes);
          for (int i = 0; i < 3; ++i) equal += keys.get(cat("g/", round, "/", (rank + i) % 3)) == bytes;
        }
        client->left();
      });
    for (std::thread& rank : ranks) rank.join();
    EXPECT_EQ(equal, 3 * 3 * 60) << address;
  }
}

// The system keeps the end of a connection that this side has closed first for a minute.
TEST(ControlClient, ARunListensWhereOneHasJustEnded) {
  std::string address = "tcp:127.0.0.1:0";
  {
    const ControlFd listener = listen_at(address), there = connect_to(address);
    pollfd ready{listener.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&ready, 1, static_cast<int>(1000 * kTooLong)), 1);
    ControlFd here(::accept(listener.get(), nullptr, nullptr));
    here.close();
    char byte = 0;
    ready = {there.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&ready, 1, static_cast<int>(1000 * kTooLong)), 1);
    EXPECT_EQ(::read(there.get(), &byte, 1), 0);
  }
  const ControlFd again = listen_at(address);
  EXPECT_EQ(error_of([&] { listen_at(address); }).substr(0, 16), "control.listen: ");  // while one lives
}

TEST(ControlClient, AKeyThatNobodyPutsIsAnErrorThatNamesItsRank) {
  RunningServer server(2);
  const auto client = client_of(server, 0, 2), other = client_of(server, 1, 2);
  ASSERT_TRUE(comes_true([&] { return server.with([](ControlServer& of) { return of.joined(); }) == 2; }));
  EXPECT_EQ(error_of([&] { ControlKeys(*client, 0.2).get("gloo/0/at/1"); }),
            "comm.join: rank 1 has not joined in 0.2 s: no rank has published the key \"gloo/0/at/1\"");
  EXPECT_EQ(error_of([&] { ControlKeys(*client, 0.1).get("gloo/0/met"); }),
            "comm.join: no rank has joined in 0.1 s: no rank has published the key \"gloo/0/met\"");
  EXPECT_EQ(error_of([&] { client->put("a", std::string(kLongestValue + 1, 'x')); }),
            "control.size: a value of ranks has at most 24576 bytes, not 24577");
  EXPECT_EQ(error_of([&] { client->get(std::string(kLongestKey + 1, 'x'), 1); }),
            "control.size: a key of ranks has at most 512 bytes, not 513");
  // Late is not too late, and a verdict ends the waiting.
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    other->put("gloo/0/at/1", "here");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    other->failed("no more", FailureCause::kOwn);
  });
  EXPECT_EQ(client->get("gloo/0/at/1", kTooLong), "here");
  EXPECT_EQ(error_of([&] { client->get("gloo/0/met", kTooLong); }),
            "comm.verdict: rank 1 (pid 501) failed before its first step: no more (verdict id)");
  later.join();
}

TEST(ControlClient, FromTheEnvironment) {
  const char* const names[] = {"ESPALIER_CONTROL", "ESPALIER_SECRET", "ESPALIER_RANK", "ESPALIER_WORLD"};
  const auto set = [&](const std::vector<const char*>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i])
        ::setenv(names[i], values[i], 1);
      else
        ::unsetenv(names[i]);
    }
  };
  const auto rule = [] { return rule_of([] { ControlClient::from_environment({}); }); };
  set({nullptr, nullptr, nullptr, nullptr});
  EXPECT_EQ(ControlClient::from_environment({}), nullptr);
  RunningServer server(2);
  const std::string address = server.server.address();
  set({address.c_str(), "", "0", "2"});
  EXPECT_EQ(rule(), "control.environment");
  set({address.c_str(), nullptr, "0", "2"});
  EXPECT_EQ(rule(), "control.environment");
  for (const char* rank : {"", "-1", "x", "2", "1 ", "99999999999"}) {
    set({address.c_str(), kRunSecret, rank, "2"});
    EXPECT_EQ(rule(), "control.environment") << rank;
  }
  set({"unix:@espalier-nobody-is-there", kRunSecret, "1", "2"});
  EXPECT_EQ(rule(), "control.connect");
  for (const char* wrong : {"", "unix:", "unix:/tmp/x", "unix:@", "tcp:", "tcp:host",
                            "tcp:127.0.0.1:", "tcp:127.0.0.1:x", "tcp:127.0.0.1:65536", "udp:127.0.0.1:1"}) {
    set({wrong, kRunSecret, "1", "2"});
    EXPECT_EQ(rule(), "control.address") << wrong;
  }
  set({address.c_str(), kRunSecret, "1", "2"});
  EXPECT_TRUE(ControlClient::from_environment({}));
  set({nullptr, nullptr, nullptr, nullptr});
}

// Programs that a rank starts do not get it; the rank itself may join again.
TEST(ControlClient, TheSecretLeavesTheEnvironment) {
  RunningServer server(2);
  ::setenv("ESPALIER_CONTROL", server.server.address().c_str(), 1);
  ::setenv("ESPALIER_SECRET", kRunSecret, 1);
  ::setenv("ESPALIER_WORLD", "2", 1);
  for (const char* rank : {"0", "1"}) {
    ::setenv("ESPALIER_RANK", rank, 1);
    const auto client = ControlClient::from_environment({});
    EXPECT_EQ(std::getenv("ESPALIER_SECRET"), nullptr);
    EXPECT_TRUE(
        comes_true([&] { return server.with([](ControlServer& of) { return of.ranks_here(); }) == 1; }));
    client->left();
  }
  EXPECT_EQ(server.with([](ControlServer& of) { return of.joined(); }), 2);
  // Of a program that is a text of its own.
  static char constant[] = "ESPALIER_SECRET=another";
  ::putenv(constant);
  EXPECT_EQ(take_secret(), "another");
  EXPECT_EQ(std::string(constant), "ESPALIER_SECRET=another") << "it is not ours to write";
  EXPECT_EQ(take_secret(), "another");
  for (const char* name : {"ESPALIER_CONTROL", "ESPALIER_RANK", "ESPALIER_WORLD"}) ::unsetenv(name);
}

TEST(ControlServer, AnAddressInUseIsRefused) {
  RunningServer server(1);
  EXPECT_EQ(rule_of([&] { ControlServer other(server.server.address(), {.world = 1}); }), "control.listen");
}

}  // namespace
}  // namespace espalier
