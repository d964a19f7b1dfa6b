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
