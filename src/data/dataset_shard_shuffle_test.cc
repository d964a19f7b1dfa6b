// Shuffles of a source in shards, beside what their order has to be.
#include <algorithm>
#include <set>

#include "base/rule_of_test.h"
#include "data/dataset_sources_test.h"

namespace espalier {
namespace {

// The numbers of elements in their shards, shard by shard, as they come.
std::vector<std::vector<int64_t>> orders_of(const PlainElements& elements, size_t shards) {
  std::vector<std::vector<int64_t>> out(shards);
  for (const PlainElement& element : elements)
    out[static_cast<size_t>(label(element) / 1000)].push_back(label(element) % 1000);
  return out;
}

std::vector<int64_t> shards_in_turn(const PlainElements& elements) {
  std::vector<int64_t> out;
  for (const PlainElement& element : elements) out.push_back(label(element) / 1000);
  return out;
}

TEST(ShardShuffle, EachShardHasABufferOfItsPartOfTheSize) {
  Philox random(11);
  for (int i = 0; i < 100; ++i) {
    const NumberedShards shards = random_shards(random, kAllFinds[i % 3], 9, 30);
    const auto count = std::ssize(shards.sizes);
    const auto size = static_cast<int64_t>(1 + random.below(60));
    const PlainElements got = all_of(shards.dataset().shuffle(size), static_cast<uint64_t>(i));
    // Shards come in the turns that they have without a shuffle.
    ASSERT_EQ(shards_in_turn(got), shards_in_turn(shards.expected()));
    if (count == 1) continue;
    const int64_t buffer = (size + count - 1) / count;
    const auto orders = orders_of(got, shards.sizes.size());
    for (size_t shard = 0; shard < orders.size(); ++shard) {
      std::vector<int64_t> sorted = orders[shard];
      std::ranges::sort(sorted);
      for (int64_t k = 0; k < shards.sizes[shard]; ++k) ASSERT_EQ(sorted.at(static_cast<size_t>(k)), k);
      for (size_t place = 0; place < orders[shard].size(); ++place)
        ASSERT_LT(orders[shard][place], static_cast<int64_t>(place) + buffer) << "it was not read yet";
    }
  }
}

// With a buffer for all, each order of three is as likely as any other: 600 draws of 6, each within 5 sigma.
TEST(ShardShuffle, OrdersAreEquallyLikely) {
  const NumberedShards shards{{3, 3}};
  std::map<std::vector<int64_t>, int> seen[2];
  for (uint64_t pass = 0; pass < 600; ++pass) {
    const auto orders = orders_of(all_of(shards.dataset().shuffle(6), pass), 2);
    for (size_t shard = 0; shard < 2; ++shard) ++seen[shard][orders[shard]];
  }
  for (const auto& of_shard : seen) {
    EXPECT_EQ(of_shard.size(), 6u);
    for (const auto& [order, times] : of_shard) EXPECT_NEAR(times, 100, 46);
  }
}

TEST(ShardShuffle, OrdersFollowSeedPassShardAndPlace) {
  const NumberedShards shards{{40, 40, 40}};
  const Dataset data = shards.dataset();
  const auto orders = [&](const Dataset& shuffled, uint64_t pass) {
    return orders_of(all_of(shuffled, pass), 3);
  };
  const auto first = orders(data.shuffle(120, {.seed = 7}), 0);
  EXPECT_EQ(orders(data.shuffle(120, {.seed = 7}), 0), first);
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first[1], first[2]);
  EXPECT_NE(orders(data.shuffle(120, {.seed = 8}), 0)[0], first[0]);
  EXPECT_NE(orders(data.shuffle(120, {.seed = 7}), 1)[0], first[0]);
  const ShuffleOptions kept{.seed = 7, .reshuffle_each_iteration = false};
  EXPECT_EQ(orders(data.shuffle(120, kept), 1), orders(data.shuffle(120, kept), 5));
  // Two shuffles are no one shuffle twice.
  EXPECT_NE(orders(data.shuffle(120, {.seed = 7}).shuffle(120, {.seed = 7}), 0)[0], first[0]);
}

// By whoever reads which shards: the order of a shard is its own.
TEST(ShardShuffle, AShardsOrderDoesNotDependOnWhoReadsOthers) {
  Philox random(12);
  for (int i = 0; i < 20; ++i) {
    NumberedShards shards = random_shards(random, kAllFinds[i % 3], 8, 20);
    shards.sizes.resize(8, 5);
    const Dataset data =
        i % 2 ? shards.dataset().shuffle(17)
              : shards.dataset().prefetch(1).shuffle(30).map([](const Tensors& e) { return e; }).shuffle(8);
    const auto whole = orders_of(all_of(data), 8);
    for (const int64_t readers : {1, 2, 3, 5, 11}) {
      std::vector<std::vector<int64_t>> orders(8);
      for (int64_t reader = 0; reader < readers; ++reader) {
        const std::vector<int64_t> mine = owned_shards(8, reader, readers);
        const auto part = orders_of(all_of(data.read_shards(8, mine)), 8);
        for (const int64_t shard : mine)
          orders[static_cast<size_t>(shard)] = part[static_cast<size_t>(shard)];
      }
      ASSERT_EQ(orders, whole) << readers << " readers";
    }
  }
}

TEST(ShardShuffle, GoesOnWhereItWasSaved) {
  Philox random(13);
  for (int i = 0; i < 80; ++i) {
    const NumberedShards shards = random_shards(random, kAllFinds[i % 3], 6, 25);
    const auto size = static_cast<int64_t>(1 + random.below(40));
    Dataset data = shards.dataset().shuffle(size);
    if (i % 4 == 1) data = data.prefetch(2).shuffle(5);
    if (i % 4 == 2) data = data.repeat(2);
    if (i % 4 == 3) data = data.batch(1).prefetch(1);
    const PlainElements wanted = all_of(data, 4);
    DatasetIterator first(data, 4);
    const PlainElements before = rest_of(first, random.below(wanted.size() + 1));
    const DatasetState state = first.save();
    DatasetIterator second(data, 0);
    second.restore(state);
    EXPECT_EQ(second.save(), state);
    PlainElements got = before;
    for (const PlainElement& element : rest_of(second)) got.push_back(element);
    ASSERT_EQ(got, wanted) << i << ", cut at " << before.size();
  }
}

// A reader of some shards goes on from the places of all.
TEST(ShardShuffle, APartOfTheShardsGoesOnFromTheStateOfAll) {
  const NumberedShards shards{{20, 20, 20, 20}};
  const Dataset data = shards.dataset().shuffle(24);
  const auto whole = orders_of(all_of(data), 4);
  DatasetIterator first(data, 0);
  rest_of(first, 36);
  for (int64_t shard = 0; shard < 4; ++shard) {
    DatasetIterator part(data.read_shards(4, {shard}), 0);
    part.restore(first.save());
    const auto rest = orders_of(rest_of(part), 4)[static_cast<size_t>(shard)];
    const auto& all = whole[static_cast<size_t>(shard)];
    EXPECT_EQ(rest, std::vector<int64_t>(all.begin() + 9, all.end()));
  }
}

TEST(ShardShuffle, PlacesOfOtherStepsAreRefused) {
  const NumberedShards shards{{9, 9, 9}};
  const Dataset plain = shards.dataset(), shuffled = plain.shuffle(6);
  const auto rule = [](const Dataset& of, DatasetState state, int64_t layout = -1) {
    if (layout == 0) state.layout = 0;
    return rule_of([&] { DatasetIterator(of, 0).restore(state); });
  };
  const auto saved = [](const Dataset& of) {
    DatasetIterator iterator(of, 0);
    rest_of(iterator, 7);
    return iterator.save();
  };
  EXPECT_EQ(rule(shuffled, saved(shuffled)), "nothing");
  EXPECT_EQ(rule(shuffled, saved(plain)), "dataset.restore");
  EXPECT_EQ(rule(shuffled, saved(plain), 0), "dataset.restore");
  EXPECT_EQ(rule(plain, saved(shuffled), 0), "dataset.restore");
  const NumberedShards two{{9, 9}};
  EXPECT_EQ(rule(shuffled, saved(two.dataset().shuffle(6))), "dataset.restore");
  DatasetState lacks = saved(shuffled);
  lacks.sources[0].owned.pop_back();
  EXPECT_EQ(rule(shuffled, lacks), "dataset.restore");
}

}  // namespace
}  // namespace espalier
