#include "validate/sketch_pages.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "validate/key_places.h"

namespace espalier {
namespace {

// Whether it had a count, which is one more now.
bool counts_known(CountPages& pages, uint64_t key) {
  const uint64_t place = key - pages.first_key();
  const uint32_t at = place < pages.keys() ? static_cast<uint32_t>(place) : KeyRange::kNone;
  return pages.count_known(std::span(&at, 1)) == 1;
}

TEST(CountPages, CountWhatAMapCountsOrSayThatTheyCannot) {
  std::mt19937_64 random(12);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    const size_t times = round % 3 == 0 ? 8 : 1;
    CountPages pages(1 + random() % (400 * times), 1 + random() % (200 * times));
    std::map<uint64_t, uint64_t> expected;
    const uint64_t middle = random() % 2 ? random() : random() % 2000, width = 1 + random() % (3000 * times);
    for (int i = 0; i < 2000; ++i) {
      const uint64_t key =
          middle + (random() % 2 ? random() % width : 0) - std::min(middle, random() % width);
      if (counts_known(pages, key)) {
        ASSERT_TRUE(expected.contains(key));
      } else if (uint64_t* const count = pages.make(key)) {
        ASSERT_EQ(*count, expected.contains(key) ? expected.at(key) : 0);
        ++*count;
      } else {
        ++refused;
        break;
      }
      ++expected[key];
    }
    std::map<uint64_t, uint64_t> found;
    uint64_t last = 0;
    pages.for_each([&](uint64_t key, uint64_t count) {
      EXPECT_TRUE(found.empty() || key > last);
      last = key;
      found[key] = count;
    });
    EXPECT_EQ(found, expected);
  }
  EXPECT_GT(refused, 30);
  EXPECT_LT(refused, 270);
}

TEST(CountPages, CountFrequentKeysToo) {
  CountPages pages(10, 10);
  std::map<uint64_t, uint64_t> expected, found;
  for (int i = 0; i < 300000; ++i) {
    const uint64_t key = 40 + static_cast<uint64_t>(i % 3 == 0);
    if (!counts_known(pages, key)) ++*pages.make(key);
    ++expected[key];
  }
  pages.for_each([&](uint64_t key, uint64_t count) { found[key] = count; });
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace espalier
