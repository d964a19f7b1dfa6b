#include "text/template.h"

#include <gtest/gtest.h>

#include "espalier/error.h"

namespace espalier {
namespace {

TEST(ProgramTemplate, NumbersThatFollowTheBatchAreFormulas) {
  const auto made = ProgramTemplate::between("x 10x784 f32, 21, 7, $a", 10, "x 20x784 f32, 41, -3, $a", 20);
  EXPECT_FALSE(made) << "7 and -3 differ by a sign";
  const auto any =
      ProgramTemplate::between("x 10x784 f32, 21, 990, $a 10.0", 10, "x 20x784 f32, 41, 980, $a 20.0", 20);
  ASSERT_TRUE(any);
  EXPECT_EQ(any->text(), "x ${B}x784 f32, ${2*B+1}, ${-1*B+1000}, $$a ${B}.0");
  EXPECT_EQ(any->at(1), "x 1x784 f32, 3, 999, $a 1.0");
  EXPECT_EQ(ProgramTemplate(any->text()).at(64), any->at(64));
  EXPECT_TRUE(any->varies());
  EXPECT_FALSE(ProgramTemplate("7 $$").varies());
  EXPECT_EQ(any->at(0), "x 0x784 f32, 1, 1000, $a 0.0");
  EXPECT_THROW(any->at(-1), ValueError);
  EXPECT_THROW(any->at(1001), ValueError) << "a number would be negative";
}

TEST(ProgramTemplate, OtherDifferencesHaveNone) {
  EXPECT_FALSE(ProgramTemplate::between("a 10", 10, "b 20", 20));
  EXPECT_FALSE(ProgramTemplate::between("10", 10, "20 ", 20));
  EXPECT_FALSE(ProgramTemplate::between("0.1", 10, "0.05", 20)) << "no integer";
  EXPECT_FALSE(ProgramTemplate::between("5", 10, "8", 20)) << "3 rows for 10";
  EXPECT_FALSE(ProgramTemplate::between("99999999999999999999", 10, "99999999999999999998", 20));
}

TEST(ProgramTemplate, ABrokenPlaceholderIsNamed) {
  for (const std::string text : {"$", "$x", "${", "${}", "${C}", "${2B}", "${2*B", "${2*B+}", "${+2*B}",
                                 "${99999999999*B}", "${B+99999999999}", "${B}}$"}) {
    try {
      ProgramTemplate("line\n  " + text);
      ADD_FAILURE() << text;
    } catch (const FormatError& error) {
      EXPECT_NE(error.message().find("2:"), std::string::npos) << error.message();
    }
  }
}

}  // namespace
}  // namespace espalier
