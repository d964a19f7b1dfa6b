#include "base/c_quoted.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(CQuoted, ACompilerWouldReadTheSameBytes) {
  EXPECT_EQ(c_quoted(""), R"("")");
  EXPECT_EQ(c_quoted("Bad\nT\xc3\xb6lz"), "\"Bad\\nT\xc3\xb6lz\"");
  EXPECT_EQ(c_quoted("a\tb\r\"c\\d"), R"("a\tb\r\"c\\d")");
  EXPECT_EQ(c_quoted(std::string("\0"
                                 "7\x1b\x7f",
                                 4)),
            R"("\0007\033\177")");
  EXPECT_EQ(c_quoted("\xff\xc3 \xe2\x80\xae"), R"("\377\303 \342\200\256")")
      << "what is no UTF-8 or not seen";
  EXPECT_EQ(c_quoted("*/ /* ? ?\?="), R"("*\057 /\052 ? ?\?=")");
}

}  // namespace
}  // namespace espalier
