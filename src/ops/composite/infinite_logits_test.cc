// Cross entropies, and what they are made of, where logits are infinite: values and slopes are limits, in the
// kernels, the reference bodies and the decompositions.
#include <cmath>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/ops.h"
#include "espalier/tape.h"
#include "ops/call.h"
#include "ops/composite/axis.h"

namespace espalier {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
using Doubles = std::vector<double>;

Tensor numbers(const Doubles& values, DType dtype) {
  return convert(reshape(Tensor::of(values), {static_cast<int64_t>(values.size())}), dtype);
}
Doubles doubles(const Tensor& t) { return convert(t, DType::kF64).to_vector<double>(); }

// The op's own body and its decomposition, of a row of one axis.
std::vector<Doubles> both_ways(const OpDef& op, const std::vector<Tensor>& inputs) {
  std::shared_ptr<AxisAttributes> axis;
  if (&op == &op_softmax || &op == &op_log_softmax) axis = std::make_shared<AxisAttributes>();
  return {doubles(emit(op, axis, inputs)), doubles(op.decompose({axis.get(), inputs, {}})[0])};
}

const DType kDTypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};

TEST(InfiniteLogits, OfTwoClassesGiveNoLossOrAnInfiniteOne) {
  for (const DType dtype : kDTypes) {
    const Tensor x = numbers({kInf, kInf, -kInf, -kInf, kInf, -kInf, 0}, dtype),
                 y = numbers({0, 1, 0, 1, 0.25, 0.25, 1}, dtype);
    for (Doubles out : both_ways(op_sigmoid_cross_entropy, {x, y})) {
      EXPECT_NEAR(out.back(), std::log(2.0), 1e-2);
      out.pop_back();
      EXPECT_EQ(out, (Doubles{kInf, 0, 0, kInf, kInf, kInf})) << cat(dtype);
    }
    GradientTape tape;
    tape.watch(x);
    // s - y, where s is 0 or 1.
    EXPECT_EQ(doubles(tape.gradient(sigmoid_cross_entropy(x, y), x)),
              (Doubles{1, 0, 0, -1, 0.75, -0.25, -0.5}))
        << cat(dtype);
  }
  const double nan = std::nan("");
  for (const Doubles& out :
       both_ways(op_sigmoid_cross_entropy, {Tensor::of<double>({nan, kInf}), Tensor::of<double>({1, nan})})) {
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_TRUE(std::isnan(out[1]));
  }
}

TEST(InfiniteLogits, OfTwoClassesHaveSecondSlopesOfZero) {
  for (const double logit : {kInf, -kInf}) {
    const Tensor x = Tensor::of<double>({logit});
    GradientTape outer({.persistent = true});
    outer.watch(x);
    Tensor slope;
    {
      GradientTape inner;
      inner.watch(x);
      slope = inner.gradient(sigmoid_cross_entropy(x, Tensor::of<double>({1})), x);
    }
    EXPECT_EQ(doubles(outer.gradient(slope, x)), Doubles{0}) << logit;
  }
}

TEST(InfiniteLogits, OfTheSoftmaxHaveAllOfTheProbability) {
  for (const DType dtype : kDTypes) {
    for (const Doubles& row : {Doubles{kInf, -kInf, -kInf}, Doubles{kInf, 3, -kInf}, Doubles{kInf, 1, 2}}) {
      const Tensor x = numbers(row, dtype);
      for (const Doubles& out : both_ways(op_softmax, {x})) EXPECT_EQ(out, (Doubles{1, 0, 0})) << cat(dtype);
      for (const Doubles& out : both_ways(op_log_softmax, {x}))
        EXPECT_EQ(out, (Doubles{0, -kInf, -kInf})) << cat(dtype);
    }
    // Two share it, as equal numbers do; NaN and a line without any chance stay what they were.
    for (const Doubles& out : both_ways(op_softmax, {numbers({kInf, kInf, 5, -kInf}, dtype)}))
      EXPECT_EQ(out, (Doubles{0.5, 0.5, 0, 0})) << cat(dtype);
    for (const Doubles& row : {Doubles{kInf, std::nan("")}, Doubles{-kInf, -kInf}}) {
      for (const OpDef* op : {&op_softmax, &op_log_softmax}) {
        for (const Doubles& out : both_ways(*op, {numbers(row, dtype)})) {
          EXPECT_TRUE(std::isnan(out[0])) << op->name << " " << cat(dtype);
          EXPECT_TRUE(std::isnan(out[1])) << op->name << " " << cat(dtype);
        }
      }
    }
  }
}

