// fit on the user's own sources: runs that are killed go on where they were, and read nothing that is before.
#include <charconv>
#include <filesystem>
#include <mutex>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/philox.h"
#include "base/rule_of_test.h"
#include "espalier/array.h"
#include "espalier/callbacks.h"
#include "espalier/dataset.h"
#include "espalier/random.h"
#include "format/checkpoint.h"
#include "train/dataset_cursor.h"

namespace espalier {
namespace {

// What the sources of one process were asked for: numbers of elements, in order.
struct ReadNumbers {
  // An iterator that is restored reads while the threads of the one before still fetch ahead.
  std::mutex mutex;
  std::vector<int64_t> numbers;
  int64_t opened = 0;
};

// Rows 0 to 89, dealt to the shards in turn. Its place is a number in a text, or what skip() jumps to.
class DealtRows final : public DataSource {
 public:
  static constexpr int64_t kRows = 90;
  DealtRows(DataShard shard, bool by_bytes, std::shared_ptr<ReadNumbers> reads)
      : next_(shard.index), step_(shard.count), by_bytes_(by_bytes), reads_(std::move(reads)) {
    const std::lock_guard hold(reads_->mutex);
    ++reads_->opened;
  }
  std::optional<Tensors> next() override {
    if (next_ >= kRows) return std::nullopt;
    const int64_t i = std::exchange(next_, next_ + step_);
    {
      const std::lock_guard hold(reads_->mutex);
      reads_->numbers.push_back(i);
    }
    const auto a = static_cast<float>(i % 7) - 3, b = static_cast<float>(i % 5) - 2;
    return Tensors{Tensor::of<float>({a, b, 1}), Tensor::of<float>({a * a - b})};
  }
  int64_t skip(int64_t count) override {
    if (by_bytes_) return DataSource::skip(count);
    const int64_t left = next_ < kRows ? (kRows - next_ - 1) / step_ + 1 : 0, skipped = std::min(count, left);
    next_ += skipped * step_;
    return skipped;
  }
  std::optional<std::string> save() override {
    return by_bytes_ ? std::optional(cat("row ", next_)) : std::nullopt;
  }
  void restore(std::string_view bytes) override {
    int64_t place = -1;
    if (bytes.starts_with("row ")) std::from_chars(bytes.data() + 4, bytes.data() + bytes.size(), place);
    if (place < 0) throw FormatError("dealt.place", cat("\"", bytes, "\" is no row"));
    next_ = place;
  }

 private:
  int64_t next_, step_;
  bool by_bytes_;
  std::shared_ptr<ReadNumbers> reads_;
};

struct FitSourceKilled {};

// The same program every time: it dies after so many steps, or goes on to the end.
struct FitSourceProgram {
  std::string path = cat(testing::TempDir(), "/",
                         testing::UnitTest::GetInstance()->current_test_info()->name(), ".checkpoint");
  bool by_bytes = true, shuffled = false;
  int64_t shards = 8;
  int steps_per_epoch = 6;  // 0: passes
  std::shared_ptr<ReadNumbers> reads = std::make_shared<ReadNumbers>();

