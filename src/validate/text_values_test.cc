#include "validate/text_values.h"

#include <cmath>

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(TextValues, WholeNumbersAreOfTheWholeText) {
  EXPECT_EQ(whole_number("7"), 7);
  EXPECT_EQ(whole_number(" \t-7\n"), -7);
  EXPECT_EQ(whole_number("+7"), 7);
  EXPECT_EQ(whole_number("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(whole_number("-9223372036854775808"), INT64_MIN);
  for (const char* text :
       {"", " ", "+", "-", "+-7", "--7", "7.0", "7 7", "0x7", "9223372036854775808", "7e1"})
    EXPECT_FALSE(whole_number(text)) << text;
}

TEST(TextValues, RealNumbersAreFloats) {
  EXPECT_EQ(real_number("0.1"), 0.1F);
  EXPECT_EQ(real_number(" +1e3 "), 1000.0F);
  EXPECT_EQ(real_number("-Infinity"), -INFINITY);
  EXPECT_EQ(real_number("1e39"), INFINITY);
  EXPECT_EQ(real_number("-1e400"), -INFINITY);
  EXPECT_EQ(real_number("1e9999"), INFINITY);
  EXPECT_EQ(real_number("1e-40"), 1e-40F);
  EXPECT_EQ(real_number("1e-400"), 0.0F);
  EXPECT_EQ(real_number("1e-9999"), 0.0F);
  EXPECT_TRUE(std::isnan(real_number("NaN").value()));
  for (const char* text : {"", "half", "1.5.2", "+-1", "1,5", "0x10", "1e"})
    EXPECT_FALSE(real_number(text)) << text;
}

}  // namespace
}  // namespace espalier
