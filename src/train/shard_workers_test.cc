// Data that no worker holds whole: processes with a limit on their memory, started as this program again.
#include <sys/resource.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/hash.h"
#include "base/scratch_test.h"
#include "base/sha256.h"
#include "espalier/espalier.h"
#include "launch/launch_test.h"

namespace espalier {
namespace {

constexpr int64_t kColumns = 1024, kFileRows[] = {16384, 15000, 16384, 14001};  // 64 MiB and less
constexpr int64_t kAllRows = 61769;

std::string file_of(const std::string& folder, int file) { return cat(folder, "/", file, ".npy"); }

// What the ledger sums up, by docs/distributed.md, of a row and the sign of its first column as an i32.
uint64_t id_of_row(const float* row) {
  uint64_t id = 0;
  const auto take = [&](uint64_t word) {
    id = (id ^ word) * 0xd6e8feb86659fd93;
    id ^= id >> 32;
  };
  for (int64_t i = 0; i < kColumns; i += 2)
    take(std::bit_cast<uint32_t>(row[i]) | static_cast<uint64_t>(std::bit_cast<uint32_t>(row[i + 1])) << 32);
  take(row[0] > 0);
  uint64_t h = id + 0x9e3779b97f4a7c15;
  for (int i = 0; i < 2; ++i) h = (h ^ h >> 32) * 0xd6e8feb86659fd93;
  return h ^ h >> 32;
}

// Gives the ledger's sum of all rows.
uint64_t write_files(const std::string& folder) {
  uint64_t ids = 0;
  for (int file = 0; file < 4; ++file) {
    std::vector<float> values(static_cast<size_t>(kFileRows[file] * kColumns));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(hash_combine(static_cast<uint64_t>(file), i) >> 40) / (1 << 23) - 1;
    for (int64_t row = 0; row < kFileRows[file]; ++row) ids += id_of_row(values.data() + row * kColumns);
    save_npy(file_of(folder, file), Tensor::of(values, {kFileRows[file], kColumns}));
  }
  return ids;
}

struct PrintLedger final : Callback {
  bool chief_only() const override { return true; }
  bool wants_rows() const override { return true; }
  void on_epoch_rows(int epoch, int64_t rows, uint64_t ids) override {
    std::cout << "epoch " << epoch << ": " << rows << " rows, " << ids << "\n";
  }
};

// The program of a rank: one that people write, but for the limit.
void train_files(const std::string& folder) {
  const rlimit limit{300u << 20, 300u << 20};
  ::setrlimit(RLIMIT_DATA, &limit);
  set_seed(3);
  const strategy::MultiWorkerMirrored workers;
  const auto scope = workers.scope();
  std::vector<std::string> files;
  for (int file = 0; file < 4; ++file) files.push_back(file_of(folder, file));
  const Dataset data =
      Dataset::from_files(files, [](const std::string& path) { return read_rows(path); }, {.shards = 4})
          .map([](const Tensor& x) -> Tensors {
            return {x, Tensor::scalar(static_cast<int32_t>(x.data<float>()[0] > 0))};
          })
          .batch(1000);
  Sequential model{Dense({.units = 2})};
  model.compile({.optimizer = SGD{.learning_rate = 0.1}, .metrics = {"accuracy"}, .logical_shards = 4});
  model.fit(data, {.epochs = 2,
                   .callbacks = {BackupAndRestore({.path = folder + "/backup", .save_freq = 7}),
                                 std::make_shared<PrintLedger>()}});
  if (workers.worker() > 0) return;
  const Tensor kernel = model.variables()[0].read();
  std::cout << "weights " << sha256_of({static_cast<const char*>(kernel.bytes()), kernel.type().bytes()})
            << std::endl;
}

TEST(ShardRank, DISABLED_Trains) {
  const char* const folder = std::getenv("SHARD_FILES");
  if (!folder) GTEST_SKIP() << "it is no rank";
  int code = 0;
  try {
    train_files(folder);
  } catch (const std::exception& error) {
    std::cerr << cat(error.what(), "\n");
    code = 1;
  }
  ::_exit(code);
}

// The lines that ranks print; those of gtest are left out.
LaunchedShell launch_ranks(int ranks, const std::string& folder, const std::string& chaos = "") {
  ::setenv("SHARD_FILES", folder.c_str(), 1);
  LaunchOptions options;
  options.chaos = chaos;
  LaunchedShell out = launch_shell(
      ranks, "exec \"$1\" --gtest_also_run_disabled_tests --gtest_filter=ShardRank.DISABLED_Trains", options,
      {std::filesystem::read_symlink("/proc/self/exe").string()});
  ::unsetenv("SHARD_FILES");
  std::string lines, line;
  for (std::istringstream in(out.output); std::getline(in, line);) {
    if (line.starts_with("epoch ") || line.starts_with("weights ")) lines += line + "\n";
  }
  out.output = lines;
  return out;
}

TEST(ShardWorkersSlow, TrainOnWhatNoneOfThemHoldsOverAKillAndFewerWorkers) {
  const std::string folder = fresh_folder("shard_workers");
  const uint64_t ids = write_files(folder);
  // The limit bites: one rank has to hold a file of each shard.
  EXPECT_NE(launch_ranks(1, folder).outcome.code, 0);
  std::filesystem::remove(folder + "/backup");

  const LaunchedShell two = launch_ranks(2, folder);
  EXPECT_EQ(two.outcome.code, 0) << two.outcome.failure << two.errors;
  const std::string epochs =
      cat("epoch 0: ", kAllRows, " rows, ", ids, "\nepoch 1: ", kAllRows, " rows, ", ids, "\n");
  EXPECT_TRUE(two.output.starts_with(epochs + "weights ")) << two.output;

  // A disk that others keep busy may sync none of its backups before it ends.
  LaunchedShell killed;
  for (int tries = 0; tries < 5 && !std::filesystem::exists(folder + "/backup"); ++tries) {
    killed = launch_ranks(3, folder, "kill:2@step75");
    EXPECT_NE(killed.outcome.failure.find("signal 9 in step 75"), std::string::npos)
        << killed.outcome.failure;
  }
  ASSERT_TRUE(std::filesystem::exists(folder + "/backup"));
  const LaunchedShell rest = launch_ranks(2, folder);
  EXPECT_EQ(rest.outcome.code, 0) << rest.outcome.failure << rest.errors;
  EXPECT_EQ(killed.output + rest.output, two.output) << "the kill was in the second epoch";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace espalier