  static constexpr int kEpochs = 4;
  std::vector<std::vector<std::byte>> run(int64_t dies_after, uint64_t seed) const {
    set_seed(seed);
    reads->numbers.clear();
    reads->opened = 0;
    Dataset data = Dataset::from_source(
        [*this](DataShard shard, uint64_t) { return std::make_unique<DealtRows>(shard, by_bytes, reads); },
        {.shards = shards});
    if (shuffled) data = data.shuffle(20);
    data = data.map(
                   [](const Tensor& x, const Tensor& y) -> Tensors {
                     return {x * 0.5, y};
                   },
                   {.num_parallel_calls = 2})
               .batch(16);
    if (shuffled) data = data.prefetch(2);
    Sequential model{Dense({.units = 8}), Dropout(0.3), Dense({.units = 1})};
    model.compile({.optimizer = Adam{.learning_rate = 0.05}, .loss = MeanSquaredError(), .metrics = {}});
    int64_t steps = 0;
    FitOptions options{.epochs = kEpochs, .steps_per_epoch = steps_per_epoch};
    options.callbacks = {BackupAndRestore({.path = path, .save_freq = 1}),
                         LambdaCallback({.on_batch_end = [&](int64_t, const Logs&) {
                           if (++steps == dies_after) throw FitSourceKilled();
                         }})};
    const std::vector<Logs> history = model.fit(data, options);
    std::vector<Variable> variables = model.variables();
    for (const Variable& variable : model.optimizer().variables()) variables.push_back(variable);
    std::vector<std::vector<std::byte>> out;
    for (const Variable& variable : variables) {
      const Tensor value = variable.read();
      const auto* bytes = static_cast<const std::byte*>(value.bytes());
      out.emplace_back(bytes, bytes + value.type().bytes());
    }
    for (const Logs& logs : history) {
      const double loss = logs.at("loss");
      const auto* bytes = reinterpret_cast<const std::byte*>(&loss);
      out.emplace_back(bytes, bytes + sizeof loss);
    }
    return out;
  }
  // Changes the checkpoint that a killed run has left.
  void change(const std::function<void(Checkpoint&)>& by) const {
    Checkpoint checkpoint = parse_checkpoint(posix_env().read_file(path));
    by(checkpoint);
    posix_env().write_file(path, checkpoint_bytes(checkpoint));
  }
};

TEST(FitSource, ARunThatIsKilledAtAnyStepGoesOnToTheSameBits) {
  Philox random(9);
  struct Case {
    bool by_bytes, shuffled;
    int steps, deaths;
  };
  for (const Case& one : {Case{true, false, 6, 20},
                          {false, true, 0, 20},
                          {false, false, 5, 3},
                          {true, true, 5, 3},
                          {true, true, 0, 3},
                          {false, false, 6, 3}}) {
    const FitSourceProgram program{
        .by_bytes = one.by_bytes, .shuffled = one.shuffled, .steps_per_epoch = one.steps};
    std::filesystem::remove(program.path);
    const auto wanted = program.run(-1, 3);
    const int64_t all = FitSourceProgram::kEpochs * (one.steps ? one.steps : 6);
    for (int i = 0; i < one.deaths; ++i) {
      const auto step = 2 + static_cast<int64_t>(random.below(static_cast<uint64_t>(all - 1)));
      EXPECT_THROW(program.run(step, 3), FitSourceKilled);
      // The program that goes on has another seed; that of the file counts.
      EXPECT_EQ(program.run(-1, 99), wanted) << step << ", " << one.steps << " steps an epoch";
      EXPECT_FALSE(posix_env().exists(program.path));
    }
  }
  set_seed(0);
}

// Rows are dealt in turn, so that element n of a pass is row n; batch b has rows 16 b to 16 b + 15 of 90.
TEST(FitSource, WhatIsReadAfterwardsIsWhatWasNotTrainedOn) {
  for (const bool by_bytes : {true, false}) {
    for (const int steps : {6, 0}) {
      const FitSourceProgram program{.by_bytes = by_bytes, .steps_per_epoch = steps};
      for (const int64_t step : {2, 5, 6, 7, 12, 13, 20, 24}) {
        std::filesystem::remove(program.path);
        EXPECT_THROW(program.run(step, 3), FitSourceKilled);
        program.run(-1, 3);
        std::vector<int64_t> wanted;
        // fit makes the variables with the first batch, and the parallel map has two elements at once.
        for (int64_t row = 0; row < 16; ++row) wanted.push_back(row);
        const int64_t trained = step - 1;  // the step in which it died was not saved
        for (int64_t row = std::min<int64_t>(trained % 6 * 16, 90); row < 90; ++row) wanted.push_back(row);
        for (int64_t pass = trained / 6 + 1; pass < FitSourceProgram::kEpochs; ++pass) {
          for (int64_t row = 0; row < 90; ++row) wanted.push_back(row);
        }
        EXPECT_EQ(program.reads->numbers, wanted) << "died in step " << step;
      }
    }
  }
  set_seed(0);
}

TEST(FitSource, ACheckpointHasACountForEachShardAndItsBytes) {
  const FitSourceProgram program;
  std::filesystem::remove(program.path);
  EXPECT_THROW(program.run(4, 3), FitSourceKilled);
  const Checkpoint checkpoint = parse_checkpoint(posix_env().read_file(program.path));
  const DatasetState state = state_of(checkpoint.cursor);
  EXPECT_EQ(state.elements, 3);
  ASSERT_EQ(state.sources.size(), 1u);
  ASSERT_EQ(state.sources[0].shards, 8);
  for (int64_t shard = 0; shard < 8; ++shard)  // 48 rows, dealt to 8
    EXPECT_EQ(state.sources[0].owned[static_cast<size_t>(shard)],
              (ShardState{shard, 6, cat("row ", 48 + shard)}));
  EXPECT_EQ(state_of(cursor_of(state)), state);
  set_seed(0);
}

TEST(FitSource, AnotherNumberOfShardsIsRefused) {
  FitSourceProgram program;
  std::filesystem::remove(program.path);
  EXPECT_THROW(program.run(4, 3), FitSourceKilled);
  program.shards = 4;
  try {
    program.run(-1, 3);
    ADD_FAILURE() << "it is not refused";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "backup.run");
    for (const char* part : {"from_source(8 shards)", "from_source(4 shards)"})
      EXPECT_NE(error.message().find(part), std::string::npos) << error.what();
  }
  set_seed(0);
}

// As they were before there were sources: with the number of elements alone.
TEST(FitSource, OldCheckpointsGoOn) {
  for (const int steps : {6, 0}) {
    const FitSourceProgram program{.shuffled = true, .steps_per_epoch = steps};
    std::filesystem::remove(program.path);
    const auto wanted = program.run(-1, 3);
    for (const int64_t step : {5, 9, 22}) {
      EXPECT_THROW(program.run(step, 3), FitSourceKilled);
      program.change([](Checkpoint& checkpoint) {
        const DatasetState state = state_of(checkpoint.cursor);
        checkpoint.cursor = cursor_of({state.seed, state.iteration, state.elements});
        EXPECT_EQ(checkpoint.cursor.numbers.size(), 3u);
      });
      EXPECT_NE(posix_env().read_file(program.path).find("\"version\":\"1\""), std::string::npos);
      EXPECT_EQ(program.run(-1, 99), wanted) << step;
    }
  }
  set_seed(0);
}

TEST(FitSource, DamagedPlacesAreRefused) {
  const FitSourceProgram program;
  const auto rule = [&](const std::function<void(DataCursor&)>& damage) {
    std::filesystem::remove(program.path);
    EXPECT_THROW(program.run(4, 3), FitSourceKilled);
    program.change([&](Checkpoint& checkpoint) { damage(checkpoint.cursor); });
    return rule_of([&] { program.run(-1, 3); });
  };
  EXPECT_EQ(rule([](DataCursor&) {}), "nothing");
  EXPECT_EQ(rule([](DataCursor& c) { c.bytes["sources/0/shards/3"] = "rox 51"; }), "dealt.place");
  EXPECT_EQ(rule([](DataCursor& c) { c.bytes["sources/0/shards/9"] = "row 51"; }), "checkpoint.cursor");
  EXPECT_EQ(rule([](DataCursor& c) { c.numbers["sources/0"] = 4; }), "dataset.restore");
  EXPECT_EQ(rule([](DataCursor& c) { c.numbers["sources"] = 2; }), "checkpoint.cursor");
  EXPECT_EQ(rule([](DataCursor& c) { c.numbers["sources"] = uint64_t{1} << 60; }), "checkpoint.cursor");
  EXPECT_EQ(rule([](DataCursor& c) { c.numbers["steps"] = 77; }), "checkpoint.cursor");
  EXPECT_EQ(rule([](DataCursor& c) { c.numbers.erase("steps/0"); }), "checkpoint.cursor");
  EXPECT_EQ(rule([](DataCursor& c) { c.numbers.erase("elements"); }), "checkpoint.cursor");
  EXPECT_EQ(rule([](DataCursor& c) { c.numbers["sources/0/shards/07"] = 6; }), "checkpoint.cursor");
  EXPECT_EQ(rule([](DataCursor& c) { c.numbers["sources/0/shards/x"] = 6; }), "checkpoint.cursor");
  EXPECT_EQ(rule([](DataCursor& c) { c.numbers["sources/0/shards/3"] = ~uint64_t{0}; }), "dataset.restore");
  EXPECT_EQ(rule([](DataCursor& c) {
              c.numbers.erase("sources/0/shards/3");
              c.bytes.erase("sources/0/shards/3");
            }),
            "dataset.restore");
  // A bit of the bytes in the file.
  std::filesystem::remove(program.path);
  EXPECT_THROW(program.run(4, 3), FitSourceKilled);
  std::string file = posix_env().read_file(program.path);
  const size_t at = file.find("row 4");
  ASSERT_NE(at, std::string::npos);
  file[at + 1] ^= 1;
  posix_env().write_file(program.path, file);
  EXPECT_EQ(rule_of([&] { program.run(-1, 3); }), "checkpoint.checksum");
  std::filesystem::remove(program.path);
  set_seed(0);
}

}  // namespace
}  // namespace espalier
