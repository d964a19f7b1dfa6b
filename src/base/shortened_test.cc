#include "base/shortened.h"

#include <gtest/gtest.h>

namespace espalier {
namespace {

TEST(Shortened, NoMoreThanALineAndNothingATerminalObeys) {
  EXPECT_EQ(shortened("short"), "short");
  const std::string most(40, 'a'), nearly(39, 'a');
  EXPECT_EQ(shortened(most), most);
  EXPECT_EQ(shortened(most + "a"), most + "...");
  EXPECT_EQ(shortened(nearly + "\xC3\xA4"), nearly + "...");
  EXPECT_EQ(shortened("\x1b]0;title\x07\n"), "?]0;title?\\n");
  EXPECT_EQ(printable("\x7f" + most + "\xC3\xA4"), "?" + most + "\xC3\xA4");
}

}  // namespace
}  // namespace espalier
