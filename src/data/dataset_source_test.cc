#include "data/dataset_source.h"

#include "base/rule_of_test.h"
#include "data/dataset_sources_test.h"
#include "data/shard_order.h"

namespace espalier {
namespace {

PlainElements joined(const std::vector<PlainElements>& parts) {
  PlainElements out;
  for (const PlainElements& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

TEST(DatasetSource, ElementsComeFromTheShardsInTurn) {
  Philox random(1);
  for (int i = 0; i < 200; ++i) {
    const NumberedShards shards = random_shards(random, kAllFinds[i % 3]);
    const PlainElements wanted = shards.expected();
    ASSERT_EQ(all_of(shards.dataset()), wanted) << i;
    const auto passed = static_cast<int64_t>(random.below(wanted.size() + 3));
    ASSERT_EQ(all_of(shards.dataset().skip(passed)),
              PlainElements(wanted.begin() + std::min<int64_t>(passed, std::ssize(wanted)), wanted.end()))
        << i << ", without the first " << passed;
  }
}

TEST(DatasetSource, GoesOnWhereItWasSavedWithoutReadingWhatIsBefore) {
  Philox random(2);
  for (int i = 0; i < 300; ++i) {
    const NumberedShards shards = random_shards(random, kAllFinds[i % 3]);
    const PlainElements wanted = shards.expected();
    const auto cut = static_cast<size_t>(random.below(wanted.size() + 1));
    DatasetIterator first(shards.dataset(), 0);
    const PlainElements before = rest_of(first, cut);
    const DatasetState state = first.save();
    ASSERT_EQ(state.sources.size(), 1u);
    for (const ShardState& shard : state.sources[0].owned) {
      const auto given = std::count_if(before.begin(), before.end(), [&](const PlainElement& element) {
        return label(element) / 1000 == shard.shard;
      });
      EXPECT_EQ(shard.elements, given);
    }
    DatasetIterator second(shards.dataset(), 5);
    shards.calls->reset();
    second.restore(state);
    EXPECT_EQ(second.save(), state);
    ASSERT_EQ(joined({before, rest_of(second)}), wanted) << i << ", cut at " << cut;
    const auto left = static_cast<int64_t>(wanted.size() - cut);
    EXPECT_EQ(shards.calls->elements, shards.finds == Finds::kByNext ? std::ssize(wanted) : left);
  }
}

// With one, two, three and more processes, whichever shards they own.
TEST(DatasetSource, ReadersOfSomeShardsTogetherGiveEachElementOnce) {
  Philox random(3);
  for (int i = 0; i < 60; ++i) {
    NumberedShards shards = random_shards(random, kAllFinds[i % 3]);
    shards.sizes.resize(8, 5);
    const Dataset data = shards.dataset().map([](const Tensors& e) { return e; }).prefetch(2);
    for (const int64_t readers : {1, 2, 3, 11}) {
      std::vector<std::vector<int64_t>> owned(static_cast<size_t>(readers));
      for (int64_t shard = 0; shard < 8; ++shard) {
        if (i % 2) owned[random.below(owned.size())].push_back(shard);
      }
      PlainElements all;
      for (int64_t reader = 0; reader < readers; ++reader) {
        std::vector<int64_t>& mine = owned[static_cast<size_t>(reader)];
        if (i % 2 == 0) mine = owned_shards(8, reader, readers);
        std::reverse(mine.begin(), mine.end());
        const PlainElements part = all_of(data.read_shards(8, mine));
        ASSERT_EQ(part, shards.expected(mine));
        all.insert(all.end(), part.begin(), part.end());
      }
      // Put into order by the numbers of elements in their shards, they are what one reader gives.
      std::stable_sort(all.begin(), all.end(), [](const PlainElement& a, const PlainElement& b) {
        const int32_t x = label(a), y = label(b);
        return std::pair(x % 1000, x / 1000) < std::pair(y % 1000, y / 1000);
      });
      ASSERT_EQ(all, shards.expected()) << readers << " readers";
    }
  }
}

TEST(DatasetSource, RowsOfMemoryAndOfFilesAreReadByShardsToo) {
  const Dataset rows = Dataset::from_tensor_slices(counting({21}));
  for (const int64_t readers : {1, 2, 3}) {
    std::vector<int32_t> seen(21, 0);
    for (int64_t reader = 0; reader < readers; ++reader) {
      const std::vector<int64_t> mine = owned_shards(8, reader, readers);
      const Dataset part = rows.read_shards(8, mine);
      std::vector<int32_t> wanted;
      for (int32_t row = 0; row < 21; ++row) {
        if (std::find(mine.begin(), mine.end(), row % 8) != mine.end()) wanted.push_back(row);
      }
      std::vector<int32_t> got;
      for (const PlainElement& element : all_of(part)) got.push_back(label(element));
      EXPECT_EQ(got, wanted);
      EXPECT_EQ(part.cardinality(), std::ssize(wanted));
      for (const PlainElement& element : all_of(part.shuffle(30)))
        ++seen[static_cast<size_t>(label(element))];
    }
    EXPECT_EQ(seen, std::vector<int32_t>(21, 1)) << readers;
  }
  EXPECT_EQ(all_of(rows.read_shards(3, {0, 1, 2})), all_of(rows));
  EXPECT_EQ(all_of(rows.repeat(2).read_shards(20, {0})).size(), 4u);
}

struct FewFiles {
  std::shared_ptr<std::vector<std::string>> read = std::make_shared<std::vector<std::string>>();
  // File i has the rows 100 * i, ..., 5 - i of them.
  Dataset dataset(int64_t shards) const {
    return Dataset::from_files({"0", "1", "2", "3", "4"},
                               [log = read](const std::string& path) -> Tensors {
                                 log->push_back(path);
                                 const auto i = static_cast<int32_t>(std::stoi(path));
                                 return {counting({5 - i}, 100 * i)};
                               },
                               {.shards = shards});
  }
  static std::vector<int32_t> labels(const PlainElements& elements) {
    std::vector<int32_t> out;
    for (const PlainElement& element : elements) out.push_back(label(element));
    return out;
  }
};

TEST(DatasetSource, FilesBelongToShardsOneByOne) {
  const FewFiles files;
  using Labels = std::vector<int32_t>;
  EXPECT_EQ(files.labels(all_of(files.dataset(1))),
            (Labels{0, 1, 2, 3, 4, 100, 101, 102, 103, 200, 201, 202, 300, 301, 400}));
  // Files 0, 2, 4 are shard 0's, 1 and 3 shard 1's.
  EXPECT_EQ(files.labels(all_of(files.dataset(2))),
            (Labels{0, 100, 1, 101, 2, 102, 3, 103, 4, 300, 200, 301, 201, 202, 400}));
  EXPECT_EQ(files.labels(all_of(files.dataset(2).read_shards(2, {1}))),
            (Labels{100, 101, 102, 103, 300, 301}));
  files.read->clear();
  all_of(files.dataset(3).read_shards(3, {2}));
  EXPECT_EQ(*files.read, (std::vector<std::string>{"2"})) << "of others nothing is read";
  EXPECT_EQ(files.labels(all_of(files.dataset(7))),
            (Labels{0, 100, 200, 300, 400, 1, 101, 201, 301, 2, 102, 202, 3, 103, 4}));
  EXPECT_EQ(rule_of([&] { files.dataset(0); }), "from_files.shards");
}

TEST(DatasetSource, FilesBeforeThePlaceAreNotReadAgain) {
  const FewFiles files;
  for (const int64_t shards : {1, 2}) {
    const PlainElements wanted = all_of(files.dataset(shards));
    for (size_t cut = 0; cut <= wanted.size(); ++cut) {
      std::optional<DatasetIterator> first(std::in_place, files.dataset(shards).prefetch(3), 0);
      const PlainElements before = rest_of(*first, cut);
      const DatasetState state = first->save();
      first.reset();  // it would go on reading ahead
      DatasetIterator second(files.dataset(shards).prefetch(3), 0);
      files.read->clear();
      second.restore(state);
      ASSERT_EQ(joined({before, rest_of(second)}), wanted) << cut;
      if (shards == 2) continue;
      // A place between two files is before the next one.
      const size_t files_passed = cut < 5 ? 0 : cut < 9 ? 1 : cut < 12 ? 2 : cut < 14 ? 3 : cut < 15 ? 4 : 5;
      EXPECT_EQ(files.read->size(), 5 - files_passed) << cut;
    }
  }
}

TEST(DatasetSource, APlaceThatNoFileHasIsRefused) {
  const FewFiles files;
  DatasetIterator iterator(files.dataset(2), 0);
  rest_of(iterator, 3);
  const DatasetState state = iterator.save();
  EXPECT_EQ(*state.sources[0].owned[0].bytes, "0 2");
  for (const char* bytes : {"", "0", "0 ", "0 2 ", " 0 2", "1 0", "-2 0", "0 -1", "0 5", "0 6", "8 0", "6 1",
                            "99999999999999999999 0", "0 99999999999999999999", "0 2x", "a b"}) {
    DatasetState damaged = state;
    damaged.sources[0].owned[0].bytes = bytes;
    EXPECT_EQ(rule_of([&] { iterator.restore(damaged); }), "from_files.restore") << bytes;
  }
  EXPECT_EQ(iterator.save(), state) << "it stays where it was";
}

// Behind a shuffle it is the oldest element in the buffer that counts, in a filter what it has read, in
// repeat() the passes.
TEST(DatasetSource, NothingBeforeThePlaceIsReadThroughAnyStep) {
  for (const Finds finds : {Finds::kBySkip, Finds::kByBytes}) {
    NumberedShards shards{std::vector<int64_t>(8, 200), finds};
    const Dataset data = shards.dataset();
    const auto odd = [](const Tensor&, const Tensor& y) { return y.item<int32_t>() % 2 == 1; };
    const auto same = [](const Tensors& element) { return element; };
    struct Case {
      Dataset dataset;
      int64_t seen, most;
    };
    const Case cases[] = {
        {data, 1500, 1},
        {data.batch(32).prefetch(2), 45, 5 * 32},
        {data.map(same, {.num_parallel_calls = 4}), 1500, 5},
        {data.filter(odd), 700, 5},
        {data.filter(odd).batch(10).prefetch(1), 70, 4 * 20},
        {data.repeat(), 16000 - 5, 1},
        {data.shuffle(20).repeat(), 16000 - 100, 300},
        {data.shuffle(20).map(same, {.num_parallel_calls = 2}).batch(10).repeat().prefetch(2), 1590, 350},
        {data.skip(50).shard(2, 1).take(700), 690, 3},
        {data.enumerate().concatenate(data.enumerate()), 3000, 1},
        {Dataset::zip({data, Dataset::from_tensor_slices(counting({3000}))}), 1500, 1},
    };
    for (const Case& one : cases) {
      std::optional<DatasetIterator> first(std::in_place, one.dataset, 0);
      for (int64_t i = 0; i < one.seen; ++i) ASSERT_TRUE(first->next()) << to_string(one.dataset);
      const DatasetState state = first->save();
      const PlainElements wanted = rest_of(*first, 200);
      first.reset();  // it would go on reading ahead
      DatasetIterator second(one.dataset, 3);
      shards.calls->reset();
      second.restore(state);
      const auto element = second.next();
      ASSERT_TRUE(element);
      EXPECT_LE(shards.calls->elements, one.most) << to_string(one.dataset);
      ASSERT_EQ(joined({{plain(*element)}, rest_of(second, 199)}), wanted) << to_string(one.dataset);
    }
  }
}

TEST(DatasetSource, IsAskedForBytesOnlyWhereAStateMayBeSaved) {
  const NumberedShards shards{std::vector<int64_t>(4, 50), Finds::kByBytes};
  all_of(shards.dataset().batch(4));
  EXPECT_EQ(shards.calls->saved, 0);
  all_of(shards.dataset().batch(4).prefetch(2));
  EXPECT_EQ(shards.calls->saved, 200) << "once for each element behind prefetch()";
  shards.calls->reset();
  all_of(shards.dataset().shuffle(160));
  EXPECT_LE(shards.calls->saved, 4 * (50 / 2 + 1)) << "for each 16th part of a shard's buffer of 40";
}

TEST(DatasetSource, AnotherNumberOfShardsIsRefused) {
  const NumberedShards eight{std::vector<int64_t>(8, 5)}, four{std::vector<int64_t>(4, 5)};
  DatasetIterator first(eight.dataset(), 0), second(four.dataset(), 0);
  rest_of(first, 3);
  try {
    second.restore(first.save());
    ADD_FAILURE() << "it is not refused";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "dataset.restore");
    EXPECT_EQ(error.message(), "the state is of a source in 8 shards, from_source(4 shards) has 4");
    EXPECT_EQ(error.fix(), "set shards to 8");
  }
  EXPECT_EQ(rest_of(second), four.expected()) << "it stays where it was";
}

// The counts of all shards are all that another number of readers needs.
TEST(DatasetSource, AStateOfOneReaderIsOneOfMany) {
  for (const Finds finds : kAllFinds) {
    const NumberedShards shards{{5, 3, 0, 7, 7, 2, 6, 4}, finds};
    const PlainElements wanted = shards.expected();
    DatasetIterator one(shards.dataset(), 0);
    const PlainElements before = rest_of(one, 17);
    const DatasetState state = one.save();
    size_t seen = 0;
    for (int64_t reader = 0; reader < 3; ++reader) {
      const std::vector<int64_t> mine = owned_shards(8, reader, 3);
      DatasetIterator part(shards.dataset().read_shards(8, mine), 0);
      part.restore(state);
      PlainElements rest;
      for (size_t i = 17; i < wanted.size(); ++i) {
        if (std::find(mine.begin(), mine.end(), label(wanted[i]) / 1000) != mine.end())
          rest.push_back(wanted[i]);
      }
      EXPECT_EQ(rest_of(part), rest);
      seen += rest.size();
    }
    EXPECT_EQ(seen, wanted.size() - 17);
    DatasetIterator part(shards.dataset().read_shards(8, {0, 1}), 0);
    EXPECT_EQ(rule_of([&] { DatasetIterator(shards.dataset(), 0).restore(part.save()); }), "dataset.restore");
  }
}

TEST(DatasetSource, OwnedShardsAreNeighboursAndAllOfThem) {
  using Shards = std::vector<int64_t>;
  EXPECT_EQ(owned_shards(8, 0, 3), (Shards{0, 1}));
  EXPECT_EQ(owned_shards(8, 1, 3), (Shards{2, 3, 4}));
  EXPECT_EQ(owned_shards(8, 2, 3), (Shards{5, 6, 7}));
  for (int64_t shards = 1; shards < 20; ++shards) {
    for (int64_t ranks = 1; ranks < 24; ++ranks) {
      Shards all;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        const Shards mine = owned_shards(shards, rank, ranks);
        EXPECT_LE(std::ssize(mine), shards / ranks + 1);
        EXPECT_GE(std::ssize(mine), shards / ranks);
        all.insert(all.end(), mine.begin(), mine.end());
      }
      Shards wanted(static_cast<size_t>(shards));
      std::iota(wanted.begin(), wanted.end(), int64_t{0});
      EXPECT_EQ(all, wanted);
    }
  }
  EXPECT_EQ(rule_of([] { owned_shards(0, 0, 1); }), "owned_shards.shards");
  EXPECT_EQ(rule_of([] { owned_shards(8, 0, 0); }), "owned_shards.ranks");
  EXPECT_EQ(rule_of([] { owned_shards(8, 3, 3); }), "owned_shards.rank");
  EXPECT_EQ(rule_of([] { owned_shards(8, -1, 3); }), "owned_shards.rank");
}

// Before a shard ends row r of batch b of B rows is of shard (b * B + r) mod L; behind that, of those that
// are left.
TEST(DatasetSource, AReaderKnowsWhichRowsOfAGlobalBatchAreItsOwn) {
  ShardOrder order;
  for (int64_t shard = 0; shard < 8; ++shard) order.add(shard, 0);
  const int64_t kBatch = 12;
  for (int64_t row = 0; row < 10 * kBatch; ++row) {
    EXPECT_EQ(order.shard(), row % 8);
    order.gives();
  }
  Philox random(5);
  for (int i = 0; i < 200; ++i) {
    const NumberedShards shards = random_shards(random, Finds::kByNext);
    ShardOrder walk, jump;
    for (int64_t shard = 0; shard < std::ssize(shards.sizes); ++shard) {
      const auto from = static_cast<int64_t>(i % 2 ? random.below(6) : 0);  // out of step, as after a restore
      walk.add(shard, from);
      jump.add(shard, from);
    }
    const auto count = static_cast<int64_t>(random.below(60));
    std::map<int64_t, int64_t> wanted, got;
    for (int64_t k = 0; k < count; ++k) {
      ++wanted[walk.shard()];
      walk.gives();
    }
    for (const ShardOrder::Part& part : jump.parts(count)) got[part.shard] = part.elements;
    ASSERT_EQ(got, wanted);
  }
}

TEST(DatasetSource, PassesDifferByTheirNumberAndAreTheSameInEveryProcess) {
  std::vector<uint64_t> passes;
  const Dataset data = Dataset::from_source(
      [&](DataShard shard, uint64_t pass) {
        if (shard.index == 0) passes.push_back(pass);
        return std::make_unique<NumberedSource>(shard.index, 2, Finds::kByBytes,
                                                std::make_shared<SourceCalls>());
      },
      {.shards = 2});
  DatasetIterator first(data.repeat(3), 0);
  rest_of(first, 6);
  const DatasetState state = first.save();
  rest_of(first);
  const std::vector<uint64_t> all = passes;
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
  passes.clear();
  DatasetIterator second(data.repeat(3), 0);
  second.restore(state);
  rest_of(second);
  EXPECT_EQ(passes, (std::vector<uint64_t>{all[1], all[2]})) << "the pass before is not opened";
  passes.clear();
  rest_of(*std::make_unique<DatasetIterator>(data, 1));
  EXPECT_NE(passes[0], all[0]);
}

TEST(DatasetSource, WhatAPassGivesIsKnownWhereItIsSaid) {
  const auto calls = std::make_shared<SourceCalls>();
  const auto dataset = [&](int64_t said) {
    return Dataset::from_source(
        [calls](DataShard shard, uint64_t) {
          return std::make_unique<NumberedSource>(shard.index, 10, Finds::kByBytes, calls);
        },
        {.shards = 3, .elements = said});
  };
  EXPECT_EQ(dataset(30).cardinality(), 30);
  EXPECT_EQ(dataset(30).batch(4).repeat(2).cardinality(), 16);
  EXPECT_EQ(dataset(30).read_shards(3, {1}).cardinality(), Dataset::kUnknown);
  EXPECT_EQ(all_of(dataset(30)).size(), 30u);
  EXPECT_EQ(rule_of([&] { all_of(dataset(31)); }), "from_source.elements");
  EXPECT_EQ(rule_of([&] { all_of(dataset(29)); }), "from_source.elements");
  calls->reset();
  DatasetIterator iterator(dataset(30).repeat(), 0);
  iterator.restore({.elements = 30 * 1000000 + 4});
  iterator.next();
  EXPECT_EQ(calls->opened, 3) << "passes before are not opened";
  EXPECT_EQ(all_of(dataset(30).read_shards(3, {2})).size(), 10u);
}

}  // namespace
}  // namespace espalier
