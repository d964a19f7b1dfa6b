// Loops over a source in shards, shuffled and kept: the order of one iterator, on any number of workers.
#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include "base/scratch_test.h"
#include "data/dataset_sources_test.h"
#include "espalier/layers.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

// The rows of a step by shard, since workers have them shard by shard.
using StepOfShards = std::map<int32_t, std::vector<int32_t>>;

void add_rows(StepOfShards& step, const Tensor& rows) {
  for (const int32_t row : rows.to_vector<int32_t>()) step[row / 1000].push_back(row);
}

std::vector<StepOfShards> read_by_one(const Dataset& data) {
  set_seed(3);  // of this thread, as of each worker
  std::vector<StepOfShards> out;
  DatasetIterator iterator(data, 0);
  while (const auto element = iterator.next()) add_rows(out.emplace_back(), element->at(1));
  return out;
}

std::vector<StepOfShards> read_by_workers(const Dataset& data, int world) {
  std::vector<StepOfShards> out;
  std::mutex mutex;
  on_each_worker(world, [&](const Strategy& workers) {
    set_seed(3);
    DistributedDataset batches = workers.distribute(data);
    for (size_t step = 0; const auto batch = batches.next(); ++step) {
      const std::lock_guard hold(mutex);
      if (step == out.size()) out.emplace_back();
      add_rows(out.at(step), batch->at(1).values[0]);
    }
  });
  return out;
}

const std::vector<int64_t> kShards = {13, 0, 22, 1, 9, 17, 5, 11};

TEST(ShardLoops, ShuffledAndCachedShardsComeInOneOrder) {
  const Dataset rows = NumberedShards{kShards}.dataset();
  for (const Dataset& data : {rows.shuffle(20).batch(7).repeat(2), rows.shuffle(9).repeat(3).batch(10),
                              rows.cache().batch(8).repeat(2),
                              rows.shuffle(30).cache().shuffle(12).batch(9).prefetch(2).repeat(3)}) {
    SCOPED_TRACE(to_string(data));
    const std::vector<StepOfShards> wanted = read_by_one(data);
    ASSERT_GE(wanted.size(), 20u);
    for (const int world : {1, 2, 3, 5}) EXPECT_EQ(read_by_workers(data, world), wanted) << world;
  }
}

// Each shard is kept by itself: other workers, of another number, read none of it again.
TEST(ShardLoops, AnyNumberOfWorkersReadWhatOthersHaveKept) {
  for (const int first : {1, 3}) {
    const NumberedShards shards{kShards};
    const Dataset data =
        shards.dataset().shuffle(20).cache(fresh_folder(cat("shard-loops-", first)) + "/kept").batch(9);
    const std::vector<StepOfShards> wanted =
        read_by_one(NumberedShards{kShards}.dataset().shuffle(20).batch(9));
    EXPECT_EQ(read_by_workers(data, first), wanted);
    EXPECT_EQ(shards.calls->elements, 78);
    shards.calls->reset();
    for (const int world : {2, 5, 1, 3}) EXPECT_EQ(read_by_workers(data, world), wanted) << world;
    EXPECT_EQ(shards.calls->elements, 0);
  }
}

}  // namespace
}  // namespace espalier
