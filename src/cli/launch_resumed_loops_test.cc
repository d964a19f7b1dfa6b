// Loops of one's own below `espalier launch` that are killed in a call and go on, with other ranks or as
// many: of files in shards, shuffled, and on logical shards.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "base/drawn_test.h"
#include "base/philox.h"
#include "base/sha256.h"
#include "cli/launched_program_test.h"
#include "cli/launched_test.h"
#include "cli/seeded_fault_test.h"
#include "espalier/espalier.h"

namespace espalier::cli {
namespace {

constexpr int64_t kFiles = 8, kSaveEvery = 3;
// A file has as many as that, or one more or less.
constexpr int64_t kRowsOfAFile = 9;
int64_t rows_of_file(int64_t file) { return kRowsOfAFile + file % 3 - 1; }

std::string folder_of_run() { return std::getenv("RESUMED_IN"); }

// Row r of file f: f * 100 + r, and two numbers made of it.
void write_files(const std::string& folder) {
  for (int64_t file = 0; file < kFiles; ++file) {
    std::vector<float> rows;
    for (int64_t row = 0; row < rows_of_file(file); ++row) {
      const auto id = static_cast<float>(file * 100 + row);
      for (const float value : {id, std::sin(id), std::cos(id * 2)}) rows.push_back(value);
    }
    save_npy(cat(folder, "/rows-", file, ".npy"), Tensor::of(rows, {rows_of_file(file), 3}));
  }
}

// Each rank writes down which rows its calls had, worker 0 what it has learned.
void train_on_files(const strategy::MultiWorkerMirrored& workers) {
  const auto scope = workers.scope();
  set_seed(7);
  Sequential model{Dense({.units = 4, .activation = "tanh"}), Dropout(0.25), Dense({.units = 1})};
  Optimizer optimizer = Adam{.learning_rate = 0.05};
  const Loss loss = MeanSquaredError();
  int64_t calls = 0;
  auto batches = workers.distribute(
      Dataset::from_files({folder_of_run() + "/rows-?.npy"},
                          [](const std::string& path) { return Tensors{load_npy(path)}; }, {.shards = kFiles})
          .shuffle(40)
          .batch(10)
          .repeat(2));
  CheckpointManager checkpoints(
      folder_of_run() + "/checkpoints",
      {{"model", model}, {"optimizer", optimizer}, {"batches", batches}, {"calls", calls}});
  checkpoints.restore();
  const auto step = function(
      [&](const Tensor& rows) {
        const TrainingScope training(true);
        const Tensor x = slice(rows, {0, 1}, {rows.size(0), 3}),
                     y = slice(rows, {0, 0}, {rows.size(0), 1}) / 700;
        GradientTape tape;
        const LossSums sums = loss.sums(y, model(x));
        const Tensor count = strategy::all_reduce({sums.weight})[0];
        const auto weights = model.trainable_variables();
        optimizer.apply(strategy::all_reduce(tape.gradient(sums.sum / count, weights)), weights);
      },
      {.name = "step"});
  std::ofstream seen(cat(folder_of_run(), "/seen-", std::getenv("PART"), "-", workers.worker()));
  while (const auto batch = batches.next()) {
    workers.run(step, *batch);
    ++calls;
    for (const Tensor& rows : (*batch)[0].values)
      for (int64_t row = 0; row < rows.size(0); ++row)
        seen << calls << ' ' << rows.to_vector<float>()[static_cast<size_t>(3 * row)] << '\n';
    seen.flush();
    if (calls % kSaveEvery == 0) checkpoints.save();
  }
  if (workers.worker() != 0) return;
  std::string bits;
  for (const Variable& variable : model.variables()) {
    const Tensor value = variable;
    bits.append(static_cast<const char*>(value.bytes()), value.type().bytes());
  }
  write_file(folder_of_run() + "/learned", cat(sha256_of(bits), " in ", calls, " calls"));
}

const std::map<std::string, int> kLogicalShards = {{"trains", 0}, {"trains on logical shards", kFiles}};

TEST(LaunchResumedLoops, DISABLED_Program) {
  run_named_program([](const std::string& name) {
    train_on_files(strategy::MultiWorkerMirrored({.logical_shards = kLogicalShards.at(name)}));
  });
}

struct ResumedLoop {
  std::string name, folder;
  // The rows of each call, by what ranks wrote down.
  using Rows = std::map<int64_t, std::multiset<int>>;

