#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/function.h"
#include "espalier/images.h"
#include "espalier/npy.h"
#include "espalier/tape.h"

namespace espalier {
namespace {

Tensor worst(const Tensor& a, const Tensor& b) { return max(abs(a - b)); }

TEST(ResizeImages, AreJaxs) {
  const auto golden = load_npz("tests/golden/resized.npz");
  EXPECT_EQ(golden.size(), 13u);
  for (const auto& [key, wanted] : golden) {
    if (key == "x") continue;
    const int64_t height = std::stoi(key), width = std::stoi(key.substr(key.find(',') + 1));
    const Tensor got = resize_images(golden.at("x"), height, width, {.antialias = key.ends_with("1")});
    ASSERT_EQ(got.type(), wanted.type()) << key;
    EXPECT_LT(worst(got, wanted).item<float>(), 2e-4f) << key;
  }
}

TEST(ResizeImages, KeepWhatIsConstantAndTakeAnyNumbers) {
  for (const bool antialias : {false, true}) {
    const Tensor x = full({5, 9, 2}, 77, DType::kU8);
    const Tensor got = resize_images(x, 4, 30, {.antialias = antialias});
    EXPECT_EQ(got.type(), (TensorType{DType::kF32, {4, 30, 2}}));
    EXPECT_LT(max(abs(got - 77)).item<float>(), 1e-4f);
  }
  EXPECT_EQ(resize_images(ones({2, 2, 1}, DType::kF64), 3, 3).dtype(), DType::kF64);
}

// Twice as many pixels: a quarter of the way between the old ones, as everyone's half-pixel centres have it.
TEST(ResizeImages, CentresOfPixelsStayWhereTheyAre) {
  const Tensor got = resize_images(Tensor::of<float>({0, 8}, {1, 2, 1}), 1, 4);
  EXPECT_EQ(got.to_vector<float>(), (std::vector<float>{0, 2, 6, 8}));
}

TEST(ResizeImages, HaveAGradient) {
  const Tensor x = ones({1, 4, 4, 1});
  GradientTape tape;
  tape.watch(x);
  const Tensor gradient = tape.gradient(sum(resize_images(x, 8, 2)), x);
  EXPECT_NEAR(sum(gradient).item<float>(), 16, 1e-5);
}

TEST(ResizeImages, WrongSizesAreNamed) {
  EXPECT_THROW(resize_images(ones({4, 4}), 2, 2), ShapeError);
  EXPECT_THROW(resize_images(ones({4, 4, 1}), 0, 2), ValueError);
  EXPECT_THROW(resize_images(ones({0, 4, 1}), 2, 2), ValueError);
}

}  // namespace
}  // namespace espalier
