#include "format/canonical_decimal.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/philox.h"
#include "format/decimal.h"

namespace espalier {
namespace {

TEST(CanonicalDecimal, OneSpellingOfEachNumber) {
  for (const char* seven : {"7", "7.0", "7.", "07", "+7", "7e0", "70E-1", "0.7e+1", "0000.7e1"})
    EXPECT_EQ(canonical_decimal(seven), "7") << seven;
  for (const char* zero : {"0", "-0", "0.000", "0e9", ".0"}) EXPECT_EQ(canonical_decimal(zero), "0") << zero;
  EXPECT_EQ(canonical_decimal("-.250"), "-0.25");
  EXPECT_EQ(canonical_decimal("1E+30"), "1e30");
  EXPECT_EQ(canonical_decimal("12300e20"), "1.23e24");
  EXPECT_EQ(canonical_decimal("0.000000012"), "1.2e-8");
  EXPECT_EQ(canonical_decimal("123456789012345678901"), "123456789012345678901");
  // As doubles these two are one number.
  EXPECT_NE(canonical_decimal("9007199254740993"), canonical_decimal("9007199254740992"));
  for (const char* none :
       {"", "-", ".", "e5", "1e", "1e+-5", "1e99999999", "0x10", "inf", "nan", "1 2", "7a", "--7"})
    EXPECT_FALSE(canonical_decimal(none)) << none;
}

// A number written with any point, zeros and exponent.
TEST(CanonicalDecimal, SpellingsOfRandomNumbersAgreeAndReadBack) {
  Philox random(5);
  for (int i = 0; i < 20000; ++i) {
    const auto digits = static_cast<int64_t>(random.below(1000000));
    const int shift = static_cast<int>(random.below(12)) - 6, moved = static_cast<int>(random.below(7));
    const std::string sign = random.below(2) ? "-" : "", whole = cat(digits);
    const std::string one = cat(sign, whole, "e", shift),
                      other = cat(sign, "00", whole, std::string(static_cast<size_t>(moved), '0'), ".0E",
                                  shift - moved);
    const std::optional<std::string> canonical = canonical_decimal(one);
    ASSERT_TRUE(canonical) << one;
    ASSERT_EQ(canonical_decimal(other), canonical) << one << " " << other;
    ASSERT_EQ(canonical_decimal(*canonical), canonical) << one;
    ASSERT_EQ(*parse_decimal(*canonical), *parse_decimal(one)) << one;
    // One more is another number.
    ASSERT_NE(canonical_decimal(cat(sign, digits + 1, "e", shift)), canonical) << one;
  }
}

}  // namespace
}  // namespace espalier
