#include "base/blocks.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <string>
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

// Whether the mapping that `address` lies in has asked for huge pages.
bool asks_for_huge_pages(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      const auto at = reinterpret_cast<uintptr_t>(address);
      inside = begin <= at && at < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line.find(" hg") != std::string::npos;
    }
  }
  return false;
}

TEST(Blocks, LargeOnesAskForHugePages) {
  constexpr size_t kLarge = size_t{1} << 23;
  void* const probe = mmap(nullptr, kLarge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(probe, MAP_FAILED);
  const bool granted = madvise(probe, kLarge, MADV_HUGEPAGE) == 0 && asks_for_huge_pages(probe);
  munmap(probe, kLarge);
  if (!granted) GTEST_SKIP() << "the kernel does not say who asks for huge pages";
  for (const size_t size : {kLarge, kLarge + (size_t{1} << 21) + 5}) {
    auto* block = static_cast<std::byte*>(take_block(size));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (size_t{1} << 21), 0u);
    EXPECT_TRUE(asks_for_huge_pages(block)) << size;
    EXPECT_TRUE(asks_for_huge_pages(block + kLarge - 1)) << size;
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
