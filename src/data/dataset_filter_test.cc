#include "base/rule_of_test.h"
#include "data/dataset_pipelines_test.h"
#include "espalier/array.h"

namespace espalier {
namespace {

Dataset rows(int64_t count) { return Dataset::from_tensor_slices(counting({count})); }
bool is_even(const Tensor& x) { return x.item<int32_t>() % 2 == 0; }
std::vector<std::vector<int32_t>> filtered_values(const Dataset& dataset) {
  std::vector<std::vector<int32_t>> out;
  for (const Tensors& element : dataset) out.push_back(element[0].to_vector<int32_t>());
  return out;
}
using Values = std::vector<std::vector<int32_t>>;

TEST(DatasetFilter, KeepsElementsBeforeABatchAndBatchesBehindIt) {
  EXPECT_EQ(filtered_values(rows(7).filter(is_even).batch(3)), (Values{{0, 2, 4}, {6}}));
  const auto is_large = [](const Tensor& batch) { return sum(batch) > 5; };
  EXPECT_EQ(filtered_values(rows(7).batch(3).filter(is_large)), (Values{{3, 4, 5}, {6}}));
  const Dataset pairs = Dataset::zip({rows(6), rows(6).skip(1)});
  EXPECT_EQ(filtered_values(pairs.filter([](const Tensor& x, const Tensor& y) { return x * y > 6; })),
            (Values{{3}, {4}}));
}

TEST(DatasetFilter, ItsCardinalityIsUnknown) {
  EXPECT_EQ(rows(7).filter(is_even).cardinality(), Dataset::kUnknown);
  EXPECT_EQ(rows(7).filter(is_even).batch(2).take(3).cardinality(), Dataset::kUnknown);
  EXPECT_EQ(rows(0).filter(is_even).cardinality(), 0);
  EXPECT_EQ(rows(7).repeat().filter(is_even).cardinality(), Dataset::kInfinite) << "it has no end";
}

TEST(DatasetFilter, AsksForNoMoreThanItsCallerNeeds) {
  int asked = 0;
  const Dataset data = rows(100).filter([&](const Tensor& x) {
    ++asked;
    return x.item<int32_t>() % 10 == 9;
  });
  DatasetIterator iterator(data, 0);
  EXPECT_EQ(asked, 0);
  iterator.next();
  EXPECT_EQ(asked, 10);
  EXPECT_EQ(filtered_values(data.take(2)).size(), 2u);
  EXPECT_EQ(asked, 30);
}

// What is left of a pass, and how much, follows from its order.
TEST(DatasetFilter, PassesOfDifferentLengthsAreRepeatedAndRestored) {
  const Dataset pass =
      rows(40).shuffle(40, {.seed = 3}).batch(4).filter([](const Tensor& batch) { return sum(batch) > 80; });
  const Dataset data = pass.repeat(6);
  std::vector<size_t> lengths;
  for (uint64_t number = 0; number < 6; ++number) lengths.push_back(all_of(pass, number).size());
  EXPECT_NE(lengths, std::vector<size_t>(6, lengths[0]));
  const PlainElements all = all_of(data);
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    DatasetIterator first(data, 0), second(data, 7);
    PlainElements joined = rest_of(first, cut);
    second.restore(first.save());
    const PlainElements rest = rest_of(second);
    joined.insert(joined.end(), rest.begin(), rest.end());
    ASSERT_EQ(joined, all) << cut;
  }
}

TEST(DatasetFilter, AnEmptyPassIsNotTheEndOfACountedRepetition) {
  const Dataset pass =
      rows(6).shuffle(6, {.seed = 1}).take(1).filter([](const Tensor& x) { return x.item<int32_t>() == 0; });
  EXPECT_GT(filtered_values(pass.repeat(100)).size(), 5u);
  EXPECT_TRUE(filtered_values(rows(5).filter([](const Tensor&) { return false; }).repeat()).empty());
}

TEST(DatasetFilter, ThePredicateGivesOneBool) {
  const auto rule = [](TensorFunction predicate) {
    return rule_of([&] { filtered_values(rows(2).filter(std::move(predicate))); });
  };
  EXPECT_EQ(rule([](const Tensor& x) { return x; }), "filter.predicate");
  EXPECT_EQ(rule([](const Tensor& x) { return reshape(x > 0, {1}); }), "filter.predicate");
  EXPECT_EQ(rule([](const Tensor& x) -> Tensors { return {x > 0, x > 0}; }), "filter.predicate");
  EXPECT_EQ(rule([](const Tensor&) { return Tensor(); }), "dataset.element");
  EXPECT_EQ(rule([](const Tensor&, const Tensor&) { return true; }), "function.arguments");
  EXPECT_EQ(rule(std::function<bool(const Tensor&)>()), "function.empty");
  EXPECT_EQ(rule([](const Tensor&) { return true; }), "nothing");
}

}  // namespace
}  // namespace espalier
