#include "base/rule_of_test.h"
#include "data/dataset_pipelines_test.h"
#include "espalier/layers.h"

namespace espalier {
namespace {

// Of all steps, shuffles and prefetches among them.
TEST(DatasetCursor, AnIteratorThatIsRestoredGoesOnAtTheSameElement) {
  int compared = 0, sought = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    RandomPipelines random(seed, true);
    const Dataset dataset = random.next().dataset;
    const auto iteration = static_cast<uint64_t>(random.below(3));
    PlainElements all;
    try {
      all = all_of(dataset, iteration);
    } catch (const ShapeError&) {  // a shuffle brought unlike elements into a batch
      continue;
    }
    const auto cut = static_cast<size_t>(random.below(static_cast<int64_t>(all.size()) + 1));
    DatasetIterator first(dataset, iteration);
    PlainElements joined = rest_of(first, cut);
    const DatasetState state = first.save();
    EXPECT_EQ(state.elements, static_cast<int64_t>(cut)) << "what was fetched ahead does not count";
    DatasetIterator second(dataset, 77);
    rest_of(second, static_cast<size_t>(random.below(4)));
    second.restore(state);
    const PlainElements rest = rest_of(second);
    joined.insert(joined.end(), rest.begin(), rest.end());
    ASSERT_EQ(joined, all) << seed << ", cut at " << cut << ": " << to_string(dataset);
    // As states were before there were sources.
    second.restore({state.seed, state.iteration, state.elements});
    ASSERT_EQ(rest_of(second), rest) << seed << ", cut at " << cut << ": " << to_string(dataset);
    sought += !state.sources.empty();
    ++compared;
  }
  EXPECT_GT(compared, 550);
  EXPECT_GT(sought, 250);
}

TEST(DatasetCursor, HoldsTheSeedOfShufflesWithoutOne) {
  const Dataset data = Dataset::from_tensor_slices(counting({20})).shuffle(20);
  set_seed(3);
  DatasetIterator first(data, 0);
  PlainElements all = rest_of(first, 5);
  const DatasetState state = first.save();
  const PlainElements rest = rest_of(first);
  set_seed(4);
  EXPECT_NE(all_of(data), (all.insert(all.end(), rest.begin(), rest.end()), all));
  DatasetIterator second(data, 0);
  second.restore(state);
  EXPECT_EQ(rest_of(second), rest);
  set_seed(0);
}

TEST(DatasetCursor, JumpsOverWhatNeedNotBeMade) {
  int64_t made = 0;
  const Dataset data = Dataset::from_tensor_slices(counting({1000}))
                           .shuffle(1000, {.seed = 1})
                           .map([&](const Tensor& x) {
                             ++made;
                             return x;
                           })
                           .batch(3)
                           .repeat();
  DatasetIterator iterator(data, 0);
  iterator.restore({.elements = int64_t{1} << 60});
  EXPECT_EQ(made, 0);
  ASSERT_TRUE(iterator.next());
  EXPECT_EQ(made, 3);
  made = 0;
  DatasetIterator ahead(data.prefetch(2), 0);
  ahead.restore({.elements = int64_t{1} << 60});
  EXPECT_EQ(made, 0);
}

TEST(DatasetCursor, AStateOfAnotherDatasetIsRefused) {
  const auto rows = [](int64_t count) { return Dataset::from_tensor_slices(counting({count})); };
  const auto same = [](const Tensor& x) { return x; };
  // Each differs from each other one in a step, or in what a step is told.
  const Dataset datasets[] = {
      rows(10).shuffle(3),
      rows(12).shuffle(3),
      rows(12).shuffle(7),
      rows(12).shuffle(7, {.seed = 1}),
      rows(12).shuffle(7, {.seed = 2}),
      rows(12).shuffle(7, {.seed = 0}),
      rows(12).shuffle(7, {.reshuffle_each_iteration = false}),
      rows(12),
      Dataset::from_tensor_slices(counting({12, 1})),
      rows(12).map(same),
      rows(12).filter([](const Tensor& x) { return x >= 0; }),
      rows(12).batch(2),
      rows(12).batch(2, {.drop_remainder = true}),
      rows(12).padded_batch(2),
      rows(12).take(9),
      rows(12).skip(9),
      rows(12).shard(3, 0),
      rows(12).shard(3, 1),
      rows(12).repeat(2),
      rows(12).repeat(),
      rows(12).enumerate(),
      rows(12).enumerate(9),
      rows(12).concatenate(rows(10)),
      rows(10).concatenate(rows(12)),
      Dataset::zip({rows(12), rows(10)}),
      Dataset::zip({rows(10), rows(12)}),
      Dataset::zip({rows(12)}),
      Dataset::from_generator(
          []() -> ElementSource { return [] { return std::optional(Tensors{Tensor::scalar(1)}); }; }),
  };
  for (const Dataset& saved : datasets) {
    DatasetIterator from(saved, 0);
    from.next();
    const DatasetState state = from.save();
    for (const Dataset& other : datasets) {
      DatasetIterator to(other, 0);
      to.next();
      const DatasetState before = to.save();
      EXPECT_EQ(rule_of([&] { to.restore(state); }), &saved == &other ? "nothing" : "dataset.restore")
          << to_string(saved) << " into " << to_string(other);
      if (&saved != &other) {
        EXPECT_EQ(to.save(), before) << "it stays where it was";
      }
    }
  }
  // How far it is read ahead decides no element, and states of earlier versions do not say which they are of.
  DatasetIterator from(rows(12).shuffle(7).batch(2), 0), to(rows(12).shuffle(7).prefetch(3).batch(2), 0);
  from.next();
  DatasetState state = from.save();
  to.restore(state);
  EXPECT_EQ(rest_of(to), rest_of(from));
  state.layout = 0;
  DatasetIterator other(rows(10), 0);
  other.restore(state);
  EXPECT_EQ(other.next()->at(0).item<int32_t>(), 1);
}

TEST(DatasetCursor, AStateBehindTheEndIsRefused) {
  const Dataset data = Dataset::from_tensor_slices(counting({10})).batch(3);
  DatasetIterator iterator(data, 0);
  iterator.next();
  EXPECT_EQ(rule_of([&] { iterator.restore({.elements = 5}); }), "dataset.restore");
  EXPECT_EQ(rule_of([&] { iterator.restore({.elements = -1}); }), "dataset.restore");
  EXPECT_EQ(iterator.save().elements, 1);
  EXPECT_EQ(iterator.next()->at(0).to_vector<int32_t>(), (std::vector<int32_t>{3, 4, 5}));
  iterator.restore({.elements = 4});
  EXPECT_FALSE(iterator.next());
}

}  // namespace
}  // namespace espalier
