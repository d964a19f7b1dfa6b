#include "format/expression.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "format/expression_node.h"

namespace espalier {
namespace {

const CsvTable& people() {
  static const CsvTable table = parse_csv(
      "name,age,hours per week,zip,income,capital-gain,pay,empty\n"
      "Ann,39,40,02138,1.5,0,10,\n"
      "bob,?,20,10001,-2,5,n/a,\n"
      "C\xc3\xa9line,60,?,02139,0,7,forty,\n"
      "?,17,60,?,3,0,12,\n",
      {.delimiter = ',', .header = CsvHeader::kYes});
  return table;
}

// A character a row: 0, 1, or ? for missing.
std::string of(const std::string& text) {
  std::string out;
  for (const Truth truth : truths(Expression(text), people(), [](std::string_view cell, const std::string&) {
         return cell.empty() || cell == "?";
       }))
    out += truth == Truth::kMissing ? '?' : truth == Truth::kTrue ? '1' : '0';
  return out;
}

std::string expression_error_of(const std::string& text) {
  try {
    return of(text);
  } catch (const Error& error) {
    return cat(error.rule(), ": ", error.message(), error.fix().empty() ? "" : " | ", error.fix());
  }
}

TEST(Expression, ComparesColumnsWithNumbersAndTexts) {
  EXPECT_EQ(of("age >= 39"), "1?10");
  EXPECT_EQ(of("age <= 39"), "1?01");
  EXPECT_EQ(of("age > 39"), "0?10");
  EXPECT_EQ(of("age < 39"), "0?01");
  EXPECT_EQ(of("age = 39"), "1?00");
  EXPECT_EQ(of("age == 39.0"), "1?00");
  EXPECT_EQ(of("age != 39"), "0?11");
  EXPECT_EQ(of("age <> 39"), "0?11");
  EXPECT_EQ(of("name = \"Ann\""), "100?");
  EXPECT_EQ(of("name = 'Ann'"), "100?");
  EXPECT_EQ(of("name < \"b\""), "101?");
  EXPECT_EQ(of("`hours per week` > age"), "1??1");
  EXPECT_EQ(of("(age > 20) = (income > 0)"), "1?00");
}

TEST(Expression, MissingValuesStayMissingUnlessTheRestDecides) {
  EXPECT_EQ(of("age > 20 and income > 0"), "1000");
  EXPECT_EQ(of("age > 20 or income < 0"), "1110");
  EXPECT_EQ(of("age > 20 and income < 0"), "0?00");
  EXPECT_EQ(of("not age > 20"), "0?01");
  EXPECT_EQ(of("age is missing"), "0100");
  EXPECT_EQ(of("age is not missing"), "1011");
  EXPECT_EQ(of("(age > 20) is missing"), "0100");
  EXPECT_EQ(of("name is missing or `hours per week` is missing"), "0011");
  EXPECT_EQ(of("coalesce(age, 0) > 20"), "1010");
  EXPECT_EQ(of("coalesce(name, \"nobody\") = \"nobody\""), "0001");
  EXPECT_EQ(of("coalesce(age > 20, true)"), "1110");
}

TEST(Expression, TestsListsAndRanges) {
  EXPECT_EQ(of("age in [17, 39]"), "1?01");
  EXPECT_EQ(of("age not in (17, 39)"), "0?10");
  EXPECT_EQ(of("income in [-2, 3]"), "0101");
  EXPECT_EQ(of("name in [\"Ann\", 'bob']"), "110?");
  EXPECT_EQ(of("age between 17 and 39"), "1?01");
  EXPECT_EQ(of("age not between 17 and 39 and true"), "0?10");
  EXPECT_EQ(of("income between age and age"), "0?00");
}

TEST(Expression, ComputesAndWhatIsNoNumberIsMissing) {
  EXPECT_EQ(of("income * 2 + 1 = 4"), "1000");
  EXPECT_EQ(of("-income = 2"), "0100");
  EXPECT_EQ(of("1 - 1 - 1 = -1"), "1111");
  EXPECT_EQ(of("8 / 4 / 2 = 1"), "1111");
  EXPECT_EQ(of("7 % 4 = 3"), "1111");
  EXPECT_EQ(of("1 / `capital-gain` > 0"), "?11?");
  EXPECT_EQ(of("income / 0 > 0"), "????");
  EXPECT_EQ(of("sqrt(income) >= 0"), "1?11");
  EXPECT_EQ(of("log(income) < 9"), "1??1");
  EXPECT_EQ(of("exp(1000 * income) >= 0"), "?11?");
  EXPECT_EQ(of("abs(income) = 2"), "0100");
  EXPECT_EQ(of("floor(income) = 1 and ceil(income) = 2 and round(income) = 2"), "1000");
  EXPECT_EQ(of("min(income, 0) = max(-2, -3)"), "0100");
}

TEST(Expression, FunctionsOfTextsCountCharactersAndChangeAscii) {
  EXPECT_EQ(of("len(name) = 6"), "001?");
  EXPECT_EQ(of("lower(name) = \"ann\""), "100?");
  EXPECT_EQ(of("upper(name) = \"BOB\""), "010?");
  EXPECT_EQ(of("starts_with(name, \"A\") or ends_with(name, \"b\")"), "110?");
  EXPECT_EQ(of("contains(lower(name), \"line\")"), "001?");
}

TEST(Expression, NumberAndTextChangeTheTypeOfAColumn) {
  EXPECT_EQ(of("text(zip) = \"02138\""), "100?");
  EXPECT_EQ(of("zip = 2138"), "100?");
  EXPECT_EQ(of("number(pay) >= 10"), "1??1");
  EXPECT_EQ(of("number(age) = 39"), "1?00");
}

TEST(Expression, AColumnWithoutValuesFitsEverywhere) {
  EXPECT_EQ(of("empty > 3"), "????");
  EXPECT_EQ(of("empty = \"x\""), "????");
  EXPECT_EQ(of("empty is missing"), "1111");
  EXPECT_EQ(of("len(empty) = 1 or empty + 1 = 2"), "????");
  EXPECT_EQ(of("empty = empty"), "????");
  EXPECT_EQ(of("empty = (age > 3)"), "????");
  EXPECT_EQ(of("coalesce(empty, age) = 39"), "1?00");
  EXPECT_EQ(of("coalesce(empty, name) = \"bob\""), "010?");
}

TEST(Expression, CanonicalTextIsTheSameForWhatMeansTheSameAndReadsBack) {
  const auto canonical = [](const std::string& text) { return Expression(text).canonical(); };
  for (const auto& [text, wanted] : std::vector<std::pair<std::string, std::string>>{
           {"AGE==3.0", "AGE = 3"},
           {"((a<>1)) AND (b<2 And c>3)", "a != 1 and b < 2 and c > 3"},
           {"(a = 1 or b = 2) and not (c = 3)", "(a = 1 or b = 2) and not c = 3"},
           {"not (a in (1,2))", "a not in [1, 2]"},
           {"a not between 1 and -2", "a not between 1 and -2"},
           {"not (a is missing)", "a is not missing"},
           {"not not (a = 1)", "not not a = 1"},
           {"not (a = 1 and b = 2)", "not (a = 1 and b = 2)"},
           {"a - (b - c) = (a - b) - c", "a - (b - c) = a - b - c"},
           {"-(a * b) / -c > --d", "-(a * b) / -c > --d"},
           {"- - 5 = -(5)", "5 = -5"},
           {"a + -1e-9 = 1", "a + -1e-09 = 1"},
           {"a > 500000 and a < -1e14", "a > 500000 and a < -100000000000000"},
           {"a > 1000000000000000 and a < 123456.5", "a > 1e+15 and a < 123456.5"},
           {"`a` = 'it''s' or `two words` = \"say \"\"x\"\"\"",
            "a = \"it's\" or `two words` = \"say \"\"x\"\"\""},
           {"`and` = `tick``s`", "`and` = `tick``s`"},
           {"(a > 1) = TRUE", "(a > 1) = true"},
           {"(a = 1) is missing", "(a = 1) is missing"},
           {"f.x in [ -1 ]", "f.x in [-1]"},
           {"coalesce(a = 1 or b = 2, true)", "coalesce(a = 1 or b = 2, true)"}}) {
    EXPECT_EQ(canonical(text), wanted);
    EXPECT_EQ(canonical(wanted), wanted);
  }
  EXPECT_EQ(Expression("b > 1 and `a b` = len(c) or b = 2").columns(),
            (std::vector<std::string>{"b", "a b", "c"}));
}

TEST(Expression, MistakesOfTheTextPointAtThePlace) {
  EXPECT_EQ(expression_error_of("age >= 40 and"),
            "expression.syntax: a value is missing before the end\n"
            "    age >= 40 and\n"
            "                 ^");
  EXPECT_EQ(expression_error_of("(age > 1"),
            "expression.syntax: ) is missing behind what stands in parentheses, before the end\n"
            "    (age > 1\n"
            "            ^");
  EXPECT_EQ(expression_error_of("name = \"C\xc3\xa9line\" & age"),
            "expression.syntax: & is written as a word: and\n"
            "    name = \"C\xc3\xa9line\" & age\n"
            "                    ^ | and");
  EXPECT_EQ(expression_error_of("day >= 2020-01-31"),
            "expression.syntax: a date is text\n"
            "    day >= 2020-01-31\n"
            "           ^ | in quotes: \"2020-01-31\"");
  EXPECT_TRUE(expression_error_of("name contains \"x\"")
                  .ends_with(" | functions stand before what they are of: contains(name, \"x\")"))
      << expression_error_of("name contains \"x\"");
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "an expression is missing"},
           {"age 5", "the expression could end here"},
           {"1 < age < 5", "a comparison is not compared again"},
           {"age is 5", "is asks for one thing"},
           {"age is null", "is asks for one thing"},
           {"name = \"x", "a text begins here and does not end"},
           {"`x = 1", "a name begins here and does not end"},
           {"`` = 1", "a name of a column is not empty"},
           {"3abc > 1", "a number ends in a letter"},
           {"day >= 2020-01-31", "a date is text"},
           {"day < 31.01.2020", "a date is text"},
           {"1e999 > 1", "this number is beyond the largest"},
           {"age > 50.000",
            "50.000 may be 50000 or 50: the decimal sign is a point, and nothing parts thousands"},
           {"age > $5", "\"$\" means nothing here"},
           {"!(age > 5)", "! is written as a word: not"},
           {"age in [1, \"a\"]", "a list holds numbers or texts, not both"},
           {"age in [1, age]", "a list holds numbers or texts in quotes"},
           {"age in []", "a value is missing before ]"},
           {"age between 1 or 2", "and is missing between the two ends"},
           {"missing = 1", "a value is missing before missing"},
           {"name = \"\xff\"", "an expression is text in UTF-8"}}) {
    const std::string error = expression_error_of(text);
    EXPECT_TRUE(error.starts_with(cat("expression.syntax: ", message))) << text << ": " << error;
  }
  EXPECT_TRUE(
      expression_error_of("lne(name) > 3").starts_with("expression.function: unknown function \"lne\""));
  EXPECT_NE(expression_error_of("lne(name) > 3").find("len"), std::string::npos);
  EXPECT_TRUE(expression_error_of("pay (in EUR) > 3")
                  .ends_with("a column with parentheses in its name stands in backticks: `pay (in EUR)`"));
  EXPECT_TRUE(expression_error_of("pay(age) > 3").ends_with("^"));
  EXPECT_TRUE(
      expression_error_of("age > 1 and hours per week > 3")
          .ends_with("a column of more than one word stands in backticks, `hours per week`, a text in "
                     "quotes, \"hours per week\""));
  EXPECT_TRUE(
      expression_error_of("min(age) > 3").starts_with("expression.function: min takes two values, not 1"));
}

