#include "validate/text_keys.h"

#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/format.h"
#include "validate/sketch_distinct.h"
#include "validate/sketch_key.h"
#include "validate/sketch_tags.h"

namespace espalier {
namespace {

std::vector<ReadTextKeys*> all_readers() {
  std::vector<ReadTextKeys*> out = {read_text_keys_portable};
#if defined(__x86_64__)
  if (current_isa() >= Isa::kAvx512) out.push_back(read_text_keys_avx512);
#endif
  return out;
}

std::vector<FindTags*> all_finders() {
  std::vector<FindTags*> out = {find_tags_portable};
#if defined(__x86_64__)
  if (current_isa() >= Isa::kAvx512) out.push_back(find_tags_avx512);
#endif
  return out;
}

TEST(TextKeys, AreThoseOfEachText) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string bytes(16, 'x');
    std::vector<std::string> texts(random() % (kTextGroup + 1));
    std::vector<uint32_t> ends, sizes;
    for (std::string& text : texts) {
      for (size_t i = random() % (round % 4 ? 17 : 40); i > 0; --i) text += static_cast<char>(random());
      bytes += text;
      ends.push_back(static_cast<uint32_t>(bytes.size()));
      sizes.push_back(static_cast<uint32_t>(text.size()));
    }
    const uint32_t longest = sizes.empty() ? 0 : *std::ranges::max_element(sizes);
    for (ReadTextKeys* const reader : all_readers()) {
      TextKeys keys;
      ASSERT_EQ(reader({bytes.data(), ends.data(), sizes.data(), ends.size()}, keys), longest);
      for (size_t i = 0; i < texts.size(); ++i) {
        const SketchKey expected = SketchKey::of(texts[i]);
        if (!expected.is_short()) continue;
        ASSERT_EQ(keys.low[i], expected.low);
        ASSERT_EQ(keys.high[i], expected.high);
        ASSERT_EQ(keys.hash[i], expected.hash());
        ASSERT_EQ(expected.text(), texts[i]);
      }
    }
  }
}

// By brute force over each home's slots.
TEST(TextKeys, OfEqualTagsTheFirstIsFound) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint8_t> tags(64 << random() % 4);
    const uint64_t tag_bits = round % 2 ? 0xff : 3, filled = random() % 18;
    for (size_t home = 0; home < tags.size(); home += kTagGroup) {
      const size_t used = std::min<size_t>(filled ? random() % filled : 0, kTagGroup);
      for (size_t i = 0; i < used; ++i) tags[home + i] = tag_of((random() & tag_bits) << 32);
    }
    std::vector<uint64_t> hashes(random() % (kTextGroup + 1));
    for (uint64_t& hash : hashes) hash = (random() & ~(0xffull << 32)) | (random() & tag_bits) << 32;
    for (FindTags* const finder : all_finders()) {
      const TagMatches matches = finder(tags.data(), tags.size(), hashes.data(), hashes.size());
      size_t found = 0, others = 0;
      for (size_t i = 0; i < hashes.size(); ++i) {
        const size_t home = hashes[i] % tags.size() / kTagGroup * kTagGroup;
        size_t first = 0;
        while (first < kTagGroup && tags[home + first] != tag_of(hashes[i])) ++first;
        if (first == kTagGroup && tags[home + kTagGroup - 1] == 0) {
          ASSERT_LT(others, matches.others);
          ASSERT_EQ(matches.which_others[others++], i);
          continue;
        }
        ASSERT_LT(found, matches.found);
        ASSERT_EQ(matches.which_found[found++], i);
        ASSERT_LT(matches.slots[i], tags.size());
        ASSERT_TRUE(first == kTagGroup || matches.slots[i] == home + first);
      }
      ASSERT_EQ(found, matches.found);
      ASSERT_EQ(others, matches.others);
    }
  }
}

TEST(TextKeys, TagsAreFoundWhereTheyStand) {
  std::mt19937_64 random(15);
  for (int round = 0; round < 1000; ++round) {
    uint8_t tags[kTagGroup];
    for (uint8_t& tag : tags) tag = static_cast<uint8_t>(random() % 3 * 127);
    for (const uint8_t tag : {0, 127, 254}) {
      const uint32_t found = equal_tags(tags, tag);
      for (size_t i = 0; i < 32; ++i) ASSERT_EQ(found >> i & 1, i < kTagGroup && tags[i] == tag);
    }
  }
}

// What texts count up, and what differs in one bit, looks drawn: each byte of the hash by chi-square, each
// bit that changes, and how many there seem to be.
TEST(TextKeys, HashesOfTextsAlikeLookDrawn) {
  const std::vector<std::string> forms = {"", "kind", "2024-01-01 ", "x0000000"};
  for (const std::string& form : forms) {
    constexpr int kTexts = 60000;
    std::vector<std::vector<double>> bytes(8, std::vector<double>(256));
    DistinctHashes distinct;
    for (int i = 0; i < kTexts; ++i) {
      const uint64_t hash = SketchKey::of(cat(form, i)).hash();
      for (size_t k = 0; k < 8; ++k) ++bytes[k][hash >> 8 * k & 0xff];
      distinct.note(hash);
    }
    EXPECT_NEAR(static_cast<double>(distinct.estimate()), kTexts, 4 * DistinctHashes::error() * kTexts)
        << form;
    for (size_t k = 0; k < 8; ++k) {
      double chi_square = 0;
      for (const double count : bytes[k]) {
        const double expected = kTexts / 256.0;
        chi_square += (count - expected) * (count - expected) / expected;
      }
      // 255 degrees of freedom, five deviations of sqrt(2 * 255).
      EXPECT_NEAR(chi_square, 255, 113) << form << " " << k;
    }
  }
  std::mt19937_64 random(3);
  for (int bit = 0; bit < 128; ++bit) {
    double changed = 0;
    constexpr int kPairs = 2000;
    for (int i = 0; i < kPairs; ++i) {
      const uint64_t low = random(), high = random();
      const SketchKey one{low, high, 16};
      const SketchKey other{low ^ (bit < 64 ? 1ull << bit : 0), high ^ (bit < 64 ? 0 : 1ull << (bit - 64)),
                            16};
      changed += std::popcount(one.hash() ^ other.hash());
    }
    EXPECT_NEAR(changed / kPairs, 32, 1) << bit;
  }
}

}  // namespace
}  // namespace espalier
