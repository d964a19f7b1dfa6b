// Which rows and shards are whose, against loops over ranks.
#include "strategy/data_shares.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "espalier/espalier.h"
#include "strategy/replicas.h"
#include "strategy/workers_test.h"

namespace espalier {
namespace {

TEST(ReplicaRows, AreSharedOutOnceAndEvenly) {
  for (const int world : {1, 2, 3, 5, 8}) {
    const DataShares shares = strategy::Mirrored({.devices = world}).replicas()->shares();
    for (int64_t count = 0; count <= 20; ++count) {
      int64_t next = 0;
      for (int rank = 0; rank < world; ++rank) {
        const auto [first, last] = shares.rows_of(count, rank);
        EXPECT_EQ(first, next) << rank << " of " << world;
        EXPECT_TRUE(last - first == count / world || (count % world && last - first == count / world + 1))
            << last - first << " of " << count;
        next = last;
      }
      EXPECT_EQ(next, count) << world;
    }
  }
}

TEST(DataShares, OfAProcessAreThoseOfItsReplicas) {
  const DataShares shares(Mesh{.world = 5, .first = 1, .count = 3}, {});
  for (const int64_t count : {0, 4, 10, 12}) {
    const auto [first, last] = shares.own_rows(count);
    EXPECT_EQ(first, shares.rows_of(count, 1).first);
    EXPECT_EQ(last, shares.rows_of(count, 3).second);
  }
  EXPECT_EQ(shares.own_rows(10), (std::pair<int64_t, int64_t>{2, 8}));
  EXPECT_EQ(shares.shards_of(8, 1), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(shares.shards_of(8, 4), (std::vector<int64_t>{6, 7}));
  EXPECT_EQ(DataShares().own_rows(7), (std::pair<int64_t, int64_t>{0, 7})) << "one replica has all";
}

TEST(DataShares, AreReadByShardsWhereThereAreSeveralReadersOrLogicalShards) {
  DataShares alone;
  EXPECT_FALSE(alone.by_shards());
  EXPECT_EQ(alone.readers().count, 1);
  alone.logical_shards = 4;
  EXPECT_TRUE(alone.by_shards());
  EXPECT_EQ(alone.readers().count, 1);
  EXPECT_FALSE(strategy::Mirrored({.devices = 2}).replicas()->shares().by_shards())
      << "one process reads all";
  on_each_worker(3, [](const Strategy& workers) {
    const DataShares& shares = workers.replicas()->shares();
    EXPECT_TRUE(shares.by_shards() && shares.deals_shards);
    const Readers readers = shares.readers();
    EXPECT_EQ(readers.rank, workers.worker());
    EXPECT_EQ(readers.count, 3);
    const std::string mine(2, static_cast<char>('a' + workers.worker()));
    EXPECT_EQ(readers.gather("letters", mine), "aabbcc");
  });
}

}  // namespace
}  // namespace espalier
