#include "base/hash.h"

#include <array>
#include <set>

#include <gtest/gtest.h>

namespace espalier {
namespace {

// Zeros at the end, of which a word has as many as it lacks bytes, count.
TEST(Hash, OfSomeZerosIsAnotherThanOfMore) {
  const std::array<char, 64> zeros{};
  std::set<uint64_t> bytes, texts;
  for (size_t size = 0; size <= zeros.size(); ++size) {
    bytes.insert(hash_bytes(zeros.data(), size));
    texts.insert(hash_text({zeros.data(), size}));
  }
  EXPECT_EQ(bytes.size(), zeros.size() + 1);
  EXPECT_EQ(texts.size(), zeros.size() + 1);
}

TEST(Hash, OfBytesFollowsFromEachOfThemAndFromTheSeed) {
  std::array<char, 19> bytes{};
  std::set<uint64_t> all = {hash_bytes(bytes.data(), bytes.size()),
                            hash_bytes(bytes.data(), bytes.size(), 1)};
  for (char& one : bytes) {
    one = 1;
    all.insert(hash_bytes(bytes.data(), bytes.size()));
    one = 0;
  }
  EXPECT_EQ(all.size(), bytes.size() + 2);
}

}  // namespace
}  // namespace espalier