TEST(Expression, WholeNumbersThatNoDoubleHoldsAreRefused) {
  EXPECT_EQ(expression_error_of("zip = 9007199254740993"),
            "expression.syntax: a number has 53 bits, and 9007199254740993 would be 9007199254740992\n"
            "    zip = 9007199254740993\n"
            "          ^ | text(zip) = \"9007199254740993\"");
  for (const auto& [text, fix] : std::initializer_list<std::pair<const char*, const char*>>{
           {"age > 1 and `capital-gain` != -9007199254740993",
            " | text(`capital-gain`) != \"-9007199254740993\""},
           {"age < 9007199254740993", ""},
           {"age + 1 = 9007199254740993", ""},
           {"1 + age = 9007199254740993", ""},
           {"age = 9007199254740993 + 1", ""},
           {"age in [1, 100000000000000000000001]", ""}}) {
    const std::string said = expression_error_of(text);
    EXPECT_TRUE(said.starts_with("expression.syntax: a number has 53 bits")) << text << ": " << said;
    EXPECT_EQ(said.substr(said.find('^') + 1), fix) << text;
  }
  // What doubles hold is read, and reads back.
  for (const char* number : {"9007199254740992", "36028797018963968", "10000000000000000000000", "0.1",
                             "1e300", "009007199254740992", "9007199254740993e2"}) {
    const std::string text = Expression(cat("age = ", number)).canonical();
    EXPECT_EQ(Expression(text).canonical(), text);
  }
}

