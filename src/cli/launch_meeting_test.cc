// Ranks that something else than the command started, and where they meet rank 0.
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <map>

#include "cli/engines_test.h"
#include "cli/launched_program_test.h"
#include "espalier/espalier.h"
#include "launch/control_socket.h"

namespace espalier::cli {
namespace {

TEST(LaunchMeeting, DISABLED_Program) {
  run_named_program([](const std::string&) {
    const strategy::MultiWorkerMirrored workers;
    const Tensor sum = workers.reduce(ReduceOp::kSum, {{full({}, workers.worker() + 1)}});
    std::cout << cat("the sum is ", sum.item<float>(), "\n") << std::flush;
  });
}

struct Timed {
  Outcome run;
  double seconds;
};
Timed timed(const std::string& words) {
  const auto begin = std::chrono::steady_clock::now();
  Outcome run = call_shell(words);
  return {std::move(run), std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

// The variables of torchrun for one of two ranks; `local`: how many of them it says are on this host.
std::string rank_words(int rank, const std::string& host, int port, int local) {
  return cat("MASTER_ADDR=", host, " MASTER_PORT=", port, " RANK=", rank, " WORLD_SIZE=2 ",
             local ? cat("LOCAL_WORLD_SIZE=", local, " LOCAL_RANK=", local == 2 ? rank : 0, " ") : "",
             program_words("sum"));
}

// A port of 127.0.1.1 at which somebody listens, and never answers.
class SilentListener {
 public:
  int port() const { return std::stoi(address_.substr(address_.rfind(':') + 1)); }

 private:
  std::string address_ = "tcp:127.0.1.1:0";
  ControlFd listener_ = listen_at(address_);
};
int free_port() { return SilentListener().port(); }

// As a name that /etc/hosts has at 127.0.1.1: it is that address, and is not spelled so.
constexpr const char* kNamed = "0x7f.0.1.1";

TEST(LaunchMeeting, RankZeroSaysAtOnceThatOtherHostsCannotReachIt) {
  const Timed zero = timed(rank_words(0, kNamed, free_port(), 1));
  EXPECT_EQ(zero.run.code, 1);
  EXPECT_LT(zero.seconds, 30) << "at once, but for a busy machine";
  EXPECT_NE(
      zero.run.error.find("rank 0 listens at the loopback address 127.0.1.1, which 0x7f.0.1.1 is on this "
                          "host (/etc/hosts): ranks of other hosts cannot reach it"),
      std::string::npos)
      << zero.run.error;
  EXPECT_NE(zero.run.error.find("[strategy.coordinator]"), std::string::npos) << zero.run.error;
}

TEST(LaunchMeeting, SlowRanksOfOneHostMeetAtALoopbackAddressByName) {
  const int port = free_port();
  const Outcome run = call_shell(together(2, [&](int rank) { return rank_words(rank, kNamed, port, 2); }));
  EXPECT_EQ(run.code, 0) << run.error;
  // Each of them says it.
  const size_t first = run.output.find("the sum is 3.0");
  EXPECT_NE(first, std::string::npos) << run.output;
  EXPECT_NE(first, run.output.rfind("the sum is 3.0")) << run.output;
}

TEST(LaunchMeeting, SlowRanksMeetThereWhereNobodySaysThatAllAreOfOneHost) {
  if (const std::string why = missing_engine({"gloo"}); !why.empty()) GTEST_SKIP() << why;
  const int port = free_port();
  const Outcome run = call_shell(together(2, [&](int rank) { return rank_words(rank, kNamed, port, 0); }));
  EXPECT_EQ(run.code, 0) << run.error;
}

TEST(LaunchMeeting, SlowWhoeverIsSilentWhereRanksMeetIsNoRankZero) {
  const SilentListener other;
  const Timed one = timed(rank_words(1, "127.0.1.1", other.port(), 0));
  EXPECT_EQ(one.run.code, 1);
  // It was half a minute and more.
  EXPECT_LT(one.seconds, 25);
  EXPECT_NE(
      one.run.error.find(cat("127.0.1.1:", other.port(),
                             " is no rank 0 of this run: it takes connections and has said nothing for 5")),
      std::string::npos)
      << one.run.error;
}

}  // namespace
}  // namespace espalier::cli
