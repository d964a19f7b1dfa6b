// The secret of a run: who gets it, and who does not.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/engines_test.h"
#include "cli/launched_program_test.h"
#include "cli/launched_test.h"
#include "espalier/strategy.h"
#include "launch/control_recorder_test.h"
#include "launch/machine_facts.h"

namespace espalier::cli {
namespace {

std::string said_by_command(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  char part[4096];
  while (const size_t bytes = std::fread(part, 1, sizeof part, pipe)) out.append(part, bytes);
  ::pclose(pipe);
  return out;
}

// A worker that looks for the secret that it was given: in what the system says of its own environment, to
// itself and to another process, and in that of a process that it starts.
void look_for_secret() {
  const std::string secret = std::getenv("ESPALIER_SECRET");
  const auto seen = [&](const std::string& text) {
    return text.find("PATH=") == text.npos ? "empty" : text.find(secret) == text.npos ? "hidden" : "shown";
  };
  const strategy::MultiWorkerMirrored workers;
  std::ifstream own("/proc/self/environ");
  // In one piece: ranks share the stream.
  std::cout << cat("seen: ", seen({std::istreambuf_iterator<char>(own), {}}), " ",
                   seen(said_by_command("cat /proc/$PPID/environ")), " ",
                   seen(said_by_command("env; cat /proc/self/environ")), " ", secret.size(), "\n")
            << std::flush;
}

// The lines of such workers.
std::vector<std::string> seen_by_workers(const std::string& output) {
  std::istringstream in(output);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("seen: ")) out.push_back(line.substr(6));
  return out;
}

TEST(LaunchSecret, DISABLED_Program) {
  run_named_program([](const std::string&) { look_for_secret(); });
}

TEST(LaunchSecret, SlowIsNotInTheEnvironmentOfWorkersThatHaveJoined) {
  if (const std::string why = missing_engine({"gloo"}); !why.empty()) GTEST_SKIP() << why;
  const std::string program = program_words("looks");
  for (const char* flags : {"-n 2", "--hosts a,b --interface 127.0.0.1 --agent 'env HOSTNAME={host}'"}) {
    const Outcome run = call_command(cat("launch ", flags, " -- ", program));
    EXPECT_EQ(run.code, 0) << run.error;
    EXPECT_EQ(seen_by_workers(run.output), std::vector<std::string>(2, "hidden hidden hidden 32")) << flags;
  }
  const Outcome by_hand = call_shell(together(2, [&](int rank) {
    return cat("env ESPALIER_SECRET=abcdefgh ESPALIER_COORDINATOR=127.0.0.1:", 31'000 + ::getpid() % 1000,
               " ESPALIER_RANK=", rank, " ESPALIER_WORLD=2 ", program);
  }));
  EXPECT_EQ(by_hand.code, 0) << by_hand.error;
  EXPECT_EQ(seen_by_workers(by_hand.output), std::vector<std::string>(2, "hidden hidden hidden 8"));
}

// Rank 1 comes through a recorder.
class RecordedRun : public EnginesTest {
 protected:
  std::string rank_words(int rank, const std::string& coordinator, const std::string& secret) const {
    return cat("env ESPALIER_RANK=", rank, " ESPALIER_WORLD=2 ESPALIER_COORDINATOR=", coordinator,
               " ESPALIER_SECRET=", secret, " ", train());
  }
  const std::string secret_ = "0123456789abcdef0123456789ABCDEF";
  const std::string meet_ = cat("127.0.0.1:", free_port());
};

TEST_F(RecordedRun, SlowHoldsNoFormOfTheSecret) {
  const WireRecorder recorder("tcp:" + meet_);
  const std::string coordinators[] = {meet_, recorder.address().substr(4)};
  const Outcome run =
      call_shell(together(2, [&](int rank) { return rank_words(rank, coordinators[rank], secret_); }));
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(weights_hash(folder_ + "/model"), wanted_);
  const std::string bytes = recorder.bytes();
  for (const char* part : {"\"is\":\"challenge\"", "\"is\":\"join\"", "\"is\":\"left\""})
    EXPECT_NE(bytes.find(part), std::string::npos) << part;
  for (const std::string& form : forms_of_secret(secret_))
    EXPECT_EQ(bytes.find(form), std::string::npos) << form;
}

TEST_F(RecordedRun, SlowGoesOnAfterOneWhoHasAnotherSecret) {
  const Outcome run =
      call_shell(cat("(", rank_words(0, meet_, secret_), ") & first=$!; ", rank_words(1, meet_, "a-guess"),
                     "; echo status $?; ", rank_words(1, meet_, secret_), " && wait $first"));
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_NE(run.output.find("status 43\n"), std::string::npos) << run.output;
  EXPECT_NE(run.error.find("rank 0 does not take this rank: it does not know the secret of the run"),
            std::string::npos)
      << run.error;
  EXPECT_NE(run.error.find("warning: a stranger was refused: it does not know the secret of the run\n"),
            std::string::npos)
      << run.error;
  EXPECT_EQ(weights_hash(folder_ + "/model"), wanted_);
}

TEST_F(RecordedRun, SlowWarnsOnceOfASecretThatCanBeGuessed) {
  std::string address;
  for (const NetworkInterface& one : machine_facts().interfaces)
    if (address.empty() && !one.loopback && one.address.find(':') == one.address.npos) address = one.address;
  if (address.empty()) GTEST_SKIP() << "no address but loopback";
  const std::string meet = cat(address, ":", free_port());
  for (const char* secret : {"", "of-the-user"}) {
    const Outcome run = call_shell(together(2, [&](int rank) { return rank_words(rank, meet, secret); }));
    EXPECT_EQ(run.code, 0) << run.error;
    const std::string warning = cat("espalier: warning: ranks meet at ", meet,
                                    ", and ESPALIER_SECRET is not set: who can connect and knows ");
    const size_t at = run.error.find(warning);
    EXPECT_EQ(at != std::string::npos, *secret == 0) << run.error;
    EXPECT_TRUE(at == std::string::npos || run.error.find(warning, at + 1) == std::string::npos) << run.error;
  }
}

TEST(LaunchSecret, SlowRanksOfMpirunGetARandomOne) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun, of openmpi-bin";
  const Outcome run = call_command(
      cat("launch -n 2 --engine mpi --env SAID=yes -- ", shell_words("echo ${#ESPALIER_SECRET} $SAID")));
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(run.output, "32 yes\n32 yes\n");
}

}  // namespace
}  // namespace espalier::cli
