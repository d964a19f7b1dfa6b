// Gradients of f32 variables, of layers that compute in 16 bits: closed forms.
#include <vector>

#include <gtest/gtest.h>

#include "espalier/espalier.h"

namespace espalier {
namespace {

constexpr int64_t kRowsOfMean = 1024;

// A kernel and a bias, 0 at first, behind one step of SGD on the mean of |prediction - target|, whose targets
// are 100 for three rows and -100 for others: 1018 of 1024 is the bias' gradient, which takes nine bits, one
// more than bf16 has.
struct BehindAStep {
  float kernel = 0, bias = 0;
};
constexpr float kMean = 1018.f / kRowsOfMean;

BehindAStep behind_a_step(const std::string& policy, float x, float x_of_first, double learning_rate) {
  std::vector<float> rows(kRowsOfMean, x), targets(kRowsOfMean, -100);
  rows[0] = x_of_first;
  for (const size_t row : {5, 6, 700}) targets[row] = 100;
  Sequential model{Dense({.units = 1, .kernel_initializer = "zeros", .dtype = policy}),
                   Activation("linear", "float32")};
  ModelOptions options{.optimizer = SGD{.learning_rate = learning_rate}, .loss = MeanAbsoluteError()};
  if (policy == "mixed_float16") options.loss_scale = LossScale{};
  model.compile(options);
  model.fit(Tensor::of(rows, {kRowsOfMean, 1}), Tensor::of(targets, {kRowsOfMean, 1}),
            {.batch_size = kRowsOfMean, .shuffle = false});
  BehindAStep out;
  for (const Variable& variable : model.trainable_variables())
    (variable.path().ends_with("kernel") ? out.kernel : out.bias) = variable.read().to_vector<float>()[0];
  return out;
}

TEST(WideGradients, AreNotRoundedToSixteenBits) {
  const float first = 1 + 0x1p-7f, wanted = kMean + 0x1p-17f;
  for (const char* policy : {"float32", "mixed_bfloat16", "mixed_float16"}) {
    const BehindAStep got = behind_a_step(policy, 1, first, 1);
    EXPECT_EQ(got.kernel, -wanted) << policy;
    EXPECT_EQ(got.bias, -kMean) << policy;
  }
}

// The loss scale begins at 2^15: their sum would be 2^21, the largest f16 is 65504, and a step whose
// gradients are infinite is skipped.
TEST(WideGradients, DoNotOverflowWhereTheirRowsDoNot) {
  const BehindAStep got = behind_a_step("mixed_float16", 64, 64, 0x1p-6);
  EXPECT_EQ(got.kernel, -kMean);
}

}  // namespace
}  // namespace espalier
