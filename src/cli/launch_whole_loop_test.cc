// The loop of strategy/whole_loop_test.h below `espalier launch`, over shared memory and gloo.
#include <cstdlib>

#include "cli/engines_test.h"
#include "cli/launched_program_test.h"
#include "cli/launched_test.h"
#include "espalier/array.h"
#include "strategy/whole_loop_test.h"

namespace espalier::cli {
namespace {

// Worker 0 writes what it has learned.
void run_loop(int logical_shards) {
  const strategy::MultiWorkerMirrored workers({.logical_shards = logical_shards});
  const WholeRun found = WholeLoop(logical_shards == 0).loop(workers);
  if (workers.worker() != 0) return;
  const std::string folder = std::getenv("LEARNED");
  for (size_t i = 0; i < found.learned.values.size(); ++i)
    save_npy(cat(folder, "/", i, ".npy"), Tensor::of(found.learned.values[i]));
  write_file(folder + "/sha256", found.sha256);
}

TEST(LaunchWholeLoop, DISABLED_Program) {
  run_named_program([](const std::string& shards) { run_loop(std::stoi(shards)); });
}

// What `ranks` ranks learn, each of which is a host of its own where `engine` is one between hosts.
WholeRun learned_by_ranks(int ranks, const std::string& engine, int logical_shards) {
  const std::string folder = fresh_folder(cat("whole-loop-", ranks, engine, logical_shards));
  std::string hosts;
  for (int i = 0; i < ranks; ++i) hosts += cat(i ? "," : "", static_cast<char>('a' + i), ":1");
  const std::string places =
      engine == "shm" ? cat("-n ", ranks)
                      : cat("--hosts ", hosts, " --engine ", engine, " --interface lo --agent env");
  const Outcome run = call_shell(cat("LEARNED=", folder, " ", build_folder(), "/espalier launch ", places,
                                     " -- ", program_words(cat(logical_shards))));
  EXPECT_EQ(run.code, 0) << run.error;
  if (run.code != 0) return {};
  // Its paths and their number are those of one device.
  WholeRun out = WholeLoop(logical_shards == 0).loop(strategy::OneDevice());
  for (size_t i = 0; i < out.learned.values.size(); ++i)
    out.learned.values[i] = load_npy(cat(folder, "/", i, ".npy")).to_vector<float>();
  out.sha256 = posix_env().read_file(folder + "/sha256");
  return out;
}

void expect_fit_and_one_device(int ranks, const std::string& engine) {
  const WholeLoop program(true);
  const WholeRun found = learned_by_ranks(ranks, engine, 0);
  EXPECT_LE(trained_distance(found.learned, program.fit().learned), 2e-6) << ranks << engine;
  EXPECT_LE(trained_distance(found.learned, program.loop(strategy::OneDevice()).learned), 2e-6)
      << ranks << engine;
}

void expect_one_hash(int ranks, const std::string& engine) {
  const WholeRun one = WholeLoop(false).loop(strategy::OneDevice({.logical_shards = 8}));
  EXPECT_EQ(learned_by_ranks(ranks, engine, 8).sha256, one.sha256) << ranks << engine;
}

TEST(LaunchWholeLoop, SlowOverSharedMemoryShardsHaveOneHash) { expect_one_hash(3, "shm"); }

TEST(LaunchWholeLoop, SlowOverGlooItIsFitAndOneDevice) {
  if (const std::string why = missing_engine({"gloo"}); !why.empty()) GTEST_SKIP() << why;
  expect_fit_and_one_device(2, "gloo");
}

TEST(LaunchWholeLoop, NightlyOnAnyNumberOfRanksItIsFitAndOneDevice) {
  for (const int ranks : {1, 2, 3}) expect_fit_and_one_device(ranks, "shm");
  if (const std::string why = missing_engine({"gloo"}); !why.empty()) GTEST_SKIP() << why;
  for (const int ranks : {1, 2, 3}) expect_fit_and_one_device(ranks, "gloo");
}

TEST(LaunchWholeLoop, NightlyOnAnyNumberOfRanksShardsHaveOneHash) {
  for (const int ranks : {1, 2, 3}) expect_one_hash(ranks, "shm");
  if (const std::string why = missing_engine({"gloo"}); !why.empty()) GTEST_SKIP() << why;
  for (const int ranks : {1, 2, 3}) expect_one_hash(ranks, "gloo");
}

}  // namespace
}  // namespace espalier::cli
