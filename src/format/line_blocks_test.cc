#include "format/line_blocks.h"

#include <random>

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

TEST(LineBlocks, AreTheLinesOfTheText) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (size_t i = random() % 40; i > 0; --i)
      text += std::string(random() % 30, 'x') + (random() % 9 ? "\n" : "\n\n");
    if (random() % 2) text += "end";
    const size_t size = 1 + random() % 60;
    LineBlocks blocks(std::make_unique<TextSource>(text), size);
    std::string all;
    for (LineBlock block; blocks.next(block); all += block.text) {
      EXPECT_FALSE(block.text.empty());
      EXPECT_EQ(block.first, 1 + std::count(all.begin(), all.end(), '\n'));
      EXPECT_TRUE(block.text.back() == '\n' || all.size() + block.text.size() == text.size());
      EXPECT_TRUE(block.text.size() <= size || std::count(block.text.begin(), block.text.end(), '\n') <= 1);
    }
    EXPECT_EQ(all, text) << size;
  }
}

TEST(LineBlocks, RefuseLinesWithoutEnd) {
  LineBlocks blocks(std::make_unique<TextSource>("a\n" + std::string(LineBlocks::kLongest + 1, 'x')));
  LineBlock block;
  ASSERT_TRUE(blocks.next(block));
  EXPECT_EQ(block.text, "a\n");
  EXPECT_THROW(blocks.next(block), FormatError);
}

}  // namespace
}  // namespace espalier
