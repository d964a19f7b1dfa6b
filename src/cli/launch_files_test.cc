// Data that no worker holds whole, by the program of examples/files.cc below a limit on its memory.
#include <bit>
#include <filesystem>

#include "base/hash.h"
#include "cli/launched_test.h"
#include "espalier/espalier.h"

namespace espalier::cli {
namespace {

// Files of 64 MiB and less: a worker has room for two of them and what the program needs, not for all four.
constexpr int64_t kFileColumns = 1024, kFileRows[] = {16384, 15000, 16384, 14001};
constexpr int64_t kLimit = 300 << 10;  // KiB

// What the ledger sums up, by docs/distributed.md, of a row and the sign of its first column as an i32.
uint64_t id_of_file_row(const float* row) {
  uint64_t id = 0;
  const auto take = [&](uint64_t word) {
    id = (id ^ word) * 0xd6e8feb86659fd93;
    id ^= id >> 32;
  };
  for (int64_t i = 0; i < kFileColumns; i += 2)
    take(std::bit_cast<uint32_t>(row[i]) | static_cast<uint64_t>(std::bit_cast<uint32_t>(row[i + 1])) << 32);
  take(row[0] > 0);
  uint64_t h = id + 0x9e3779b97f4a7c15;
  for (int i = 0; i < 2; ++i) h = (h ^ h >> 32) * 0xd6e8feb86659fd93;
  return h ^ h >> 32;
}

TEST(LaunchFiles, SlowAreTrainedOnByWorkersThatDoNotHoldThemAll) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take more memory than the limit";
#endif
  const std::string folder = fresh_folder("launch-files"), backup = folder + "/backup";
  std::string files;
  int64_t rows = 0;
  uint64_t sum = 0;
  for (const int64_t count : kFileRows) {
    std::vector<float> values(static_cast<size_t>(count * kFileColumns));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(hash_combine(static_cast<uint64_t>(rows), i) >> 40) / (1 << 23) - 1;
    for (int64_t row = 0; row < count; ++row) sum += id_of_file_row(values.data() + row * kFileColumns);
    const std::string file = cat(folder, "/", rows, ".npy");
    save_npy(file, Tensor::of(values, {count, kFileColumns}));
    files += " " + file;
    rows += count;
  }
  const auto limited = [&](int ranks, const std::string& flags) {
    return call_shell(launch_words(
        ranks, flags,
        shell_words(cat("ulimit -d ", kLimit, "; exec ", build_folder(), "/example_files ", backup, files))));
  };

  const Outcome all = limited(1, "");
  EXPECT_EQ(all.code, 43) << all.error;
  EXPECT_NE(all.error.find(" failed waiting for input in step 1: cannot allocate "), std::string::npos)
      << all.error;
  EXPECT_EQ(all.error.find("signal"), std::string::npos) << all.error;
  std::filesystem::remove(backup);

  const Outcome two = limited(2, "");
  EXPECT_EQ(two.code, 0) << two.error;
  EXPECT_TRUE(two.output.starts_with(
      cat("epoch 0: ", rows, " rows, ", sum, "\nepoch 1: ", rows, " rows, ", sum, "\nloss ")))
      << two.output;

  // In the second epoch.
  const Outcome killed = limited(3, "--chaos kill:2@step75");
  EXPECT_EQ(killed.code, 43) << killed.error;
  EXPECT_NE(killed.error.find("ended by signal 9 in step 75"), std::string::npos) << killed.error;
  const Outcome rest = limited(2, "");
  EXPECT_EQ(rest.code, 0) << rest.error;
  EXPECT_EQ(killed.output + rest.output, two.output);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace espalier::cli
