// Ranks that the command launches, for the thread sanitizer: `make tsan` runs them with the command that it
// builds.
#include <string>

#include <gtest/gtest.h>

#include "base/format.h"
#include "cli/engines_test.h"
#include "cli/launched_test.h"

namespace espalier::cli {
namespace {

bool reports_a_race(const Outcome& run) {
  return (run.output + run.error).find("ThreadSanitizer") != std::string::npos;
}

// Two ranks, launched with `flags`, learn what one device learns, and no process that takes part reports a
// race.
void train_on_two(const std::string& name, const std::string& flags) {
  const std::string folder = folder_to_launch(name, 512, 64, 6);
  const std::string wanted = one_device_hash(folder);
  const Outcome run =
      call_shell(cat(build_folder(), "/espalier launch ", flags, " -- ",
                     worker_words(folder, "--deterministic --threads 2 --checkpoint-every 5")));
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_FALSE(reports_a_race(run)) << run.output << run.error;
  EXPECT_EQ(weights_hash(folder + "/model"), wanted);
}

constexpr const char* kBetweenHosts = "--hosts a:1,b:1 --interface lo --agent env ";

TEST(LaunchedRanks, NightlyOverSharedMemory) { train_on_two("launched-shm", "-n 2"); }

TEST(LaunchedRanks, NightlyOverGloo) {
  if (const std::string why = missing_engine({"gloo"}); !why.empty()) GTEST_SKIP() << why;
  train_on_two("launched-gloo", kBetweenHosts);
}

// Who looks on from threads of their own tells the others, which end.
void break_one_of_two(const std::string& name, const std::string& flags) {
  const std::string folder = folder_to_launch(name);
  for (const char* fault : {"kill:1@step5", "throw:0@step9"}) {
    const Outcome run = call_shell(cat(build_folder(), "/espalier launch ", flags, " --chaos ", fault, " -- ",
                                       worker_words(folder, "--threads 2")));
    EXPECT_EQ(run.code, 43) << fault << "\n" << run.error;
    EXPECT_FALSE(reports_a_race(run)) << run.output << run.error;
  }
}

TEST(LaunchedRanks, NightlyBrokenOverSharedMemory) { break_one_of_two("launched-shm-broken", "-n 2"); }

TEST(LaunchedRanks, NightlyBrokenOverGloo) {
  if (const std::string why = missing_engine({"gloo"}); !why.empty()) GTEST_SKIP() << why;
  break_one_of_two("launched-gloo-broken", kBetweenHosts);
}

}  // namespace
}  // namespace espalier::cli
