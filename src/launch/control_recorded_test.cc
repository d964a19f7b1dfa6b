// Who listens on the way of a run learns nothing that lets him in.
#include <poll.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "base/format.h"
#include "launch/control_proof.h"
#include "launch/control_recorder_test.h"
#include "launch/control_running_server_test.h"

namespace espalier {
namespace {

constexpr const char* kUnknown = "it does not know the secret of the run";
// The longest wait of a test for what is about to come.
constexpr int kComesMilliseconds = 5000;

// What the other side says until it closes the connection, or has said `last`.
std::string all_from(const ControlFd& socket, const std::string& last = "\n") {
  std::string out;
  char bytes[4096];
  for (pollfd ready{socket.get(), POLLIN, 0}; ::poll(&ready, 1, kComesMilliseconds) == 1;) {
    const ssize_t got = ::recv(socket.get(), bytes, sizeof bytes, 0);
    if (got <= 0) return out;
    out.append(bytes, static_cast<size_t>(got));
    if (out.find(last) != out.npos) return out;
  }
  ADD_FAILURE() << "it hangs";
  return out;
}

std::vector<ControlMessage> messages_in(const std::string& bytes) {
  std::vector<ControlMessage> out;
  ControlReader reader;
  reader.add(bytes);
  while (auto message = reader.next()) out.push_back(std::move(*message));
  return out;
}

void say_over(const ControlFd& socket, const std::string& bytes) {
  EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
}

std::string refusal_in(const std::string& bytes) {
  const std::vector<ControlMessage> said = messages_in(bytes);
  const auto* why = said.empty() ? nullptr : std::get_if<ControlMessage::Refused>(&said.back().is);
  return why ? why->why : "it is not refused";
}

// Two ranks that agree, leave each other values, and end.
void run_to_its_end(RunningServer& server, const std::string& address) {
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank)
    ranks.emplace_back([&, rank] {
      ControlClient client(address, {rank, 2, 500 + rank, kRunSecret}, {});
      ControlKeys keys(client, 20);
      client.describe({{"seed", "7"}});
      keys.put(cat("at/", rank), "here");
      EXPECT_EQ(keys.get(cat("at/", 1 - rank)), "here");
      client.preempted(10);
      if (rank == 0) client.left();
      if (rank == 1) client.failed("ValueError: no row", FailureCause::kOwn);
    });
  for (std::thread& rank : ranks) rank.join();
  EXPECT_TRUE(
      comes_true([&] { return server.with([](ControlServer& of) { return of.ranks_here(); }) == 0; }));
}

TEST(ControlRecorded, NoFormOfTheSecretIsOnTheWire) {
  RunningServer server(2, "tcp:127.0.0.1:0");
  WireRecorder recorder(server.server.address());
  run_to_its_end(server, recorder.address());
  const std::string bytes = recorder.bytes();
  EXPECT_EQ(recorder.recorded().size(), 2u);
  EXPECT_NE(bytes.find("\"is\":\"join\",\"proof\":\""), std::string::npos) << "nothing was recorded";
  EXPECT_NE(bytes.find("\"is\":\"welcome\""), std::string::npos);
  for (const std::string& form : forms_of_secret(kRunSecret))
    EXPECT_EQ(bytes.find(form), std::string::npos) << form;
}

TEST(ControlRecorded, AJoinThatIsPlayedAgainIsRefusedAndTheRunGoesOn) {
  RunningServer server(2, "tcp:127.0.0.1:0");
  WireRecorder recorder(server.server.address());
  // Rank 1 has been recorded and is gone from the way; rank 0 has not come yet.
  ControlClient last(recorder.address(), {1, 2, 501, kRunSecret}, {});
  ASSERT_TRUE(comes_true([&] { return server.with([](ControlServer& of) { return of.joined(); }) == 1; }));
  const std::string join = frame_of(messages_in(recorder.recorded().at(0).there).at(0));
  EXPECT_NE(join.find("\"is\":\"join\""), std::string::npos);
  for (int i = 0; i < 3; ++i) {
    const ControlFd again = connect_to(server.server.address());
    say_over(again, join);
    EXPECT_EQ(refusal_in(all_from(again)), kUnknown);
  }
  EXPECT_EQ(server.with([](ControlServer& of) { return of.joined(); }), 1);
  EXPECT_TRUE(comes_true([&] { return server.warnings().size() == 3; }));
  EXPECT_EQ(server.warnings().at(0), cat("a stranger was refused: ", kUnknown));
  const auto first = client_of(server, 0, 2);
  std::thread other([&] { EXPECT_NO_THROW(last.describe({{"a", "b"}})); });
  EXPECT_NO_THROW(first->describe({{"a", "b"}}));
  other.join();
  EXPECT_FALSE(first->verdict());
}

// A rank needs a way there and back to answer, whoever comes in between.
TEST(ControlRecorded, ThoseWhoSayNothingLeaveTimeToAnswer) {
  RunningServer server(1, "tcp:127.0.0.1:0");
  const ControlFd rank = connect_to(server.server.address());
  std::vector<ControlFd> strangers;
  for (int i = 0; i < 70; ++i) strangers.push_back(connect_to(server.server.address()));
  const auto challenge = messages_in(all_from(rank, "\"}")).at(0);
  const auto& nonce = std::get<ControlMessage::Challenge>(challenge.is).nonce;
  say_over(rank, frame_of({proved(ControlMessage::Join{{}, 0, 1, 7}, kRunSecret, nonce)}));
  EXPECT_NE(all_from(rank, "\"}").find("\"is\":\"welcome\""), std::string::npos);
  // And those who still wait for room get it.
  const ControlFd last = connect_to(server.server.address());
  EXPECT_NE(all_from(last, "\"}").find("\"is\":\"challenge\""), std::string::npos);
}

// Whoever knows no challenge: the version before, on either side.
TEST(ControlRecorded, ThoseOfTheVersionBeforeAreRefusedWithASentence) {
  const auto frame_of_one = [](const std::string& json) {
    std::string out(4, '\0');
    out[0] = static_cast<char>(json.size() + 1);
    return out + '\1' + json;
  };
  RunningServer server(1, "tcp:127.0.0.1:0");
  const ControlFd old = connect_to(server.server.address());
  say_over(old, frame_of_one(cat("{\"is\":\"join\",\"secret\":\"", kRunSecret,
                                 "\",\"rank\":0,\"world\":1,\"pid\":7}")));
  EXPECT_EQ(refusal_in(all_from(old)), "the other side speaks version 1 of the protocol, this one 2");
  EXPECT_TRUE(comes_true([&] { return server.warnings().size() == 1; }));
  EXPECT_EQ(server.warnings().at(0),
            "a stranger was refused: the other side speaks version 1 of the protocol, this one 2");

  std::string address = "tcp:127.0.0.1:0";
  const ControlFd listener = listen_at(address);
  const ControlClient rank(address, {0, 1, 7, kRunSecret}, {});
  pollfd ready{listener.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, kComesMilliseconds), 1);
  const ControlFd of_rank(::accept(listener.get(), nullptr, nullptr));
  say_over(of_rank, frame_of_one("{\"is\":\"refused\",\"why\":\"it does not say who it is\"}"));
  const auto verdict = rank.wait_for_verdict(5);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->text,
            "the launcher is not understood: the other side speaks version 1 of the protocol, this one 2");
}

}  // namespace
}  // namespace espalier
