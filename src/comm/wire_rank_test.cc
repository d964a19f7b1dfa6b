// What ranks over an engine between hosts do, in processes that the tests of wire_test.cc start.
#include "comm/wire_rank_test.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "base/comes_true_test.h"
#include "base/format.h"
#include "comm/wire_module.h"
#include "launch/control_client.h"

namespace espalier {
namespace {

using State = Wire::State;

// Otherwise waits end behind kTooLong, which is the time that engines are told to wait, or never.
constexpr double kAtOnce = kTooLong / 2;

size_t entries_in(const std::string& folder) {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

// What stands in a message, as a function of who sends which to whom.
std::vector<std::byte> content(int from, int to, uint64_t tag, size_t bytes) {
  std::vector<std::byte> out(bytes);
  const uint64_t base = static_cast<uint64_t>(from) * 17 + static_cast<uint64_t>(to) * 7 + tag * 31;
  for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>((base + i * 131 + (i >> 9)) & 0xff);
  return out;
}

// Messages of one rank to and from all others, begun in one order and awaited in others.
class Mailbox {
 public:
  explicit Mailbox(Wire& wire) : wire_(wire) {}
  void send(int to, uint64_t tag, size_t bytes) {
    auto& data = memory_.emplace_back(content(wire_.rank(), to, tag, bytes));
    handles_.push_back(wire_.send({to, tag, data.data(), bytes}));
  }
  void receive(int from, uint64_t tag, size_t bytes) {
    auto& data = memory_.emplace_back(bytes);
    handles_.push_back(wire_.receive({from, tag, data.data(), bytes}));
    expected_.push_back({memory_.size() - 1, content(from, wire_.rank(), tag, bytes)});
  }
  // Each `stride`th after the other, until all are done.
  void finish(size_t stride) {
    const size_t count = handles_.size();
    while (std::gcd(stride, count) != 1) ++stride;
    for (size_t i = 0; i < count; ++i) {
      ASSERT_GE(handles_[i * stride % count], 0) << wire_.why();
      ASSERT_EQ(wire_.wait(handles_[i * stride % count]), State::kDone) << wire_.why();
    }
    for (const auto& [at, bytes] : expected_)
      EXPECT_TRUE(memory_[at] == bytes) << bytes.size() << " bytes on rank " << wire_.rank();
    largest_ = *std::ranges::max_element(handles_);
  }
  int largest_handle() const { return largest_; }

 private:
  Wire& wire_;
  std::deque<std::vector<std::byte>> memory_;
  std::vector<int> handles_;
  std::vector<std::pair<size_t, std::vector<std::byte>>> expected_;
  int largest_ = -1;
};

template <class F>
void each_peer(const Wire& wire, const F& call) {
  for (int rank = 0; rank < wire.world(); ++rank)
    if (rank != wire.rank()) call(rank);
}

void all_pairs(Wire& wire) {
  for (const size_t bytes : {size_t{1}, size_t{2048}, size_t{40} << 20}) {
    Mailbox box(wire);
    each_peer(wire, [&](int peer) {
      box.send(peer, bytes, bytes);
      box.receive(peer, bytes, bytes);
    });
    box.finish(1);
  }
}

// Tags as they come of a counter above other bits, the receiver's order against the sender's.
void tags_out_of_order(Wire& wire) {
  constexpr uint64_t kCount = 64;
  Mailbox box(wire);
  const auto tag = [](uint64_t i) { return (uint64_t{5} << 33) + i; };
  const auto bytes = [](uint64_t i) { return size_t{1} + (i * 7919) % 30'011; };
  for (uint64_t i = 0; i < kCount; ++i) {
    each_peer(wire, [&](int peer) {
      box.send(peer, tag(i), bytes(i));
      box.receive(peer, tag(kCount - 1 - i), bytes(kCount - 1 - i));
    });
  }
  box.finish(37);
}

void handles_come_back(Wire& wire) {
  for (int round = 0; round < 300; ++round) {
    Mailbox box(wire);
    each_peer(wire, [&](int peer) {
      box.receive(peer, 9, 2048);
      box.send(peer, 9, 2048);
    });
    box.finish(1);
    ASSERT_LT(box.largest_handle(), 2 * 2 * 64) << "of the case before there may be so many";
  }
}

// A wait that is woken goes on, and a wake that nobody waited for counts for the next that sleeps. One that
// is not waits for what only comes behind it.
void woken(Wire& wire) {
  std::byte byte{};
  const auto receive = [&](int peer, uint64_t tag) { return wire.receive({peer, tag, &byte, 1}); };
  if (wire.rank() == 0) {
    const int handle = receive(1, 70);
    for (const bool before : {true, false}) {
      std::thread other;
      if (before)
        wire.wake();
      else
        other = std::thread([&] {
          sleep_ms(100);
          wire.wake();
        });
      EXPECT_EQ(wire.wait(handle), State::kWoken);
      if (other.joinable()) other.join();
    }
    Mailbox box(wire);
    box.send(1, 71, 1);
    box.finish(1);
    EXPECT_EQ(wire.wait(handle), State::kDone) << wire.why();
    EXPECT_EQ(byte, std::byte{42});
  } else if (wire.rank() == 1) {
    Mailbox box(wire);
    box.receive(0, 71, 1);
    box.finish(1);
    byte = std::byte{42};
    EXPECT_EQ(wire.wait(wire.send({0, 70, &byte, 1})), State::kDone);
  }
}

void exchange(std::unique_ptr<Wire> wire) {
  all_pairs(*wire);
  tags_out_of_order(*wire);
  handles_come_back(*wire);
  woken(*wire);
}

void expect_broken(Wire& wire) {
  std::byte byte{};
  EXPECT_NE(wire.why(), "");
  EXPECT_EQ(wire.send({(wire.rank() + 1) % wire.world(), 1, &byte, 1}), -1);
}

// Each waits for what its neighbour never sends, until it is told to end.
void aborted(std::unique_ptr<Wire> wire) {
  const int next = (wire->rank() + 1) % wire->world();
  std::byte bytes[2] = {};
  const int first = wire->receive({next, 1, bytes, 1}), second = wire->receive({next, 2, bytes + 1, 1});
  WireClock::time_point told;
  std::thread other([&] {
    sleep_ms(300);
    told = WireClock::now();
    wire->abort();
  });
  EXPECT_EQ(wire->wait(first), State::kBroken);
  other.join();
  EXPECT_LT(seconds_since(told), kAtOnce);
  EXPECT_EQ(wire->wait(second), State::kBroken);
  expect_broken(*wire);
  std::cout << "rank " << wire->rank() << " was told: " << wire->why() << std::endl;
  // MPI waits for all where it ends, and mpirun ends those that have not said it yet.
  if (!wire->name().starts_with("mpi")) return;
  const std::string folder = std::getenv("TEST_WIRE_FOLDER");
  std::ofstream(cat(folder, "/", wire->rank()));
  EXPECT_TRUE(comes_true([&] { return entries_in(folder) == static_cast<size_t>(wire->world()); }));
  ::_exit(testing::Test::HasFailure());
}

// Rank 1 is killed while others wait for it.
void killed(std::unique_ptr<Wire> wire) {
  all_pairs(*wire);
  // All have come so far.
  Mailbox box(*wire);
  each_peer(*wire, [&](int peer) {
    box.send(peer, 5, 1);
    box.receive(peer, 5, 1);
  });
  box.finish(1);
  if (wire->rank() == 1) {
    sleep_ms(300);
    ::kill(::getpid(), SIGKILL);
  }
  std::byte byte{};
  const int handle = wire->receive({1, 1, &byte, 1});
  const auto begin = WireClock::now();
  // It may be known by then.
  if (handle >= 0) {
    EXPECT_EQ(wire->wait(handle), State::kBroken);
  }
  EXPECT_LT(seconds_since(begin), kAtOnce);
  expect_broken(*wire);
  std::cout << "why: " << wire->why() << std::endl;
}

// Rank 1 is stopped, with more on its way to it than a connection holds.
void stopped(std::unique_ptr<Wire> wire) {
  Mailbox box(*wire);
  each_peer(*wire, [&](int peer) {
    box.send(peer, 1, 1);
    box.receive(peer, 1, 1);
  });
  box.finish(1);
  if (wire->rank() == 1) ::kill(::getpid(), SIGSTOP);
  const std::vector<std::byte> out(size_t{40} << 20);
  std::vector<std::byte> in(out.size());
  wire->send({1, 2, const_cast<std::byte*>(out.data()), out.size()});
  const int handle = wire->receive({1, 2, in.data(), in.size()});
  std::thread other([&] {
    sleep_ms(300);
    if (wire->rank() == 0) wire->abort();
  });
  if (wire->rank() == 0) {
    EXPECT_EQ(wire->wait(handle), State::kBroken);
  }
  other.join();
  const auto begin = WireClock::now();
  wire.reset();
  EXPECT_LT(seconds_since(begin), kAtOnce);
}

// The places where this process waits for its peers.
std::vector<sockaddr_in> places_of_peers() {
  std::vector<sockaddr_in> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename());
    int listens = 0;
    socklen_t size = sizeof listens;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens) continue;
    sockaddr_in at = {};
    size = sizeof at;
    ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&at), &size);
    if (at.sin_family == AF_INET) out.push_back(at);
  }
  return out;
}