TEST(Expression, LongTextsShowThePartAroundThePlace) {
  std::string text = "age > 1";
  for (int i = 0; i < 40; ++i) text += " and age > 1";
  EXPECT_EQ(expression_error_of(text + " or or" + text.substr(7)),
            "expression.syntax: a value is missing before or\n"
            "    ... age > 1 and age > 1 and age > 1 or or and age > 1 and age > 1 and age >...\n"
            "                                           ^ | a column of this name is written `or`");
}

TEST(Expression, SizeIsLimited) {
  const auto repeated = [](const std::string& part, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += part;
    return out;
  };
  EXPECT_EQ(of(cat(repeated("(", 60), "true", repeated(")", 60))), "1111");
  EXPECT_EQ(of(cat("true", repeated(" and true", 5000))), "1111");
  for (const std::string& text :
       {cat(repeated("(", 70), "true", repeated(")", 70)), cat(repeated("not ", 70), "true"),
        cat(repeated("-", 70), "age > 1"), cat("1", repeated(" + 1", 300), " = 1"),
        cat(repeated("abs(", 70), "age", repeated(")", 70), "> 1"), std::string(70000, ' ')})
    EXPECT_EQ(rule_of([&] { Expression{text}; }), "expression.size") << text.substr(0, 20);
}

