#include "base/listed_names.h"

#include <random>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"

namespace espalier {
namespace {

using Names = std::vector<std::string>;

TEST(ListedNames, AreQuotedWhereASignIsInThem) {
  EXPECT_EQ(name_in_list("sex"), "sex");
  EXPECT_EQ(name_in_list("hours per week"), "hours per week");
  EXPECT_EQ(name_in_list("age, years"), "\"age, years\"");
  EXPECT_EQ(name_in_list("a=b"), "\"a=b\"");
  EXPECT_EQ(name_in_list("q\"x"), "\"q\"\"x\"");
  EXPECT_EQ(name_in_list(" a"), "\" a\"");
  EXPECT_EQ(name_in_list(""), "\"\"");
  EXPECT_EQ(names_in_list({"age, years", "sex"}), "\"age, years\",sex");
  EXPECT_EQ(names_listed("\"age, years\" , sex,,`a=b`"), (Names{"age, years", "sex", "", "a=b"}));
  EXPECT_EQ(names_listed(""), Names{""});
  EXPECT_EQ(listed_parts("\"a*b\"*sex, age=18,\"a=b\"=x"), (Names{"\"a*b\"*sex", "age=18", "\"a=b\"=x"}));
  // As messages have it, that do not double quotes inside.
  EXPECT_EQ(names_listed("\"q\"x\",sex"), (Names{"q\"x", "sex"}));
  EXPECT_EQ(names_listed("5\" screws,sex"), (Names{"5\" screws", "sex"}));
  EXPECT_EQ(named_part("\"a=b\" = x,y")->name, "a=b");
  EXPECT_EQ(named_part("\"a=b\"=x,y")->rest, "x,y");
  EXPECT_EQ(named_part("a==")->rest, "=");
  EXPECT_FALSE(named_part("\"a=b\""));
  EXPECT_FALSE(named_part("\"c*\"*\"a=b\""));
  EXPECT_FALSE(named_part("sex*\"a=b\""));
  EXPECT_EQ(name_alone("\"age, years\""), "age, years");
  EXPECT_EQ(name_alone("a=b, c"), "a=b, c");
  EXPECT_EQ(name_alone("\"a\" or \"b"), "\"a\" or \"b");
  EXPECT_EQ(rule_of([] { names_listed("\"age, years"); }), "names.quote");
  EXPECT_EQ(rule_of([] { name_of_part("\"age\"=years"); }), "names.quote");
}

// All signs that lists, crosses, slices and shells know, and some letters.
TEST(ListedNames, AnyNamesAreReadAsTheyWereWritten) {
  constexpr std::string_view kLetters = "ab,=*:\"`' \\\n[]()\xc3\xa4\xff";
  std::mt19937 random(7);
  const auto below = [&](size_t count) { return static_cast<size_t>(random()) % count; };
  for (int i = 0; i < 20000; ++i) {
    Names names(1 + below(3));
    for (std::string& name : names) {
      for (size_t length = below(6); name.size() < length;) name += kLetters[below(kLetters.size())];
    }
    ASSERT_EQ(names_listed(names_in_list(names)), names) << names_in_list(names);
    ASSERT_EQ(names_listed(names_in_list(names, "*"), '*'), names);
    // Crosses in a list.
    const std::string cross = names_in_list(names, "*");
    ASSERT_EQ(listed_parts(cat(cross, ",", cross)), (Names{cross, cross}));
    const auto named = named_part(cat(name_in_list(names[0]), "=", cross));
    ASSERT_TRUE(named);
    ASSERT_EQ(named->name, names[0]);
    ASSERT_EQ(named->rest, cross);
  }
}

}  // namespace
}  // namespace espalier
