// The parts of a collective that ranks work on, against a count of elements one by one.
#include "comm/slices.h"

#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "base/thread_pool.h"
#include "comm/ranks_test.h"

namespace espalier {
namespace {

Collective sliced(size_t element, size_t count) {
  return {Collective::Kind::kAllReduce, "x", "", element, count, nullptr, 0};
}

// Lines of 64 bytes are dealt out one by one: the first ranks have one more.
TEST(Slices, AreWholeLinesOfAllElementsOnce) {
  for (const size_t element : {1u, 2u, 4u, 8u, 16u, 64u, 12u}) {
    const size_t line = element == 12 ? 64 : 64 / element;  // elements
    for (const int world : {1, 2, 3, 7}) {
      for (const size_t count : {size_t{0}, size_t{1}, line - 1, line, line + 1, 3 * line, 20 * line + 1}) {
        const size_t lines = (count + line - 1) / line;
        size_t next = 0;
        for (int rank = 0; rank < world; ++rank) {
          size_t own = 0;
          for (size_t i = 0; i < lines; ++i) {
            const size_t more = lines % static_cast<size_t>(world), each = lines / static_cast<size_t>(world);
            const size_t first = more * (each + 1);
            const size_t whose = i < first ? i / (each + 1) : more + (i - first) / each;
            own += whose == static_cast<size_t>(rank);
          }
          const ElementRange slice = slice_of(rank, world, sliced(element, count));
          EXPECT_EQ(slice.begin, next) << element << " " << count << " " << rank << "/" << world;
          next = std::min(next + own * line, count);
          EXPECT_EQ(slice.end, next) << element << " " << count << " " << rank << "/" << world;
        }
        EXPECT_EQ(next, count);
      }
    }
  }
}

// Of three ranks: to all of them, and to one place. More than a piece of 8192 elements, and none but those.
TEST(Slices, AreReducedWhereTheyBelong) {
  constexpr size_t kAll = 30'000, kBegin = 100, kEnd = 25'001;
  ThreadPool pool(2);
  const auto sum = [](std::byte* to, const std::byte* const* from, int ranks, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      int32_t all = 0;
      for (int rank = 0; rank < ranks; ++rank)
        all = 10 * all + reinterpret_cast<const int32_t*>(from[rank])[i];
      reinterpret_cast<int32_t*>(to)[i] = all;
    }
  };
  const auto value = [](size_t rank, size_t i) { return static_cast<int32_t>((i + rank) % 10); };
  const auto wanted = [&](size_t i) { return 100 * value(0, i) + 10 * value(1, i) + value(2, i); };
  std::vector<std::vector<int32_t>> values(3, std::vector<int32_t>(kAll));
  std::vector<std::byte*> data;
  for (size_t rank = 0; rank < 3; ++rank) {
    for (size_t i = 0; i < kAll; ++i) values[rank][i] = value(rank, i);
    data.push_back(reinterpret_cast<std::byte*>(values[rank].data()));
  }
  const Reduction reduction{sum, sizeof(int32_t)};
  std::vector<int32_t> here(kEnd - kBegin + 1, -1);
  reduce_here(reduction, data, {kBegin, kEnd}, reinterpret_cast<std::byte*>(here.data()), pool);
  for (size_t i = kBegin; i < kEnd; ++i) ASSERT_EQ(here[i - kBegin], wanted(i)) << i;
  EXPECT_EQ(here.back(), -1);
  reduce_everywhere(reduction, data, 1, {kBegin, kEnd}, pool);
  for (size_t rank = 0; rank < 3; ++rank) {
    for (size_t i = 0; i < kAll; ++i)
      ASSERT_EQ(values[rank][i], i < kBegin || i >= kEnd ? value(rank, i) : wanted(i)) << rank << " " << i;
  }
}

TEST(Slices, CopiesAreWhole) {
  ThreadPool pool(2);
  for (const size_t bytes :
       {size_t{0}, size_t{1}, size_t{256} << 10, (size_t{256} << 10) + 1, size_t{700'001}}) {
    std::vector<std::byte> from(bytes + 1), to(bytes + 1, std::byte{7});
    for (size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i * 31 >> 3);
    copy(to.data(), from.data(), bytes, pool);
    EXPECT_EQ(std::memcmp(to.data(), from.data(), bytes), 0) << bytes;
    EXPECT_EQ(to[bytes], std::byte{7}) << bytes;
    copy(to.data(), to.data(), bytes, pool);
    EXPECT_EQ(std::memcmp(to.data(), from.data(), bytes), 0) << bytes;
  }
}

}  // namespace
}  // namespace espalier
