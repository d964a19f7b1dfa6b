#include "runtime/memory.h"

#include <random>

#include <gtest/gtest.h>

#include "espalier/error.h"

namespace espalier {
namespace {

TEST(Arena, RandomLivesDoNotMeet) {
  std::mt19937 random(3);
  ArenaAllocator arena;
  std::vector<LiveRange> ranges;
  std::vector<size_t> living;
  for (uint32_t step = 0; step < 3000; ++step) {
    if (!living.empty() && random() % 2) {
      const size_t k = random() % living.size();
      LiveRange& range = ranges[living[k]];
      range.last = step;
      arena.free(range.offset, range.size);
      living.erase(living.begin() + static_cast<long>(k));
    } else {
      const uint64_t bytes = 1 + random() % 5000;
      living.push_back(ranges.size());
      ranges.push_back({arena.allocate(bytes), bytes, step, 4000, false});
    }
  }
  check_live_ranges(ranges);
  for (const LiveRange& range : ranges) EXPECT_EQ(range.offset % 64, 0u);
}

TEST(Arena, FreedRangesMergeAndAreReused) {
  ArenaAllocator arena;
  const uint64_t a = arena.allocate(100), b = arena.allocate(100), c = arena.allocate(100);
  arena.free(a, 100);
  arena.free(c, 100);
  arena.free(b, 100);
  EXPECT_EQ(arena.allocate(300), a);
  EXPECT_EQ(arena.extent(), 384u);
}

TEST(Arena, CheckerFindsSharedBytes) {
  using Ranges = std::vector<LiveRange>;
  EXPECT_THROW(check_live_ranges(Ranges{{0, 64, 0, 2}, {0, 64, 2, 3}}), InternalError);
  EXPECT_THROW(check_live_ranges(Ranges{{0, 128, 0, 5}, {64, 64, 1, 1}}), InternalError);
  EXPECT_THROW(check_live_ranges(Ranges{{64, 64, 0, 5}, {0, 128, 3, 9}}), InternalError);
  check_live_ranges(Ranges{{0, 64, 0, 2}, {0, 64, 3, 3}, {64, 64, 1, 9}});
  check_live_ranges(Ranges{{0, 64, 0, 2}, {0, 64, 2, 3, true}});
}

}  // namespace
}  // namespace espalier
