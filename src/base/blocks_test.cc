#include "base/blocks.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(Blocks, AreAlignedApartAndWritable) {
  std::vector<std::pair<std::byte*, size_t>> blocks;
  for (int round = 0; round < 3; ++round) {
    std::set<void*> living;
    for (const size_t size : {0, 1, 63, 64, 65, 128, 4095, 4096, 4097, 100000}) {
      for (int i = 0; i < 600; ++i) {
        auto* block = static_cast<std::byte*>(take_block(size));
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
        EXPECT_TRUE(living.insert(block).second) << "handed out twice";
        std::memset(block, i, size);
        blocks.emplace_back(block, size);
      }
    }
    for (size_t i = 0; i < blocks.size(); ++i) {
      for (size_t k = 0; k < blocks[i].second; k += 61)
        ASSERT_EQ(blocks[i].first[k], static_cast<std::byte>(i % 600)) << "written by another";
    }
    for (const auto& [block, size] : blocks) give_block(block, size);
    blocks.clear();
  }
}

TEST(Blocks, AbsurdSizesGiveNull) {
  EXPECT_EQ(take_block(SIZE_MAX), nullptr);
  EXPECT_EQ(take_block(SIZE_MAX / 2), nullptr);
}

TEST(Blocks, LargeOnesAreWhole) {
  for (const size_t size : {size_t{8} << 20, (size_t{9} << 20) + 5}) {
    auto* block = static_cast<std::byte*>(take_block(size));
    ASSERT_NE(block, nullptr);
    std::memset(block, 1, size);
    EXPECT_EQ(block[size - 1], std::byte{1});
    give_block(block, size);
  }
}

TEST(Blocks, MayBeFreedByAnotherThreadAndAfterTheirOwnEnded) {
  std::vector<std::shared_ptr<int>> made;
  std::thread([&] {
    for (int i = 0; i < 2000; ++i) made.push_back(std::allocate_shared<int>(BlockAllocator<int>(), i));
  }).join();
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(*made[i], i);
  std::thread([&] { made.clear(); }).join();
  // Outlives the lists of its thread: destroyed after them, in the order of construction turned around.
  std::thread([] {
    static thread_local std::shared_ptr<int> late;
    late = nullptr;
    late = std::allocate_shared<int>(BlockAllocator<int>(), 7);
  }).join();
}

}  // namespace
}  // namespace espalier