TEST(InfiniteLogits, OfTheTrueClassGiveNoLossAndOfAnotherAnInfiniteOne) {
  for (const DType dtype : kDTypes) {
    for (const Doubles& row : {Doubles{kInf, -kInf, -kInf}, Doubles{kInf, 1, -kInf}}) {
      const Tensor x = reshape(numbers({row[0], row[1], row[2], row[0], row[1], row[2]}, dtype), {2, 3}),
                   labels = Tensor::of<int64_t>({0, 1}), g = numbers({1, 2}, dtype);
      for (const Doubles& out : both_ways(op_softmax_cross_entropy, {x, labels}))
        EXPECT_EQ(out, (Doubles{0, kInf})) << cat(dtype);
      for (const Doubles& out : both_ways(op_softmax_cross_entropy_gradient, {x, labels, g}))
        EXPECT_EQ(out, (Doubles{0, 0, 0, 2, -2, 0})) << cat(dtype);
    }
    // A class that has no chance, and is not asked for, is as if it were not there.
    const Tensor masked = reshape(numbers({0, -kInf, 0}, dtype), {1, 3}), label = Tensor::of<int64_t>({2});
    for (const Doubles& out : both_ways(op_softmax_cross_entropy, {masked, label}))
      EXPECT_NEAR(out[0], std::log(2.0), 1e-2) << cat(dtype);
  }
}

// Rows longer than the block of the kernels.
TEST(InfiniteLogits, OfManyClassesAreFoundInEachPieceOfARow) {
  constexpr int64_t kClasses = 5000;
  for (const int64_t at : {int64_t{0}, int64_t{2047}, int64_t{2048}, kClasses - 1}) {
    std::vector<float> row(kClasses, 1);
    row[static_cast<size_t>(at)] = std::numeric_limits<float>::infinity();
    const Tensor x = reshape(Tensor::of(row), {1, kClasses});
    EXPECT_EQ(doubles(softmax_cross_entropy(x, Tensor::of<int64_t>({at}))), Doubles{0}) << at;
    EXPECT_EQ(doubles(softmax_cross_entropy(x, Tensor::of<int64_t>({(at + 1) % kClasses}))), Doubles{kInf})
        << at;
    EXPECT_EQ(doubles(softmax(x, 1))[static_cast<size_t>(at)], 1) << at;
  }
}

TEST(InfiniteLogits, OfLogarithmsOfSumsHaveFiniteSlopes) {
  for (const auto& [row, slope] : std::vector<std::pair<Doubles, Doubles>>{
           {{kInf, 0}, {1, 0}}, {{kInf, -kInf}, {1, 0}}, {{-kInf, 3}, {0, 1}}, {{-kInf, -kInf}, {0, 0}}}) {
    const Tensor x = Tensor::of(row);
    GradientTape tape;
    tape.watch(x);
    EXPECT_EQ(doubles(tape.gradient(logsumexp(x, 0), x)), slope) << row[0] << ", " << row[1];
  }
  const Tensor x = Tensor::of<double>({kInf, -kInf});
  GradientTape tape;
  tape.watch(x);
  const Tensor out = softplus(x);
  EXPECT_EQ(doubles(out), (Doubles{kInf, 0}));
  EXPECT_EQ(doubles(tape.gradient(out, x)), (Doubles{1, 0}));
}

}  // namespace
}  // namespace espalier
