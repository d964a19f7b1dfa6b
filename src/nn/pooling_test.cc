#include "espalier/pooling.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "espalier/ops.h"
#include "espalier/random.h"

namespace espalier {
namespace {

// Means of the window's elements inside of the image, by a loop.
std::vector<float> averages(const Tensor& x, int64_t window, int64_t stride, bool same) {
  const int64_t height = x.size(1), width = x.size(2), channels = x.size(3);
  const auto places = [&](int64_t size) {
    return same ? (size + stride - 1) / stride : (size - window) / stride + 1;
  };
  const auto before = [&](int64_t size) {
    return same ? std::max<int64_t>(0, (places(size) - 1) * stride + window - size) / 2 : 0;
  };
  std::vector<float> out;
  for (int64_t n = 0; n < x.size(0); ++n) {
    for (int64_t i = 0; i < places(height); ++i) {
      for (int64_t j = 0; j < places(width); ++j) {
        for (int64_t c = 0; c < channels; ++c) {
          double sum = 0;
          int count = 0;
          for (int64_t h = i * stride - before(height); h < i * stride - before(height) + window; ++h) {
            for (int64_t w = j * stride - before(width); w < j * stride - before(width) + window; ++w) {
              if (h < 0 || h >= height || w < 0 || w >= width) continue;
              sum += x.data<float>()[static_cast<size_t>(((n * height + h) * width + w) * channels + c)];
              ++count;
            }
          }
          out.push_back(static_cast<float>(sum / count));
        }
      }
    }
  }
  return out;
}

TEST(AveragePooling, CountsElementsInsideOfTheImage) {
  const Tensor x = Generator(1).uniform({2, 7, 5, 3});
  for (const int64_t window : {1, 2, 3, 5}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const char* padding : {"valid", "same"}) {
        AveragePooling2D layer(
            {.pool_size = {window, window}, .strides = {stride, stride}, .padding = padding});
        const auto wanted = averages(x, window, stride, padding[0] == 's');
        const auto got = layer(x).to_vector<float>();
        ASSERT_EQ(got.size(), wanted.size());
        for (size_t i = 0; i < got.size(); ++i)
          EXPECT_NEAR(got[i], wanted[i], 1e-6) << window << " " << stride << " " << padding;
      }
    }
  }
}

TEST(AveragePooling, StridesAreThoseOfTheWindowAndMistakesAreNamed) {
  EXPECT_EQ(AveragePooling2D()(full({1, 5, 4, 2}, 1)).shape(), (Shape{1, 2, 2, 2}));
  EXPECT_EQ(rule_of([] { AveragePooling2D({.pool_size = {2}}); }), "average_pooling2d.window");
  EXPECT_EQ(rule_of([] { AveragePooling2D({.padding = "full"}); }), "average_pooling2d.padding");
  EXPECT_EQ(rule_of([] { AveragePooling2D()(full({1, 1, 4, 2}, 1)); }), "average_pooling2d.window");
  EXPECT_EQ(rule_of([] { AveragePooling2D()(full({4, 2}, 1)); }), "average_pooling2d.rank");
  EXPECT_EQ(rule_of([] {
              AveragePooling2D()(full({1, 2, 2, 1}, 1, DType::kI32));
            }),
            "average_pooling2d.dtype");
}

TEST(AveragePooling, GlobalMeansOfChannels) {
  const Tensor x = Tensor::of<float>({1, 10, 2, 20, 3, 30, 6, 40}, {1, 2, 2, 2});
  EXPECT_EQ(GlobalAveragePooling2D()(x).to_vector<float>(), (std::vector<float>{3, 25}));
  EXPECT_EQ(GlobalAveragePooling2D()(x).shape(), (Shape{1, 2}));
  EXPECT_EQ(GlobalAveragePooling2D({.keepdims = true})(x).shape(), (Shape{1, 1, 1, 2}));
  EXPECT_EQ(rule_of([] { GlobalAveragePooling2D()(full({4, 2}, 1)); }), "global_average_pooling2d.rank");
}

}  // namespace
}  // namespace espalier
