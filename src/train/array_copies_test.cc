#include "train/array_copies.h"

#include <gtest/gtest.h>

#include "espalier/ops.h"
#include "ir/sink.h"

namespace espalier {
namespace {

TEST(ArrayCopies, HoldWhatVariablesHeldInTheMemoryOfThoseBefore) {
  const Variable large(full({700, 1000}, 3), {.name = "large"}), small(full({}, 4), {.name = "small"});
  Variable none(full({0, 2}, 1), {.name = "none"});
  const std::vector<std::pair<std::string, Variable>> variables{
      {"large", large}, {"small", small}, {"none", none}};
  ArrayCopies copies(RunContext::current().pool);
  const std::vector<NamedArray> first = copies.of(variables);
  ASSERT_EQ(first.size(), 3u);
  const void* const memory = first[0].value.raw();
  Variable(large).assign(full({700, 1000}, 5));
  EXPECT_TRUE(first[0].value == Literal::splat(large.type(), 3.0)) << "what was held then";
  EXPECT_TRUE(first[1].value == Literal::splat(small.type(), 4.0));
  EXPECT_EQ(first[2].value.type(), none.type());
  const std::vector<NamedArray> second = copies.of(variables);
  EXPECT_EQ(second[0].value.raw(), memory);
  EXPECT_TRUE(second[0].value == Literal::splat(large.type(), 5.0));
  // Of more than a piece each value is its own.
  const Tensor counted = iota({DType::kF32, {700, 1000}}, 1);
  Variable(large).assign(counted);
  EXPECT_TRUE(copies.of(variables)[0].value == counted.node()->dense());
  const std::vector<NamedArray> others = copies.of({{"large", small}});
  EXPECT_TRUE(others[0].value == Literal::splat(small.type(), 4.0)) << "another type";
}

}  // namespace
}  // namespace espalier
