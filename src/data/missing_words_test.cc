#include "data/missing_words.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(MissingWords, ANumberStandsForAllThatSpellIt) {
  const MissingWords words{"", "NA", "-999", "7", "1e30"};
  EXPECT_TRUE(words.numbers());
  for (const char* cell : {"", "NA", "-999", "-999.0", "-999.000", "-999,0", "-9.99e2", "7", "+7", "7.",
                           "7,00", "1e30", "1E+30", "1000000000000000000000000000000"})
    EXPECT_TRUE(words.contains(cell)) << cell;
  for (const char* cell : {"na", "999", "-998", "-999.5", "-999,000", "-9990", "007", "07", "7 kg", "7-", "-",
                           ".", "-999 ", "1e31", "one"})
    EXPECT_FALSE(words.contains(cell)) << cell;
}

// 007 is a code.
TEST(MissingWords, DigitsBehindAZeroAreAText) {
  const MissingWords words{"007", "0"};
  EXPECT_TRUE(words.contains("007"));
  EXPECT_FALSE(words.contains("7"));
  EXPECT_TRUE(words.contains("0.0"));
  EXPECT_TRUE(words.contains("-0"));
  EXPECT_FALSE(words.contains("00"));
  EXPECT_FALSE(MissingWords({"NA"}).numbers());
}

// In its column -99 is a value.
TEST(MissingWords, ValuesOfAColumnAreNone) {
  const MissingWords words({"-99", "-999"}, {{"x", {"-99"}}});
  EXPECT_FALSE(words.of("x").contains("-99.0"));
  EXPECT_TRUE(words.of("x").contains("-999.0"));
  EXPECT_TRUE(words.of("y").contains("-99.0"));
}

}  // namespace
}  // namespace espalier
