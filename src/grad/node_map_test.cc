#include "grad/node_map.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(NodeMap, NumbersEachTensorOnce) {
  std::vector<Tensor> tensors;
  NodeMap map;
  EXPECT_FALSE(map.contains(Tensor::scalar(1.0f)));
  for (uint32_t i = 0; i < 1000; ++i) {
    tensors.push_back(Tensor::scalar(1.0f));
    EXPECT_FALSE(map.contains(tensors[i]));
    EXPECT_TRUE(map.insert(tensors[i], i));
    EXPECT_FALSE(map.insert(tensors[i], i + 1));
  }
  EXPECT_EQ(map.size(), 1000u);
  for (uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(map.find(tensors[i]), i);
  EXPECT_EQ(map.find(Tensor::scalar(1.0f)), NodeMap::kNone);
  map.clear();
  EXPECT_EQ(map.size(), 0u);
  EXPECT_FALSE(map.contains(tensors[0]));
  EXPECT_TRUE(map.insert(tensors[0], 7));
  EXPECT_EQ(map.find(tensors[0]), 7u);
}

}  // namespace
}  // namespace espalier
