// Caches of datasets, in memory and in folders.
#include <algorithm>
#include <atomic>
#include <filesystem>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "base/scratch_test.h"
#include "data/dataset_sources_test.h"
#include "data/element_store.h"

namespace espalier {
namespace {

// Rows 0, 1, ... so many, and how often one was made.
struct CountedRows {
  int64_t rows = 10;
  std::shared_ptr<std::atomic<int64_t>> made = std::make_shared<std::atomic<int64_t>>(0);
  Dataset dataset(Dataset from) const {
    return from.map([count = made](const Tensors& element) {
      ++*count;
      return element;
    });
  }
  Dataset dataset() const { return dataset(Dataset::from_tensor_slices(counting({rows}))); }
};

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return cat(error.rule(), ": ", error.message());
  }
  return "nothing";
}

TEST(Cache, TheFirstWholePassFillsItAndLaterOnesReadIt) {
  for (const bool in_folder : {false, true}) {
    const CountedRows rows;
    const Dataset data = rows.dataset().cache(in_folder ? fresh_folder("cache_first") : "");
    EXPECT_EQ(data.cardinality(), 10);
    const PlainElements wanted = all_of(rows.dataset());
    *rows.made = 0;
    {
      DatasetIterator part(data, 0);
      rest_of(part, 9);
    }
    EXPECT_EQ(*rows.made, 9);
    EXPECT_EQ(all_of(data), wanted);
    EXPECT_EQ(*rows.made, 19) << "nine of them are no whole pass";
    for (uint64_t pass = 1; pass < 4; ++pass) EXPECT_EQ(all_of(data, pass), wanted);
    EXPECT_EQ(all_of(data.skip(7)), PlainElements(wanted.begin() + 7, wanted.end()));
    EXPECT_EQ(all_of(data.repeat(3)).size(), 30u);
    EXPECT_EQ(*rows.made, 19);
  }
}

TEST(Cache, AnEndlessDatasetIsRefused) {
  EXPECT_EQ(rule_of([] { CountedRows().dataset().repeat().cache(); }), "cache.dataset");
  EXPECT_EQ(all_of(CountedRows().dataset().repeat(2).cache()).size(), 20u);
}

// One of a shuffle's orders is kept, and it is the same one whichever pass comes first: so a run that goes on
// in another process has it, too.
TEST(Cache, WhatVariesIsKeptAsPassZeroHasIt) {
  const auto shuffled = [](uint64_t seed) { return CountedRows{40}.dataset().shuffle(40, {.seed = seed}); };
  const PlainElements of_zero = all_of(shuffled(3), 0);
  EXPECT_NE(all_of(shuffled(3), 1), of_zero);
  const Dataset late = shuffled(3).cache();
  EXPECT_EQ(all_of(late, 5), of_zero);
  EXPECT_EQ(all_of(late, 6), of_zero);
  EXPECT_EQ(all_of(CountedRows{40}.dataset().cache().shuffle(40, {.seed = 3}), 1).size(), 40u);
  const Dataset behind = CountedRows{40}.dataset().cache().shuffle(40, {.seed = 3});
  EXPECT_NE(all_of(behind, 0), all_of(behind, 1));
}

TEST(Cache, GoesOnWhereItWasSavedWhetherItIsFullOrNot) {
  Philox random(21);
  for (int i = 0; i < 40; ++i) {
    const NumberedShards shards = random_shards(random, kAllFinds[i % 3], 5, 9);
    const std::string folder = i % 2 ? fresh_folder("cache_restore") : "";
    const auto data = [&](const std::string& name) {
      const Dataset cached = shards.dataset().shuffle(7, {.seed = 2}).cache(name);
      return i % 5 == 0 ? cached.shuffle(6).repeat(2) : i % 5 == 1 ? cached.batch(1) : cached.repeat(3);
    };
    const PlainElements wanted = all_of(data(""), 2);
    const Dataset whole = data(folder);
    DatasetIterator first(whole, 2);
    PlainElements got = rest_of(first, random.below(wanted.size() + 1));
    const DatasetState state = first.save();
    // In another process nothing is kept but the folder; here perhaps something.
    const Dataset again = i % 3 ? data(folder) : whole;
    DatasetIterator second(again, 0);
    second.restore(state);
    EXPECT_EQ(second.save(), state);
    for (const PlainElement& element : rest_of(second)) got.push_back(element);
    ASSERT_EQ(got, wanted) << i;
  }
}

