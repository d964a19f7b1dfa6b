#include "data/positive_class.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"

namespace espalier {
namespace {

TEST(PositiveClasses, AKnownPairSaysWhichOfItsLabelsIsPositive) {
  constexpr const char* kPairs[][2] = {{"1", "0"},        {"1", "-1"},   {"1.0", "0.0"}, {"true", "false"},
                                       {"TRUE", "False"}, {"yes", "no"}, {"Yes", "NO"},  {"y", "n"},
                                       {"Y", "N"},        {"t", "f"},    {"ja", "nein"}, {"Ja", "Nein"},
                                       {"oui", "non"},    {"sí", "no"},  {"SÍ", "NO"},   {"si\u0301", "no"},
                                       {"si", "no"},      {"да", "нет"}, {"Да", "НЕТ"}};
  for (const auto& [positive, negative] : kPairs) {
    EXPECT_EQ(positive_of_pair(positive, negative), positive) << negative;
    EXPECT_EQ(positive_of_pair(negative, positive), positive) << negative;
  }
  constexpr const char* kNone[][2] = {{"t", "c"},   {"yes", "0"},   {"no", "unsure"}, {"y", "no"},
                                      {"1", "2"},   {"a", "b"},     {"good", "bad"},  {"(1)", "0"},
                                      {"ja", "no"}, {"true", "no"}, {"f", "m"},       {"<=50K", ">50K"},
                                      {"01", "00"}, {"1", "00"},    {"-01", "1"}};
  for (const auto& [a, b] : kNone) EXPECT_EQ(positive_of_pair(a, b), std::nullopt) << a << " " << b;
}

TEST(PositiveClasses, OneWordOfAPairNamesTheOther) {
  EXPECT_EQ(positive_beside("no"), "yes");
  EXPECT_EQ(positive_beside("0"), "1");
  EXPECT_EQ(positive_beside("false"), "true");
  EXPECT_EQ(positive_beside("нет"), "да");
  EXPECT_EQ(positive_beside("1.0"), "1.0");
  EXPECT_EQ(positive_beside("Yes"), "Yes");
  EXPECT_EQ(positive_beside("declined"), std::nullopt);
}

TEST(PositiveClasses, TheFirstThatNamesOneCounts) {
  const std::vector<std::string> words = {"approved", "declined"}, pair = {"no", "yes"};
  const auto of = [](const PositiveSaid& said, const std::vector<std::string>& classes) {
    const PositiveClass out = positive_class(said, classes);
    return cat(out.value, " ", name(out.because));
  };
  EXPECT_EQ(of({.gates = "declined", .model = "approved"}, words), "declined gates");
  EXPECT_EQ(of({.flag = "declined", .model = "approved"}, words), "declined flag");
  EXPECT_EQ(of({.schema = "declined", .model = "approved"}, words), "declined schema");
  EXPECT_EQ(of({.model = "approved"}, words), "approved model");
  EXPECT_EQ(of({.model = "no"}, pair), "no model");
  EXPECT_EQ(of({}, pair), "yes pair");
  EXPECT_EQ(of({}, words), " ");
  EXPECT_EQ(of({.flag = "yes"}, {"no"}), "yes flag");
  EXPECT_EQ(of({.gates = "1"}, {"0.0", "1.0"}), "1.0 gates");
  EXPECT_EQ(of({.gates = "true"}, {"0", "1"}), "1 gates");
  EXPECT_EQ(of({.flag = "0"}, {"false", "true"}), "false flag");
  EXPECT_EQ(of({.flag = "approved"}, {"declined"}), "approved flag");
  EXPECT_EQ(of({.gates = "paid"}, {"unpaid"}), "paid gates");
}

TEST(PositiveClasses, WhatDiffersOrIsNoClassIsNamed) {
  const std::vector<std::string> classes = {"no", "yes"};
  const auto rule = [&](const PositiveSaid& said) { return rule_of([&] { positive_class(said, classes); }); };
  EXPECT_EQ(rule({.flag = "yes", .schema = "no"}), "positive.differs");
  EXPECT_EQ(rule({.gates = "yes", .flag = "no"}), "positive.differs");
  EXPECT_EQ(rule({.gates = "yes", .schema = "no"}), "positive.differs");
  EXPECT_EQ(rule({.gates = "approved"}), "gates.positive");
  EXPECT_EQ(rule({.flag = "approved"}), "positive.class");
  EXPECT_EQ(rule({.schema = "approved"}), "schema.favourable");
  EXPECT_FALSE(same_label("01", "1")) << "a code";
  EXPECT_TRUE(same_label("-1.0", "-1"));
  EXPECT_TRUE(same_label("9007199254740993.0", "9007199254740993"));
  EXPECT_FALSE(same_label("9007199254740992", "9007199254740993")) << "of one f64";
  const auto fix = [](const PositiveSaid& said, const std::vector<std::string>& of) -> std::string {
    try {
      positive_class(said, of);
    } catch (const ValueError& error) {
      return error.fix();
    }
    return "not refused";
  };
  EXPECT_EQ(fix({.gates = "yes", .flag = "no"}, classes), "--positive yes");
  EXPECT_EQ(fix({.flag = "yes", .schema = "no"}, classes), "--positive no");
  EXPECT_EQ(fix({.gates = "yes", .schema = "no"}, classes), "positive = \"no\" in the gates");
  EXPECT_EQ(fix({.gates = "perhaps"}, {"he said \"yes\", ok", "no"}),
            "positive = \"he said \\\"yes\\\", ok\" or \"no\" in the gates");
  // Rows of one label.
  EXPECT_EQ(fix({.flag = "aproved"}, {"approved"}), "did you mean \"approved\"?");
  EXPECT_EQ(fix({.gates = "approved"}, {"no"}), "positive = \"no\" or \"yes\" in the gates");
  EXPECT_EQ(rule_of([] { positive_class({.flag = "approved"}, std::vector<std::string>{"no"}); }),
            "positive.class");
  try {
    throw_no_positive("label \"y\"", {"it's on", "off"}, "gates count");
  } catch (const ValueError& error) {
    EXPECT_EQ(
        error.message(),
        "label \"y\": nothing says which class is positive, it's on or off, and gates count one of them");
    EXPECT_EQ(error.fix(), "--positive 'it'\\''s on', or --positive off");
  }
}

// At most 40 % of the rows.
TEST(PositiveClasses, TheRarerWordOfTrainingRowsUpToAShare) {
  const auto of = [](int64_t a, int64_t b) {
    return positive_class(PositiveSaid(), std::map<std::string, int64_t>{{"a", a}, {"b", b}}).value;
  };
  EXPECT_EQ(of(40, 60), "a");
  EXPECT_EQ(of(60, 40), "b");
  EXPECT_EQ(of(41, 59), "");
  EXPECT_EQ(of(57, 43), "");
  EXPECT_EQ(of(50, 50), "");
  const PositiveClass pair =
      positive_class(PositiveSaid(), std::map<std::string, int64_t>{{"no", 1}, {"yes", 9}});
  EXPECT_EQ(pair.value, "yes") << "a pair counts more than shares";
  const PositiveClass rarer =
      positive_class(PositiveSaid(), std::map<std::string, int64_t>{{"a", 3}, {"b", 7}});
  EXPECT_EQ(text_of(rarer, "kind", {"a", "b"}),
            "positive is kind=a: the rarer one, 30 % of the rows; --positive names another");
  EXPECT_EQ(text_of(pair, "paid", {"no", "yes"}), "positive is paid=yes: yes and no are a known pair");
  EXPECT_EQ(text_of({}, "kind", {"a", "b"}),
            "nothing says which class of kind is positive, a or b: --positive a, or --positive b; slices, "
            "gates and thresholds count from one of them");
}

}  // namespace
}  // namespace espalier
