#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/layers.h"
#include "espalier/ops.h"

namespace espalier {
namespace {

TEST(ReshapeLayer, KeepsTheBatchAndFillsInOneSize) {
  const Tensor x = iota({DType::kF32, {2, 6}}, 1);
  EXPECT_EQ(Reshape({3, 2})(x).shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(Reshape({-1, 2})(x).shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(Reshape({-1})(x).to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(Reshape({2, -1, 1})(full({0, 6}, 1)).shape(), (Shape{0, 2, 3, 1}));
  EXPECT_EQ(Reshape({})(full({4, 1}, 1)).shape(), (Shape{4}));
  EXPECT_EQ(Reshape({-1})(full({3}, 1)).shape(), (Shape{3, 1}));
}

TEST(ReshapeLayer, RefusesWhatDoesNotFit) {
  const Tensor x = full({2, 6}, 1);
  constexpr int64_t kHuge = int64_t{1} << 62;
  EXPECT_EQ(rule_of([] { Reshape({-1, -1}); }), "reshape.target");
  EXPECT_EQ(rule_of([] { Reshape({-2}); }), "reshape.target");
  for (const Shape& target : {Shape{4}, Shape{4, -1}, Shape{}, Shape{0, -1}, Shape{kHuge, 4, -1}})
    EXPECT_EQ(rule_of([&] { Reshape{target}(x); }), "reshape.elements") << to_string(target);
  // 4 elements, but for 2^64.
  EXPECT_EQ(rule_of([] { Reshape({4, kHuge + 1})(full({2, 4}, 1)); }), "reshape.elements");
}

}  // namespace
}  // namespace espalier