// As others on the network, in these places.
void disturb(const std::vector<sockaddr_in>& places) {
  for (size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(ntohl(places[i].sin_addr.s_addr), INADDR_LOOPBACK) << "it listens where it should not";
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&places[i]), sizeof places[i]), 0);
    // One is silent, and one says more than the head of a message.
    std::string said;
    for (int k = 0; i % 2 == 1 && k < 4096; ++k) said += static_cast<char>(k * k * 7 + 13);
    EXPECT_EQ(::send(socket, said.data(), said.size(), MSG_NOSIGNAL), std::ssize(said));
  }
}

// What a process of this test does as a rank.
class Rank {
 public:
  Rank() : engine_(std::getenv("TEST_WIRE_ENGINE")), name_(std::getenv("TEST_WIRE_CASE")) {
    if (engine_ == "gloo") {
      client_ = ControlClient::from_environment({});
      keys_ = std::make_unique<ControlKeys>(*client_, kTooLong);
    }
  }
  std::unique_ptr<Wire> wire(const std::string& generation = "0") {
    const bool mpi = engine_ == "mpi";
    const auto number = [](const char* variable) {
      const char* text = std::getenv(variable);
      return text ? std::atoi(text) : -1;
    };
    return load_wire(engine_, {.rank = number(mpi ? "OMPI_COMM_WORLD_RANK" : "ESPALIER_RANK"),
                               .world = number(mpi ? "OMPI_COMM_WORLD_SIZE" : "ESPALIER_WORLD"),
                               .store = keys_.get(),
                               .generation = generation,
                               .interface = "127.0.0.1",
                               .timeout = kTooLong});
  }
  void joins() {
    wire("first").reset();
    const size_t descriptors = entries_in("/proc/self/fd"), threads = entries_in("/proc/self/task");
    for (int i = 0; i < 20; ++i) wire(std::to_string(i))->rank();
    EXPECT_EQ(entries_in("/proc/self/fd"), descriptors);
    EXPECT_EQ(entries_in("/proc/self/task"), threads);
  }
  void disturbed() {
    std::jthread others;
    if (client_ && name_ == "disturbed") {
      // Rank 0 has no peers before it has been disturbed.
      if (std::getenv("ESPALIER_RANK") == std::string("0"))
        others = std::jthread([this] {
          EXPECT_TRUE(comes_true([] { return places_of_peers().size() == 2; }));
          disturb(places_of_peers());
          keys_->put("disturbed", "");
        });
      else
        keys_->get("disturbed");
    }
    auto joined = wire();
    if (others.joinable()) others.join();
    all_pairs(*joined);
    EXPECT_EQ(keys_->get("0/gloo/1/over"), "") << "all have joined again";
  }
  void run() {
    if (name_ == "exchange") exchange(wire());
    if (name_ == "aborted") aborted(wire());
    if (name_ == "killed") killed(wire());
    if (name_ == "stopped") stopped(wire());
    if (name_ == "joins") joins();
    if (name_ == "disturbed") disturbed();
    if (client_) client_->left();
  }

 private:
  const std::string engine_, name_;
  std::unique_ptr<ControlClient> client_;
  std::unique_ptr<KeyStore> keys_;
};

TEST(WireRank, DISABLED_Runs) {
  if (!std::getenv("TEST_WIRE_ENGINE")) return;
  Rank().run();
}

}  // namespace
}  // namespace espalier
