// Losses from logits that are infinite, as of a class that is masked out: limits, with finite gradients.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "espalier/array.h"
#include "espalier/losses.h"
#include "espalier/tape.h"

namespace espalier {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
using Floats = std::vector<float>;

struct LossesAndSlopes {
  Floats losses, gradient;
};
LossesAndSlopes losses_and_slopes(const Loss& loss, const Tensor& labels, const Tensor& logits) {
  GradientTape tape;
  tape.watch(logits);
  const Tensor rows = loss.per_example(labels, logits);
  return {rows.to_vector<float>(), tape.gradient(rows, logits).to_vector<float>()};
}

TEST(LossesOfInfiniteLogits, OfTwoClasses) {
  const Tensor logits = Tensor::of<float>({kInf, kInf, -kInf, -kInf}, {4, 1}),
               labels = Tensor::of<float>({1, 0, 0, 1}, {4, 1});
  const LossesAndSlopes rows = losses_and_slopes(BinaryCrossentropy({.from_logits = true}), labels, logits);
  EXPECT_EQ(rows.losses, (Floats{0, kInf, 0, kInf}));
  EXPECT_EQ(rows.gradient, (Floats{0, 1, 0, -1}));
}

TEST(LossesOfInfiniteLogits, OfSeveralClassesBySharesAndByNumbers) {
  const Tensor logits = Tensor::of<float>({kInf, -kInf, 0, kInf, -kInf, 0}, {2, 3});
  const LossesAndSlopes by_shares = losses_and_slopes(CategoricalCrossentropy({.from_logits = true}),
                                                      Tensor::of<float>({1, 0, 0, 0, 0, 1}, {2, 3}), logits);
  const LossesAndSlopes by_numbers = losses_and_slopes(SparseCategoricalCrossentropy({.from_logits = true}),
                                                       Tensor::of<int32_t>({0, 2}), logits);
  for (const LossesAndSlopes& rows : {by_shares, by_numbers}) {
    EXPECT_EQ(rows.losses, (Floats{0, kInf}));
    EXPECT_EQ(rows.gradient, (Floats{0, 0, 0, 1, 0, -1}));
  }
}

// As if the class were not there.
TEST(LossesOfInfiniteLogits, OfAMaskedClass) {
  const Loss loss = CategoricalCrossentropy({.from_logits = true});
  const LossesAndSlopes masked = losses_and_slopes(loss, Tensor::of<float>({0.75, 0.25, 0}, {1, 3}),
                                                   Tensor::of<float>({1, 2, -kInf}, {1, 3})),
                        without = losses_and_slopes(loss, Tensor::of<float>({0.75, 0.25}, {1, 2}),
                                                    Tensor::of<float>({1, 2}, {1, 2}));
  EXPECT_EQ(masked.losses, without.losses);
  EXPECT_EQ(masked.gradient, (Floats{without.gradient[0], without.gradient[1], 0}));
}

// A share of 0 is one that may grow, where there is a chance for it.
TEST(LossesOfInfiniteLogits, LeaveTheSlopeForLabels) {
  const Tensor labels = Tensor::of<float>({1, 0, 0}, {1, 3}),
               logits = Tensor::of<float>({1, 1, -kInf}, {1, 3});
  GradientTape tape;
  tape.watch(labels);
  const Tensor rows = CategoricalCrossentropy({.from_logits = true}).per_example(labels, logits);
  const auto slope = tape.gradient(rows, labels).to_vector<float>();
  EXPECT_NEAR(slope[0], std::log(2.0F), 1e-6);
  EXPECT_NEAR(slope[1], std::log(2.0F), 1e-6);
  EXPECT_EQ(slope[2], 0);
}

}  // namespace
}  // namespace espalier
