// Loops of one's own that die in calls that a seed draws, and go on: alone or with others, from data in
// memory and in shards, shuffled, on logical shards or not.
#include <gtest/gtest.h>

#include "base/drawn_test.h"
#include "base/philox.h"
#include "train/dying_loop_test.h"

namespace espalier {
namespace {

// On one device, on two of this process, on workers.
constexpr int kWorlds[] = {0, -1, 2, 3};

template <class T, size_t n>
const T& any_of(const T (&all)[n], Philox& random) {
  return all[random.below(n)];
}

void expect_goes_on(uint64_t seed, int logical_shards) {
  Philox random(seed);
  LoopProgram program{.folder = no_checkpoints(cat("drawn_", logical_shards)),
                      .logical_shards = logical_shards};
  program.data = any_of({in_memory, in_shards, in_shuffled_shards}, random);
  program.save_every = 1 + static_cast<int64_t>(random.below(5));
  const int before = any_of(kWorlds, random),
            behind = random.below(3) == 0 ? before : any_of(kWorlds, random);
  // Logical shards have one set of bits. Without them other sums round otherwise, and rows and what is drawn
  // beside them are those of one device.
  const bool all_bits = logical_shards > 0 || before == behind;
  const LoopOutcome wanted = program.run(all_bits && logical_shards == 0 ? behind : 0);
  std::map<int, int> rows;
  for (const auto& [call, ids] : wanted.rows)
    for (const int id : ids) ++rows[id];
  ASSERT_EQ(rows, rows_of(program.data));
  std::filesystem::remove_all(program.folder);

  // At least one call is left, in which the model makes what waits for it.
  const LoopDeath death{
      .call = 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(wanted.calls - 1))),
      .worker = static_cast<int>(random.below(static_cast<uint64_t>(std::max(before, 1)))),
      .where =
          any_of({LoopDeath::kBeforeTheCall, LoopDeath::kBehindTheCall, LoopDeath::kBehindTheSave}, random)};
  SCOPED_TRACE(cat("ESPALIER_SEED=", seed, ": on ", before, ", where worker ", death.worker, " dies in call ",
                   death.call, ", then on ", behind));
  const LoopOutcome first = program.run(before, death);
  for (const std::string& error : first.errors) EXPECT_NE(error.find("the loop dies"), error.npos) << error;
  const LoopOutcome again = program.run(behind);
  for (const std::string& error : again.errors) EXPECT_EQ(error, "");

  // Who dies in a save may have left the one before.
  const int64_t saves = (death.call - (death.where != LoopDeath::kBehindTheSave)) / program.save_every;
  const int64_t restored = again.restored[0].value_or(0);
  EXPECT_TRUE(restored == saves || (before > 1 && restored == saves - 1)) << restored << " of " << saves;
  for (const auto& by_worker : again.restored) EXPECT_EQ(by_worker, again.restored[0]);
  RowsOfCalls all = again.rows;
  for (const auto& [call, ids] : first.rows)
    EXPECT_TRUE(call > restored * program.save_every || all.emplace(call, ids).second) << call << " twice";
  EXPECT_EQ(all, wanted.rows);
  EXPECT_EQ(again.calls, wanted.calls);
  for (const auto& [name, bits] : wanted.bits)
    EXPECT_TRUE(again.bits.at(name) == bits || !(all_bits || name == "drawn" || name == "sum")) << name;
}

void expect_all_go_on(uint64_t count, int logical_shards) {
  for (uint64_t i = 0; i < count; ++i) expect_goes_on(first_seed() + i, logical_shards);
}

TEST(CheckpointDrawn, ALoopThatDiesInAnyCallGoesOn) { expect_all_go_on(4, 0); }
TEST(CheckpointDrawn, OnLogicalShardsItEndsInTheBitsOfOneDevice) { expect_all_go_on(3, 8); }
TEST(CheckpointDrawn, NightlyALoopThatDiesInAnyCallGoesOn) { expect_all_go_on(60, 0); }
TEST(CheckpointDrawn, NightlyOnLogicalShardsItEndsInTheBitsOfOneDevice) { expect_all_go_on(60, 8); }

}  // namespace
}  // namespace espalier