TEST(Expression, MistakesOfColumnsAndTypesSayWhatTheTableHolds) {
  EXPECT_EQ(expression_error_of("aeg > 1"),
            "expression.column: unknown column \"aeg\": known are name, age, `hours per week`, zip, income, "
            "`capital-gain`, pay, empty\n"
            "    aeg > 1\n"
            "    ^ | did you mean \"age\"?");
  EXPECT_TRUE(expression_error_of("age > 1 and capital-gain > 0").ends_with("write `capital-gain`"));
  EXPECT_EQ(expression_error_of("pay > 10"),
            "expression.type: both sides are of one type, and here text meets a number; column \"pay\" is "
            "text, since line 3 holds \"n/a\"\n"
            "    pay > 10\n"
            "        ^ | number(pay), which takes other cells for missing");
  EXPECT_TRUE(expression_error_of("name > 10").ends_with("^"));
  EXPECT_TRUE(expression_error_of("age = \"40\"").ends_with("a number has no quotes: 40"));
  EXPECT_TRUE(expression_error_of("age = \"4.50\"").ends_with("a number has no quotes: 4.50"));
  // As a number it is 2138, too.
  EXPECT_TRUE(expression_error_of("zip = \"02138\"").ends_with("| text(zip) = \"02138\""));
  EXPECT_TRUE(expression_error_of("\"02138\" != zip").ends_with("| \"02138\" != text(zip)"));
  EXPECT_TRUE(expression_error_of("zip in [\"02138\"]").ends_with("| text(zip), which are as they stand"));
  EXPECT_TRUE(expression_error_of("\"age\" > 10").ends_with("a column has no quotes: age"));
  EXPECT_EQ(expression_error_of("age > 1 and \"name\" = \"Ann\""),
            "expression.type: \"name\" is a text here, and no column is compared with it\n"
            "    age > 1 and \"name\" = \"Ann\"\n"
            "                ^ | a column has no quotes: name");
  for (const char* text : {"'hours per week' in [\"40\"]", "\"40\" = lower(\"hours per week\")",
                           "'hours per week' between \"1\" and \"2\"", "contains('hours per week', \"4\")",
                           "'hours per week' is missing"})
    EXPECT_TRUE(expression_error_of(text).ends_with("a column has no quotes: `hours per week`")) << text;
  EXPECT_EQ(of("\"a\" = \"a\" and name != \"name\""), "111?");
  EXPECT_TRUE(expression_error_of("name = bob").ends_with("a text stands in quotes: \"bob\""));
  EXPECT_TRUE(expression_error_of("name = aeg").ends_with("did you mean \"age\"?"));
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"age", "a condition is true or false, and this is a number; column \"age\" is of numbers"},
           {"name", "a condition is true or false, and this is text"},
           {"age + 1", "a condition is true or false, and this is a number"},
           {"empty", "a condition is true or false, and this is a column without values"},
           {"not name", "a condition is true or false, and this is text"},
           {"age > 1 and 1", "a condition is true or false, and this is a number"},
           {"name + 1 > 2", "what is computed with is a number, and this is text"},
           {"-name > 2", "what is computed with is a number"},
           {"len(age) > 2", "what this function takes is text, and this is a number"},
           {"abs(name) > 2", "what this function takes is a number, and this is text"},
           {"(age > 1) > (age > 2)", "what is true or false is compared with = and !="},
           {"age in [\"a\"]", "both sides are of one type"},
           {"name between 1 and 2", "both sides are of one type"},
           {"(age > 1) = 1", "both sides are of one type, and here true or false meets a number"},
           {"coalesce(age, \"x\") = 1", "both sides are of one type"},
           {"text(age + 1) = \"2\"", "text takes a column"},
           {"number(age > 1) = 1", "what number takes is text"}}) {
    const std::string error = expression_error_of(text);
    EXPECT_TRUE(error.starts_with(cat("expression.type: ", message))) << text << ": " << error;
  }
}

