#include "format/decimal.h"

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace espalier {
namespace {

// The C library rounds every decimal number to the nearest double.
TEST(Decimal, RandomNumbersAreTheCLibrarys) {
  std::mt19937_64 random(11);
  const auto digits = [&](size_t most) {
    std::string out;
    for (size_t i = random() % (most + 1); i > 0; --i) out += static_cast<char>('0' + random() % 10);
    return out;
  };
  for (int i = 0; i < 300000; ++i) {
    const size_t most = 1 + random() % 24;
    std::string text = digits(most);
    if (random() % 3) text += "." + digits(most);
    if (text.empty() || text == ".") continue;
    if (random() % 8 == 0) text += (random() % 2 ? "e-" : "E") + std::to_string(random() % 40);
    if (random() % 3 == 0) text = "-" + text;
    const double expected = std::strtod(text.c_str(), nullptr);
    ASSERT_EQ(parse_decimal(text), expected) << text;
    const std::string longer = text + ",12345678";
    double value = 0;
    ASSERT_TRUE(
        parse_decimal(longer.data(), longer.data() + text.size(), longer.data() + longer.size(), value));
    ASSERT_EQ(value, expected) << text;
  }
}

TEST(Decimal, EndsWhereTheCellEnds) {
  const std::string text = "12345678901234567890,7.5";
  for (size_t size = 1; size <= 20; ++size) {
    double value = 0;
    EXPECT_TRUE(parse_decimal(text.data(), text.data() + size, text.data() + text.size(), value));
    EXPECT_EQ(value, std::strtod(text.substr(0, size).c_str(), nullptr));
  }
  EXPECT_EQ(parse_decimal("+2.5"), 2.5);
  EXPECT_EQ(parse_decimal(".5"), 0.5);
  EXPECT_EQ(parse_decimal("5."), 5.0);
  EXPECT_TRUE(std::signbit(*parse_decimal("-0")));
}

TEST(Decimal, OtherTextIsNoNumber) {
  for (const char* text :
       {"",     "-",   "+",   ".",  "-.",  "1.2.3", "1,2",   "1 ",  " 1",  "inf",   "-inf",        "nan",
        "0x10", "--1", "+-1", "1e", "1e+", "e5",    "1e400", "12a", "a12", "1_000", "\xef\xbc\x91"})
    EXPECT_EQ(parse_decimal(text), std::nullopt) << text;
}

}  // namespace
}  // namespace espalier
