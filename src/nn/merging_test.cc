#include "espalier/merging.h"

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/ops.h"

namespace espalier {
namespace {

const Tensor kA = Tensor::of<float>({1, 2, 3, 4}, {2, 2}), kB = Tensor::of<float>({5, 1, 0, 9}, {2, 2});
std::vector<float> values(const Tensor& x) { return x.to_vector<float>(); }

TEST(Merging, CombinesElementByElement) {
  EXPECT_EQ(values(Add()({kA, kB, kA})), (std::vector<float>{7, 5, 6, 17}));
  EXPECT_EQ(values(Multiply()({kA, kB})), (std::vector<float>{5, 2, 0, 36}));
  EXPECT_EQ(values(Subtract()({kA, kB})), (std::vector<float>{-4, 1, 3, -5}));
  EXPECT_EQ(values(Maximum()({kA, kB})), (std::vector<float>{5, 2, 3, 9}));
  EXPECT_EQ(values(Minimum()({kA, kB})), (std::vector<float>{1, 1, 0, 4}));
  EXPECT_EQ(values(Average()({kA, kB, kB})), (std::vector<float>{11.0f / 3, 4.0f / 3, 1, 22.0f / 3}));
  EXPECT_EQ(values(Add()(kA)), values(kA));
  EXPECT_EQ(values(Add()({kA, Tensor::of<float>({10, 20}, {2, 1})})), (std::vector<float>{11, 12, 23, 24}));
}

TEST(Merging, ConcatenatesAlongAnAxis) {
  EXPECT_EQ(values(Concatenate()({kA, kB})), (std::vector<float>{1, 2, 5, 1, 3, 4, 0, 9}));
  EXPECT_EQ(values(Concatenate({.axis = 0})({kA, kB})), (std::vector<float>{1, 2, 3, 4, 5, 1, 0, 9}));
  EXPECT_THROW(Concatenate()({kA, full({3, 2}, 1)}), ShapeError);
}

TEST(Merging, CastsEveryInput) {
  const Tensor sum = Add("add", "mixed_bfloat16")({kA, convert(kB, DType::kF16)});
  EXPECT_EQ(sum.dtype(), DType::kBF16);
}

TEST(Merging, MistakesAreNamed) {
  EXPECT_EQ(rule_of([] { Add()({kA, full({2, 3}, 1)}); }), "merge.shapes");
  EXPECT_EQ(rule_of([] { Add()({kA, full({2}, 1)}); }), "merge.shapes");
  EXPECT_EQ(rule_of([] { Subtract()({kA, kA, kA}); }), "layer.inputs");
  EXPECT_EQ(rule_of([] { Subtract()(kA); }), "layer.inputs");
  EXPECT_EQ(rule_of([] { Add()(Tensors{}); }), "layer.inputs");
  EXPECT_EQ(rule_of([] { Flatten()({kA, kB}); }), "layer.inputs");
}

// Two inputs, two outputs, and a variable for the second input.
struct Swap : Layer {
  void build_many(Inputs<TensorType> x) override {
    add_weight("factor", {x[1].shape.back()}, initializer("ones"));
  }
  Tensors call_many(Inputs<Tensor> x) override { return {x[1] * weight("factor"), x[0]}; }
};

TEST(Merging, ALayerMayTakeAndGiveSeveral) {
  Swap swap;
  const Tensor narrow = full({2, 3}, 2);
  const Tensors out = swap.apply({kA, narrow});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values(out[0]), values(narrow));
  EXPECT_EQ(values(out[1]), values(kA));
  EXPECT_EQ(swap.variables().at(0).shape(), (Shape{3}));
  Swap other;
  EXPECT_EQ(rule_of([&] { other({kA, narrow}); }), "layer.outputs");
  EXPECT_TRUE(other.variables().empty());
  struct Neither : Layer {};
  EXPECT_EQ(rule_of([] { Neither()(kA); }), "layer.call");
}

}  // namespace
}  // namespace espalier