TEST(Cache, EachReaderKeepsItsShards) {
  for (const bool in_folder : {false, true}) {
    const std::string folder = in_folder ? fresh_folder("cache_shards") : "";
    const NumberedShards shards{{5, 0, 3, 7, 1, 4, 4, 2}};
    const Dataset data = shards.dataset().cache(folder);
    ASSERT_EQ(all_of(data.read_shards(8, {1, 3})), shards.expected({1, 3}));
    shards.calls->reset();
    EXPECT_EQ(all_of(data.read_shards(8, {3})), shards.expected({3}));
    EXPECT_EQ(shards.calls->opened, 0);
    EXPECT_EQ(all_of(data), shards.expected());
    EXPECT_EQ(shards.calls->elements, shards.elements() - 7);
    shards.calls->reset();
    for (const int64_t readers : {1, 2, 3, 5}) {
      PlainElements all;
      for (int64_t reader = 0; reader < readers; ++reader) {
        const auto mine = owned_shards(8, reader, readers);
        const PlainElements part = all_of(data.read_shards(8, mine));
        EXPECT_EQ(part, shards.expected(mine));
        all.insert(all.end(), part.begin(), part.end());
      }
      EXPECT_EQ(std::ssize(all), shards.elements());
    }
    EXPECT_EQ(shards.calls->opened, 0);
    EXPECT_EQ(rule_of([&] { data.read_shards(4, {0}); }), "read_shards.count");
    EXPECT_EQ(rule_of([&] { data.batch(2).cache().read_shards(8, {0}); }), "read_shards.dataset");
  }
}

// Elements of all dtypes, of uneven shapes, without elements: over several parts.
TEST(Cache, AFolderServesOtherProgramsWithTheSameBits) {
  const std::string folder = fresh_folder("cache_folder");
  const auto data = [](bool empty = false) {
    return Dataset::from_generator([empty] {
      return [empty, i = int64_t{0}]() mutable -> std::optional<Tensors> {
        if (i == (empty ? 0 : 400)) return std::nullopt;
        const int64_t n = i++;
        return Tensors{full({n % 5, 9000}, static_cast<double>(n), DType::kF32), Tensor::scalar<int64_t>(n),
                       full({2}, n % 2, DType::kBool), full({}, static_cast<double>(n) / 3, DType::kBF16)};
      };
    });
  };
  const auto bytes_of = [](const Dataset& of) {
    std::vector<std::string> out;
    DatasetIterator iterator(of, 0);
    while (const auto element = iterator.next()) {
      for (const Tensor& tensor : *element)
        out.push_back(cat(tensor.type(),
                          std::string_view(static_cast<const char*>(tensor.bytes()), tensor.type().bytes())));
    }
    return out;
  };
  const auto wanted = bytes_of(data());
  ASSERT_EQ(wanted.size(), 1600u);
  EXPECT_EQ(bytes_of(data().cache(folder)), wanted);
  const auto parts = std::ranges::count_if(
      posix_env().list_folder(folder), [](const std::string& name) { return name.ends_with(".tfrecord"); });
  EXPECT_GT(parts, 2);
  EXPECT_EQ(bytes_of(data().cache(folder)), wanted);
  DatasetIterator late(data().cache(folder), 0);
  late.restore({.elements = 390});
  EXPECT_EQ((*late.next())[1].item<int64_t>(), 390);
  const std::string none = fresh_folder("cache_empty");
  EXPECT_TRUE(bytes_of(data(true).cache(none)).empty());
  EXPECT_TRUE(bytes_of(data(true).cache(none)).empty());
}

