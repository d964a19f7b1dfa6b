#include <algorithm>
#include <map>
#include <set>

#include "data/dataset_pipelines_test.h"
#include "espalier/layers.h"

namespace espalier {
namespace {

std::vector<int32_t> order(const Dataset& dataset, uint64_t iteration = 0) {
  std::vector<int32_t> out;
  for (const PlainElement& element : all_of(dataset, iteration)) out.push_back(element[0].values[0]);
  return out;
}

Dataset dataset_shuffle_rows(int64_t count) { return Dataset::from_tensor_slices(counting({count})); }
// The same without numbers of rows.
Dataset made(int64_t count) {
  return Dataset::from_generator([count]() -> ElementSource {
    return [count, i = int32_t{0}]() mutable -> std::optional<Tensors> {
      if (i == count) return std::nullopt;
      return Tensors{Tensor::scalar(i++)};
    };
  });
}

// 24 orders of 4 rows, 200 expected each. Chi-square with 23 degrees of freedom exceeds 69 with a probability
// below 2e-6; four such statistics.
TEST(DatasetShuffle, EveryPermutationIsAsLikelyAsAnyOther) {
  constexpr int kDraws = 4800;
  for (const bool kept_as_numbers : {true, false}) {
    for (const bool seeds : {true, false}) {
      std::map<std::vector<int32_t>, int> counts;
      for (uint64_t i = 0; i < kDraws; ++i) {
        const Dataset data = (kept_as_numbers ? dataset_shuffle_rows(4) : made(4))
                                 .shuffle(i % 2 ? 4 : 9, {.seed = seeds ? i : 5});
        ++counts[order(data, seeds ? 0 : i)];
      }
      EXPECT_EQ(counts.size(), 24u);
      double chi_square = 0;
      for (const auto& [permutation, count] : counts) chi_square += (count - 200.0) * (count - 200.0) / 200.0;
      EXPECT_LT(chi_square, 69) << kept_as_numbers << seeds;
    }
  }
}

// What the branches of one dataset have, side by side: their own numbers, element after element.
std::vector<std::vector<int32_t>> branches(const Dataset& dataset, uint64_t iteration = 0) {
  std::vector<std::vector<int32_t>> out;
  for (const PlainElement& element : all_of(dataset, iteration)) {
    out.resize(element.size());
    for (size_t i = 0; i < element.size(); ++i) out[i].push_back(element[i].values[0]);
  }
  return out;
}

// Of 40 rows two orders are equal once in 40! times.
TEST(DatasetShuffle, BranchesWithoutSeedsHaveOrdersOfTheirOwn) {
  const auto all_differ = [](const std::vector<std::vector<int32_t>>& orders) {
    return std::set(orders.begin(), orders.end()).size() == orders.size();
  };
  for (const bool kept_as_numbers : {true, false}) {
    const auto one = [&] { return (kept_as_numbers ? dataset_shuffle_rows(40) : made(40)).shuffle(40); };
    const Dataset same = one();
    const Dataset pipelines[] = {
        Dataset::zip({one(), one()}),
        Dataset::zip({same, same}),
        Dataset::zip({Dataset::zip({one(), one()}), Dataset::zip({one(), one(), one()}), one()}),
        Dataset::zip({one().map([](const Tensor& x) { return x; }), one().prefetch(2), one().batch(1)}),
    };
    for (const Dataset& pipeline : pipelines) {
      SCOPED_TRACE(to_string(pipeline));
      set_seed(1);
      const auto first = branches(pipeline);
      EXPECT_TRUE(all_differ(first));
      for (const std::vector<int32_t>& each : first)
        EXPECT_EQ(std::set(each.begin(), each.end()).size(), 40u) << "each row once";
      EXPECT_EQ(branches(pipeline), first) << "iteration 0 again";
      EXPECT_NE(branches(pipeline, 1), first);
      set_seed(2);
      EXPECT_NE(branches(pipeline), first);
      set_seed(1);
      EXPECT_EQ(branches(pipeline), first);
    }
    // One behind the other: three passes over the rows.
    for (const Dataset& joined : {one().concatenate(one()).concatenate(one()),
                                  one().concatenate(one().concatenate(one())), one().repeat(3)}) {
      const std::vector<int32_t> all = order(joined);
      ASSERT_EQ(all.size(), 120u);
      EXPECT_TRUE(all_differ({{all.begin(), all.begin() + 40},
                              {all.begin() + 40, all.begin() + 80},
                              {all.begin() + 80, all.end()}}))
          << to_string(joined);
    }
    // Equal datasets go alike, and equal seeds are equal orders.
    EXPECT_EQ(branches(Dataset::zip({one(), one()})), branches(Dataset::zip({one(), one()})));
    const auto seeded = [&] { return dataset_shuffle_rows(40).shuffle(40, {.seed = 7}); };
    const auto alike = branches(Dataset::zip({seeded(), seeded()}));
    EXPECT_EQ(alike[0], alike[1]);
  }
  set_seed(0);
}

TEST(DatasetShuffle, BranchesGoOnWhereTheyWereSaved) {
  const auto shuffled = [] { return made(30).shuffle(12); };
  const Dataset data =
      Dataset::zip({shuffled(), shuffled()}).concatenate(Dataset::zip({shuffled(), shuffled()}));
  DatasetIterator first(data, 3);
  rest_of(first, 41);
  const DatasetState state = first.save();
  DatasetIterator second(data, 0);
  second.restore(state);
  EXPECT_EQ(rest_of(second), rest_of(first));
}

TEST(DatasetShuffle, RowNumbersAndElementsAreShuffledAlike) {
  for (const int64_t size : {1, 3, 50, 1000})
    EXPECT_EQ(order(dataset_shuffle_rows(100).shuffle(size, {.seed = 2})),
              order(made(100).shuffle(size, {.seed = 2})))
        << size;
}

TEST(DatasetShuffle, AnElementMovesForwardByLessThanTheBuffer) {
  for (const int64_t size : {1, 2, 7, 40}) {
    const std::vector<int32_t> out = order(made(100).shuffle(size, {.seed = 9}));
    std::set<int32_t> seen(out.begin(), out.end());
    ASSERT_EQ(seen.size(), 100u) << "each once";
    for (int32_t place = 0; place < 100; ++place)
      EXPECT_LT(out[static_cast<size_t>(place)], place + size) << "it was not read yet";
    EXPECT_EQ(std::is_sorted(out.begin(), out.end()), size == 1);
  }
}

TEST(DatasetShuffle, IterationsHaveOrdersOfTheirOwnUnlessTheyMayNot) {
  const Dataset data = dataset_shuffle_rows(50).shuffle(50, {.seed = 3});
  EXPECT_EQ(order(data, 4), order(dataset_shuffle_rows(50).shuffle(50, {.seed = 3}), 4))
      << "the same seed, the same order";
  EXPECT_NE(order(data, 4), order(data, 5));
  EXPECT_NE(order(data), order(dataset_shuffle_rows(50).shuffle(50, {.seed = 4})));
  const auto next_order = [](const Dataset& dataset) {
    std::vector<int32_t> out;
    for (const Tensors& element : dataset) out.push_back(element[0].item<int32_t>());
    return out;
  };
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(next_order(data), order(data, i)) << "begin() counts";
  const std::vector<int32_t> twice = order(data.repeat(2));
  EXPECT_NE(std::vector<int32_t>(twice.begin(), twice.begin() + 50),
            std::vector<int32_t>(twice.begin() + 50, twice.end()));
  const Dataset fixed = dataset_shuffle_rows(50).shuffle(50, {.seed = 3, .reshuffle_each_iteration = false});
  EXPECT_EQ(order(fixed, 1), order(fixed, 2));
  EXPECT_EQ(next_order(fixed), next_order(fixed));
}

TEST(DatasetShuffle, WithoutASeedFollowsSetSeed) {
  const Dataset data = dataset_shuffle_rows(50).shuffle(50);
  set_seed(1);
  const auto first = order(data);
  set_seed(2);
  EXPECT_NE(order(data), first);
  set_seed(1);
  EXPECT_EQ(order(data), first);
  std::vector<int32_t> same_twice;
  for (const int32_t place : first) same_twice.push_back(first[static_cast<size_t>(place)]);
  EXPECT_NE(order(data.shuffle(50)), same_twice) << "the second has an order of its own";
  set_seed(0);
}

}  // namespace
}  // namespace espalier
