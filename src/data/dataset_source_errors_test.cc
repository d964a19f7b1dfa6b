// What sources and their states may have wrong.
#include "base/rule_of_test.h"
#include "data/dataset_sources_test.h"

namespace espalier {
namespace {

TEST(DatasetSource, StatesThatAreNotOfTheDatasetAreRefused) {
  const NumberedShards shards{{5, 3, 4}, Finds::kByBytes};
  const Dataset data = shards.dataset().take(11).repeat(2);
  DatasetIterator iterator(data, 0);
  rest_of(iterator, 13);
  const DatasetState state = iterator.save();
  const auto rule = [&](auto change, const Dataset* other = nullptr) {
    DatasetState changed = state;
    change(changed);
    DatasetIterator of_other(other ? *other : data, 0);
    const std::string out = rule_of([&] { (other ? of_other : iterator).restore(changed); });
    EXPECT_EQ(iterator.save(), state);
    return out;
  };
  EXPECT_EQ(rule([](DatasetState&) {}), "nothing");
  EXPECT_EQ(rule([](DatasetState& s) { s.steps.pop_back(); }), "dataset.restore");
  EXPECT_EQ(rule([](DatasetState& s) { s.steps.push_back(0); }), "dataset.restore");
  EXPECT_EQ(rule([](DatasetState& s) { s.steps.clear(); }), "dataset.restore");
  EXPECT_EQ(rule([](DatasetState& s) { s.sources.clear(); }), "dataset.restore");
  EXPECT_EQ(rule([](DatasetState& s) { s.sources.push_back(s.sources[0]); }), "dataset.restore");
  EXPECT_EQ(rule([](DatasetState& s) { s.sources[0].owned.pop_back(); }), "dataset.restore");
  EXPECT_EQ(rule([](DatasetState& s) { s.sources[0].owned[1].shard = 0; }), "dataset.restore");
  EXPECT_EQ(rule([](DatasetState& s) { s.sources[0].owned[1].elements = -1; }), "dataset.restore");
  EXPECT_EQ(rule([](DatasetState& s) { s.sources[0].owned[1].bytes = "over there"; }), "numbered.place");
  EXPECT_EQ(rule([](DatasetState& s) {
              s.sources[0].owned[1].bytes.reset();
              s.sources[0].owned[1].elements = 4;
            }),
            "dataset.restore")
      << "the shard has 3";
  for (size_t i = 0; i < state.steps.size(); ++i) {
    EXPECT_EQ(rule([&](DatasetState& s) { s.steps[i] = -2; }), "dataset.restore") << i;
    if (i == 1 || i == 2) continue;  // numbers that only jumps ask for
    EXPECT_EQ(rule([&](DatasetState& s) { s.steps[i] = 100; }), "dataset.restore") << i;
  }
  const Dataset rows = Dataset::from_tensor_slices(counting({30})), taken = shards.dataset().take(11);
  EXPECT_EQ(rule([](DatasetState&) {}, &rows), "dataset.restore");
  EXPECT_EQ(rule([](DatasetState&) {}, &taken), "dataset.restore");
}

struct SourceOfText final : DataSource {
  std::function<std::optional<Tensors>(int64_t)> make;
  std::function<int64_t(int64_t)> passes;
  std::function<std::string()> place;
  std::function<void(std::string_view)> go;
  int64_t number = 0;
  std::optional<Tensors> next() override { return make(number++); }
  int64_t skip(int64_t count) override { return passes ? passes(count) : DataSource::skip(count); }
  std::optional<std::string> save() override { return place ? std::optional(place()) : std::nullopt; }
  void restore(std::string_view bytes) override { go ? go(bytes) : DataSource::restore(bytes); }
};
// Two shards, each as `change` makes it.
Dataset two_shards(std::function<void(SourceOfText&)> change) {
  return Dataset::from_source(
      [change](DataShard, uint64_t) {
        auto out = std::make_unique<SourceOfText>();
        out->make = [](int64_t i) { return i < 4 ? std::optional(Tensors{counting({1})}) : std::nullopt; };
        change(*out);
        return out;
      },
      {.shards = 2});
}

TEST(DatasetSource, WhatSourcesThrowReachesTheCallerWithItsRuleAndLines) {
  const auto broken = [](const Dataset& dataset, const std::function<void(DatasetIterator&)>& call,
                         const std::string& rule, const std::string& text, int line) {
    DatasetIterator iterator(dataset, 0);
    try {
      call(iterator);
      ADD_FAILURE() << rule;
    } catch (const IoError& error) {
      EXPECT_EQ(error.rule(), rule);
      EXPECT_EQ(error.message(), text);
      const std::string what = error.what();
      EXPECT_NE(what.find(cat(", called at dataset_source_errors_test.cc:", line)), std::string::npos)
          << what;
      EXPECT_THROW(std::rethrow_if_nested(error), std::runtime_error);
    }
  };
  int line = 0;
  const auto read = [&](DatasetIterator& iterator) {
    line = __LINE__ + 1;
    while (iterator.next()) continue;
  };
  const auto fails = [](auto... ignored) -> std::string { throw std::runtime_error("the disk is gone"); };
  read(*std::make_unique<DatasetIterator>(two_shards([](SourceOfText&) {}), 0));
  for (const bool ahead : {false, true}) {
    const auto perhaps = [&](const Dataset& data) { return ahead ? data.prefetch(2) : data; };
    const Dataset next = two_shards([](SourceOfText& source) {
      source.make = [](int64_t i) -> std::optional<Tensors> {
        if (i == 2) throw std::runtime_error("the disk is gone");
        return Tensors{counting({1})};
      };
    });
    if (!ahead)
      broken(next, read, "from_source.next", "shard 0 of 2 threw behind 2 elements: the disk is gone", line);
    DatasetIterator iterator(perhaps(next), 0);
    EXPECT_EQ(rule_of([&] { rest_of(iterator); }), "from_source.next");
    EXPECT_EQ(rule_of([&] { iterator.next(); }), "from_source.next") << "and again";
    const DatasetState behind = iterator.save();
    EXPECT_EQ(behind.elements, 4);
    EXPECT_TRUE(behind.sources.empty()) << "the counts alone";
  }
  const Dataset saves = two_shards([&](SourceOfText& source) { source.place = fails; });
  EXPECT_EQ(rule_of([&] { all_of(saves.prefetch(2)); }), "from_source.save");
  EXPECT_EQ(rule_of([&] { all_of(saves); }), "nothing");
  const auto save = [&](DatasetIterator& iterator) {
    iterator.next();
    line = __LINE__ + 1;
    iterator.save();
  };
  EXPECT_THROW(save(*std::make_unique<DatasetIterator>(saves, 0)), IoError);
  broken(saves, save, "from_source.save", "shard 0 of 2 threw behind 1 element: the disk is gone", line);
  const Dataset passes = two_shards([&](SourceOfText& source) {
    source.passes = [](int64_t) -> int64_t { throw std::runtime_error("the disk is gone"); };
  });
  EXPECT_EQ(rule_of([&] { all_of(passes.skip(3)); }), "from_source.skip");
  const Dataset restores = two_shards([&](SourceOfText& source) {
    source.place = [] { return "here"; };
    source.go = [](std::string_view) { throw std::runtime_error("the disk is gone"); };
  });
  const auto restore = [&](DatasetIterator& iterator) {
    iterator.next();
    const DatasetState state = iterator.save();
    line = __LINE__ + 1;
    iterator.restore(state);
  };
  EXPECT_THROW(restore(*std::make_unique<DatasetIterator>(restores, 0)), IoError);
  broken(restores, restore, "from_source.restore", "shard 0 of 2 threw behind 0 elements: the disk is gone",
         line);
  const Dataset opens = Dataset::from_source([](DataShard, uint64_t) -> std::unique_ptr<DataSource> {
    throw std::runtime_error("the disk is gone");
  });
  EXPECT_EQ(rule_of([&] { all_of(opens); }), "from_source.open");
  // Errors of this library are as they are, and what is no exception as well.
  EXPECT_EQ(rule_of([&] {
              all_of(two_shards([](SourceOfText& source) {
                source.make = [](int64_t) -> std::optional<Tensors> { throw IoError("file.read", "none"); };
              }));
            }),
            "file.read");
  struct Stop {};
  EXPECT_THROW(all_of(two_shards([](SourceOfText& source) {
                 source.make = [](int64_t) -> std::optional<Tensors> { throw Stop(); };
               })),
               Stop);
}

TEST(DatasetSource, MistakesOfSourcesAreNamed) {
  const auto gives = [](std::function<std::optional<Tensors>(int64_t)> make) {
    return rule_of([&] { all_of(two_shards([&](SourceOfText& source) { source.make = make; })); });
  };
  const auto ones = [](Shape shape, DType dtype = DType::kF32) { return Tensors{full(shape, 1, dtype)}; };
  using Given = std::optional<Tensors>;
  EXPECT_EQ(gives([&](int64_t i) -> Given { return i < 3 ? Given(ones({i + 1})) : Given(); }), "nothing");
  EXPECT_EQ(gives([&](int64_t i) -> Given {
              return ones(i ? Shape{2, 1} : Shape{2});
            }),
            "from_source.signature");
  EXPECT_EQ(gives([&](int64_t i) -> Given { return ones({2}, i ? DType::kI32 : DType::kF32); }),
            "from_source.signature");
  EXPECT_EQ(gives([&](int64_t) -> Given { return Tensors{}; }), "dataset.element");
  EXPECT_EQ(gives([&](int64_t) -> Given { return Tensors{Tensor()}; }), "dataset.element");
  for (const int64_t passed : {int64_t{-1}, int64_t{100}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(
        rule_of([&] {
          all_of(two_shards([&](SourceOfText& s) { s.passes = [=](int64_t) { return passed; }; }).skip(3));
        }),
        "from_source.skip");
  }
  const Dataset half = two_shards([](SourceOfText& s) { s.place = [] { return "here"; }; });
  DatasetIterator iterator(half, 0);
  iterator.next();
  EXPECT_EQ(rule_of([&] { iterator.restore(iterator.save()); }), "from_source.restore")
      << "save() without restore()";
  const auto none = [](DataShard, uint64_t) { return std::unique_ptr<DataSource>(); };
  EXPECT_EQ(rule_of([&] { Dataset::from_source({}); }), "from_source.function");
  EXPECT_EQ(rule_of([&] { all_of(Dataset::from_source(none)); }), "from_source.function");
  for (const int64_t shards : {-1, 0, 65537})
    EXPECT_EQ(rule_of([&] { Dataset::from_source(none, {.shards = shards}); }), "from_source.shards");
  EXPECT_EQ(rule_of([&] { Dataset::from_source(none, {.elements = -1}); }), "from_source.elements");
}

TEST(DatasetSource, ReadersAreOfShardsThatThereAre) {
  const NumberedShards shards{std::vector<int64_t>(8, 5)};
  const Dataset data = shards.dataset();
  EXPECT_EQ(rule_of([&] { data.read_shards(4, {0}); }), "read_shards.count");
  EXPECT_EQ(rule_of([&] { data.read_shards(0, {}); }), "read_shards.count");
  EXPECT_EQ(rule_of([&] { data.read_shards(8, {8}); }), "read_shards.owned");
  EXPECT_EQ(rule_of([&] { data.read_shards(8, {-1}); }), "read_shards.owned");
  EXPECT_EQ(rule_of([&] { data.read_shards(8, {3, 1, 3}); }), "read_shards.owned");
  for (const Dataset& mixed :
       {data.batch(2), data.batch(2).shuffle(3), data.take(3), data.skip(1), data.enumerate(),
        data.read_shards(8, {1}), data.shuffle(3).read_shards(8, {1}), data.repeat(2).shuffle(3),
        data.concatenate(data), Dataset::zip({data, data})})
    EXPECT_EQ(rule_of([&] { mixed.read_shards(8, {0}); }), "read_shards.dataset") << to_string(mixed);
  EXPECT_TRUE(all_of(data.read_shards(8, {})).empty());
  EXPECT_EQ(data.read_shards(8, {}).cardinality(), 0);
  EXPECT_EQ(to_string(data.read_shards(8, {5, 2})), "from_source(8 shards, 2 of them read)");
}

// A source of more, fewer or other elements than it was saved with.
TEST(DatasetSource, SourcesThatHaveChangedDoNoHarm) {
  Philox random(7);
  for (int i = 0; i < 300; ++i) {
    const NumberedShards before = random_shards(random, kAllFinds[i % 3], 6);
    NumberedShards after = before;
    for (int64_t& size : after.sizes) size = static_cast<int64_t>(random.below(14));
    const auto steps = [&](const Dataset& data) {
      return i % 4 == 0   ? data
             : i % 4 == 1 ? data.shuffle(5).batch(2)
             : i % 4 == 2 ? data.repeat(2).prefetch(2)
                          : data.shuffle(3).repeat(2);
    };
    DatasetIterator first(steps(before.dataset()), 0);
    rest_of(first, static_cast<size_t>(random.below(40)));
    const DatasetState state = first.save();
    DatasetIterator second(steps(after.dataset()), 0);
    const std::string rule = rule_of([&] {
      second.restore(state);
      rest_of(second);
    });
    EXPECT_TRUE(rule == "nothing" || rule == "dataset.restore" || rule == "numbered.place") << rule;
  }
  // Of elements that waited in a shuffle's buffer some are no longer there.
  const NumberedShards ten{{10}, Finds::kBySkip}, seven{{7}, Finds::kBySkip};
  DatasetIterator shuffled(ten.dataset().shuffle(4), 0), shorter(seven.dataset().shuffle(4), 0);
  rest_of(shuffled, 5);
  EXPECT_EQ(rule_of([&] { shorter.restore(shuffled.save()); }), "dataset.restore");
  // What a shard gives that had ended comes, in no order that anybody could expect, once.
  const NumberedShards less{{1, 4}}, more{{6, 4}};
  DatasetIterator first(less.dataset(), 0), second(more.dataset(), 0);
  rest_of(first, 4);
  second.restore(first.save());
  std::vector<int32_t> seen;
  for (const PlainElement& element : rest_of(second)) seen.push_back(label(element));
  EXPECT_EQ(seen, (std::vector<int32_t>{1, 2, 3, 1003, 4, 5}));
}

}  // namespace
}  // namespace espalier