TEST(Cache, AFolderOfAnotherDatasetIsRefusedByName) {
  const std::string folder = fresh_folder("cache_other"), file = folder + "/shard-0-of-1.safetensors";
  const auto rows = [](int32_t first, int64_t rows = 8) {
    return Dataset::from_tensor_slices(counting({rows}, first));
  };
  all_of(rows(0).cache(folder));
  const auto heard = [&](const Dataset& data) { return message_of([&] { all_of(data.cache(folder)); }); };
  EXPECT_EQ(heard(rows(0)), "nothing");
  EXPECT_EQ(heard(rows(1)), cat("cache.dataset: ", file,
                                " holds elements of other rows, files, numbers or seeds of "
                                "from_tensor_slices(8 rows of i32[])"));
  EXPECT_EQ(heard(rows(0, 9)), cat("cache.dataset: ", file,
                                   " holds elements of from_tensor_slices(8 rows of i32[]), and here is "
                                   "from_tensor_slices(9 rows of i32[])"));
  EXPECT_NE(heard(rows(0).batch(2)), "nothing");
  EXPECT_NE(heard(rows(0).shuffle(3, {.seed = 1})), "nothing");
  // Files that were written anew.
  const std::string table = fresh_folder("cache_files") + "/rows.csv", other = fresh_folder("cache_csv");
  posix_env().write_file(table, "1,2\n3,4\n");
  const auto files = [&] { return all_of(Dataset::from_files({table}).cache(other)); };
  const PlainElements before = files();
  EXPECT_EQ(files(), before);
  posix_env().write_file(table, "1,2\n3,4\n5,6\n");
  EXPECT_EQ(rule_of(files), "cache.dataset");
}

// A cut, a byte, a file that is gone: by name, and never other elements.
TEST(Cache, DamagedFilesAreRefusedByName) {
  const std::string folder = fresh_folder("cache_damaged");
  const std::string index = folder + "/shard-0-of-1.safetensors",
                    part = folder + "/shard-0-of-1-part-0.tfrecord";
  const Dataset rows = Dataset::from_tensor_slices(counting({6, 3}));
  const PlainElements wanted = all_of(rows.cache(folder));
  const std::string index_bytes = posix_env().read_file(index), part_bytes = posix_env().read_file(part);
  Philox random(22);
  for (const auto& [path, bytes] : {std::pair(index, index_bytes), std::pair(part, part_bytes)}) {
    for (int i = 0; i < 40; ++i) {
      std::string damaged = bytes;
      const size_t at = random.below(bytes.size());
      if (i % 3 == 0)
        damaged.resize(at);
      else
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.below(8)));
      posix_env().write_file(path, damaged);
      PlainElements got;
      const std::string heard = message_of([&] { got = all_of(rows.cache(folder)); });
      if (heard == "nothing")
        EXPECT_EQ(got, wanted) << path << ", byte " << at;
      else
        EXPECT_TRUE(heard.starts_with("cache.") && heard.find(folder) != heard.npos) << heard;
      EXPECT_TRUE(path == index || heard != "nothing") << at;
    }
    posix_env().write_file(path, bytes);
  }
  posix_env().remove_file(part);
  EXPECT_EQ(message_of([&] { all_of(rows.cache(folder)); }),
            cat("cache.damaged: ", part, " is not as cache() wrote it: it is not there"));
  posix_env().write_file(part, part_bytes);
  EXPECT_EQ(all_of(rows.cache(folder)), wanted);
}

// What a process wrote that was killed within its pass says nothing, and is written anew.
TEST(Cache, APassThatDidNotEndIsFilledAnew) {
  const std::string folder = fresh_folder("cache_cut");
  const CountedRows rows{2000};
  const Dataset wide =
      rows.dataset().map([](const Tensor& row) -> Tensors { return {broadcast_in_dim(row, {3000}, {})}; });
  {
    DatasetIterator part(wide.cache(folder), 0);
    for (int i = 0; i < 1500; ++i) part.next();
  }
  EXPECT_FALSE(posix_env().list_folder(folder).empty());
  *rows.made = 0;
  DatasetIterator again(wide.cache(folder), 0);
  int32_t next = 0;
  while (const auto element = again.next()) EXPECT_EQ((*element)[0].to_vector<int32_t>()[2999], next++);
  EXPECT_EQ(next, 2000);
  EXPECT_EQ(*rows.made, 2000);
}

// Whose source raises: nothing is kept, and the next pass reads it.
TEST(Cache, AnErrorFillsNothing) {
  const auto fails = std::make_shared<bool>(true);
  const Dataset data = CountedRows()
                           .dataset()
                           .map([fails](const Tensors& element) {
                             if (*fails && element[0].item<int32_t>() == 7)
                               throw ValueError("test.row", "row 7");
                             return element;
                           })
                           .cache();
  EXPECT_EQ(rule_of([&] { all_of(data); }), "test.row");
  *fails = false;
  EXPECT_EQ(all_of(data).size(), 10u);
}

}  // namespace
}  // namespace espalier