  ResumedLoop(std::string name, const std::string& in) : name(std::move(name)), folder(fresh_folder(in)) {
    write_files(folder);
  }
  Outcome run(const std::string& part, int ranks, const std::string& flags = "") const {
    return call_shell(cat("RESUMED_IN=", folder, " PART=", part, " XDG_STATE_HOME=", folder, "/state ",
                          launch_words(ranks, flags, program_words(name))));
  }
  std::string learned() const {
    return posix_env().exists(folder + "/learned") ? posix_env().read_file(folder + "/learned") : "nothing";
  }
  Rows seen(const std::string& part, int ranks, int64_t up_to = INT64_MAX) const {
    Rows out;
    for (int rank = 0; rank < ranks; ++rank) {
      std::ifstream in(cat(folder, "/seen-", part, "-", rank));
      for (int64_t call = 0, row = 0; in >> call >> row;)
        if (call <= up_to) out[call].insert(static_cast<int>(row));
    }
    return out;
  }
};

std::map<int, int> times_of(const ResumedLoop::Rows& rows) {
  std::map<int, int> out;
  for (const auto& [call, ids] : rows)
    for (const int id : ids) ++out[id];
  return out;
}
// Each row of the files, in each of two passes.
std::map<int, int> twice_each() {
  std::map<int, int> out;
  for (int64_t file = 0; file < kFiles; ++file)
    for (int64_t row = 0; row < rows_of_file(file); ++row) out[static_cast<int>(file * 100 + row)] = 2;
  return out;
}

// A rank is killed in a call, and another launch of `behind` ranks goes on.
void expect_resumed(const std::string& name, int before, int behind, int rank, int64_t call) {
  SCOPED_TRACE(cat(name, ": rank ", rank, " of ", before, " in call ", call, ", then ", behind));
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  const ResumedLoop whole(name, cat("launch-resumed-whole-", test)),
      broken(name, cat("launch-resumed-", test));
  const bool all_bits = before == behind || name != "trains";
  // Logical shards have the bits of one rank.
  const Outcome undisturbed = whole.run("whole", name == "trains" ? before : 1);
  ASSERT_EQ(undisturbed.code, 0) << undisturbed.error;
  ASSERT_EQ(times_of(whole.seen("whole", before)), twice_each());
  const Outcome killed = broken.run("first", before, cat("--chaos kill:", rank, "@step", call));
  EXPECT_EQ(killed.code, 43) << killed.error;
  EXPECT_NE(killed.error.find(cat(" ended by signal 9 in call ", call, " of \"step\"")), std::string::npos)
      << killed.error;
  const Outcome again = broken.run("second", behind);
  EXPECT_EQ(again.code, 0) << again.error;
  ResumedLoop::Rows rows = broken.seen("second", behind);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.begin()->first % kSaveEvery, 1) << "it goes on behind a save";
  // A save that is under way when the rank dies may not come to its end.
  EXPECT_GE(rows.begin()->first, (call - 1) / kSaveEvery * kSaveEvery + 1 - kSaveEvery);
  EXPECT_LE(rows.begin()->first, call);
  rows.merge(broken.seen("first", before, rows.begin()->first - 1));
  EXPECT_EQ(rows, whole.seen("whole", before));
  EXPECT_TRUE(broken.learned() == whole.learned() || !all_bits) << broken.learned() << whole.learned();
}

TEST(LaunchResumedLoops, SlowOnLogicalShardsTwoGoOnToTheBitsThatOneLearns) {
  expect_resumed("trains on logical shards", 3, 2, 1, 8);
}

TEST(LaunchResumedLoops, NightlyAnyRankInAnyCall) {
  for (uint64_t i = 0, runs = static_cast<uint64_t>(runs_asked("ESPALIER_CHAOS_RUNS", 20)); i < runs; ++i) {
    const uint64_t seed = first_seed() + i;
    SCOPED_TRACE(cat("ESPALIER_SEED=", seed));
    Philox random(seed);
    const auto drawn = [&](int64_t below) {
      return static_cast<int>(random.below(static_cast<uint64_t>(below)));
    };
    const int before = 2 + drawn(2), behind = drawn(2) ? before : 1 + drawn(3);
    expect_resumed(seed % 2 ? "trains" : "trains on logical shards", before, behind, drawn(before),
                   1 + drawn(14));
  }
}

}  // namespace
}  // namespace espalier::cli