TEST(Expression, ColumnsAreOfTheTypesThatAreSaidOfThem) {
  const CsvTable table = parse_csv("age,zip,free\n7,02138,1\nx,90210,2\n,,\n");
  const auto is_missing = [](std::string_view cell, const std::string&) { return cell.empty(); };
  const ColumnTypes types = [](const std::string& name) {
    return name == "age" ? ColumnType::kNumber : name == "zip" ? ColumnType::kText : ColumnType::kByCells;
  };
  using enum Truth;
  const auto of = [&](const char* text) { return truths(Expression(text), table, is_missing, types); };
  EXPECT_EQ(of("age > 1"), (std::vector<Truth>{kTrue, kMissing, kMissing}));
  EXPECT_EQ(of("zip = \"02138\""), (std::vector<Truth>{kTrue, kFalse, kMissing}));
  EXPECT_EQ(of("free > 1"), (std::vector<Truth>{kFalse, kTrue, kMissing}));
  EXPECT_EQ(rule_of([&] { of("zip > 1"); }), "expression.type");
  EXPECT_EQ(rule_of([&] { of("age = \"x\""); }), "expression.type");
  // Without a row, too.
  const CsvTable none = parse_csv("age,zip\n", {.header = CsvHeader::kYes});
  EXPECT_EQ(truths(Expression("age > 1"), none, is_missing, types), std::vector<Truth>());
  EXPECT_EQ(rule_of([&] { truths(Expression("zip > 1"), none, is_missing, types); }), "expression.type");
}

TEST(Expression, DatesThatEndWithTheirYearHaveNoOrder) {
  const CsvTable table = parse_csv("day,code\n31.1.2023,a\n01.02.2024,b\n");
  const auto rule = [&](const char* condition) {
    return rule_of([&] {
      truths(Expression(condition), table, [](std::string_view, const std::string&) { return false; });
    });
  };
  for (const char* wrong :
       {"day > \"01.01.2023\"", "day between \"1/31/2023\" and \"2024-01-01\"", "\"1.1.2023\" <= day"})
    EXPECT_EQ(rule(wrong), "expression.date") << wrong;
  for (const char* right : {"day = \"31.1.2023\"", "day > \"2023-01-31\"", "day < \"1.2.3\"",
                            "code < \"12.2024\"", "day != \"01.01.2023\"", "day > \"1.1.20234\""})
    EXPECT_EQ(rule(right), "nothing") << right;
}

TEST(Expression, ItsPageNamesEveryFunctionWithWhatItTakes) {
  const std::string page = posix_env().read_file("docs/expressions.md");
  for (const ExpressionFunction& function : expression_functions()) {
    const size_t at = page.find(cat("`", function.name, "("));
    ASSERT_NE(at, page.npos) << function.name;
    const std::string arguments = page.substr(at, page.find(')', at) - at);
    EXPECT_EQ(static_cast<size_t>(std::ranges::count(arguments, ',')) + 1, function.arguments)
        << function.name;
  }
}

}  // namespace
}  // namespace espalier
