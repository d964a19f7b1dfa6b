#include "format/decimal.h"

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace espalier {
namespace {

// Of a cell with numbers around it, and the same without any before.
double short_number(const std::string& text) {
  const std::string cells = "12345678.12345678," + text + ",12345678";
  const char* const begin = cells.data() + 18;
  const double value = decimal::parse_short(cells.data(), begin, begin + text.size());
  const double first = decimal::parse_short(begin, begin, begin + text.size());
  EXPECT_TRUE(first == value || std::isnan(first)) << text;
  return value;
}

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
    const bool short_enough =
        text.find_first_of("eE") == text.npos && text.size() <= 15 + size_t{text[0] == '-'};
    const double value = short_number(text);
    ASSERT_TRUE(value == expected || (std::isnan(value) && !short_enough)) << text;
  }
}

TEST(Decimal, EndsWhereTheCellEnds) {
  const std::string text = "12345678901234567890,7.5";
  for (size_t size = 1; size <= 20; ++size) {
    EXPECT_EQ(parse_decimal(text.substr(0, size)), std::strtod(text.substr(0, size).c_str(), nullptr));
  }
  EXPECT_EQ(parse_decimal("+2.5"), 2.5);
  EXPECT_EQ(parse_decimal(".5"), 0.5);
  EXPECT_EQ(parse_decimal("5."), 5.0);
  EXPECT_TRUE(std::signbit(*parse_decimal("-0")));
}

TEST(Decimal, CommasMayBePointsAndPointsPartThousands) {
  for (const auto& [text, value] : std::vector<std::pair<const char*, double>>{{"1,5", 1.5},
                                                                               {"-0,25", -0.25},
                                                                               {"1234,5", 1234.5},
                                                                               {"1.234,5", 1234.5},
                                                                               {"-1.234.567,25", -1234567.25},
                                                                               {"+12.345,", 12345},
                                                                               {"123.456.789,0", 123456789},
                                                                               {",5", 0.5}}) {
    EXPECT_EQ(parse_decimal_comma(text), value) << text;
  }
  for (const char* text : {"1.234", "12", "1.23,4", "1234.567,8", ".234,5", "1.2.345,6", "1,234,5",
                           "1.234,5.6", "a.123,4", "1.234,x", "", ",", "-.123,4", "1..234,5"})
    EXPECT_EQ(with_decimal_point(text), std::nullopt) << text;
}

TEST(Decimal, PointsBeforeEachThreeDigitsPartThousands) {
  EXPECT_EQ(without_thousands("1.234"), "1234");
  EXPECT_EQ(without_thousands("-12.345.678"), "-12345678");
  for (const char* text :
       {"1234", "0.123", "1.23", "1.2345", "1234.567", ".123", "1.234,5", "1.2e3", "-.123", "", "1..234"})
    EXPECT_EQ(without_thousands(text), std::nullopt) << text;
}

TEST(Decimal, OtherTextIsNoNumber) {
  for (const char* text :
       {"",     "-",   "+",   ".",  "-.",  "1.2.3", "1,2",   "1 ",  " 1",  "inf",   "-inf",        "nan",
        "0x10", "--1", "+-1", "1e", "1e+", "e5",    "1e400", "12a", "a12", "1_000", "\xef\xbc\x91"}) {
    EXPECT_EQ(parse_decimal(text), std::nullopt) << text;
    EXPECT_TRUE(std::isnan(short_number(text))) << text;
  }
}

}  // namespace
}  // namespace espalier
