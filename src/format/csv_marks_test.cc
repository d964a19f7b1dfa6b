// 48.430 between semicolons may be 48430 or 48.43, and so may "48,430" between commas.
#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "espalier/csv.h"

namespace espalier {
namespace {

std::optional<double> first_of(const std::string& text, CsvOptions options = {}) {
  return parse_csv(text, options).number(0, 0);
}
std::vector<std::string> notes_of(const std::string& text, CsvOptions options = {}) {
  return parse_csv(text, options).notes();
}

TEST(CsvMarks, ADoubtIsThousandsAndSaid) {
  const std::string text = "lat;lon;y\n48.430;11.250;a\n48.520;11.875;b\n";
  const CsvTable table = parse_csv(text);
  EXPECT_EQ(table.number(0, 0), 48430);
  EXPECT_EQ(table.numbers().point, ',');
  EXPECT_EQ(table.notes(), std::vector<std::string>{
                               "column \"lat\" and 1 more: 48.430 is read as 48430; where the point is the "
                               "decimal sign: --decimal ."});
  EXPECT_EQ(notes_of("a,p\nx,\"48,430\"\n"),
            std::vector<std::string>{"column \"p\": 48,430 is read as 48430; where the comma is the decimal "
                                     "sign: --decimal ,"});
  EXPECT_EQ(notes_of("a,p\nx,48.430\n"), std::vector<std::string>()) << "between commas a point is one";
  EXPECT_EQ(notes_of("name;y\nroom 1.234;a\nv1.235;b\n"), std::vector<std::string>()) << "no numbers";
}

TEST(CsvMarks, TheColumnItselfTellsFirst) {
  for (const char* text : {"n;y\n4.643;a\n1.234.567;b\n", "n;y\n4.643;a\n12;b\n920;c\n",
                           "n;y\n4.643;a\n1.234.567;0.5\n", "n;y\n1.234.567;a\n4.643;b\n"}) {
    const CsvTable table = parse_csv(text);
    EXPECT_EQ(table.number(text[4] == '4' ? 0 : 1, 0), 4643) << text;
    EXPECT_EQ(table.notes(), std::vector<std::string>()) << text;
  }
  EXPECT_EQ(first_of("n;y\n4.643;a\n4.5;b\n"), 4.643);
  EXPECT_EQ(first_of("n;y\n4.643;a\n0.125;b\n"), 4.643);
  // One number below 1000 may be a code for a missing one.
  EXPECT_EQ(notes_of("n;y\n4.643;a\n0;b\n0;c\n").size(), 1u);
  // Far below, the column tells too.
  std::string late = "n;y\n";
  for (int i = 0; i < 1500; ++i) late += "4.643;a\n";
  EXPECT_EQ(first_of(late + "4.5;b\n"), 4.643);
  EXPECT_EQ(first_of(late + "4.500;b\n"), 4643);
}

TEST(CsvMarks, OtherColumnsTellNext) {
  EXPECT_EQ(first_of("lat;size\n48.430;0.5\n48.520;2.25\n"), 48.43);
  EXPECT_EQ(notes_of("lat;size\n48.430;0.5\n48.520;2.25\n"), std::vector<std::string>());
  EXPECT_EQ(first_of("n;price\n48.430;3,5\n48.520;7\n"), 48430);
  EXPECT_EQ(notes_of("n;price\n48.430;3,5\n48.520;7\n"), std::vector<std::string>());
  EXPECT_EQ(first_of("n;price\n48.430;€ 3,50\n48.520;€ 7,25\n"), 48430);
  EXPECT_EQ(notes_of("n;price\n48.430;€ 3,50\n48.520;€ 7,25\n"), std::vector<std::string>());
  EXPECT_EQ(first_of("lat;price\n48.430;$ 3.50\n48.520;$ 7.25\n"), 48.43);
  // Other columns that contradict each other, or this one, tell nothing.
  EXPECT_EQ(notes_of("n;a;b\n48.430;3,5;2.5\n").size(), 1u);
  EXPECT_EQ(first_of("n;a\n48.430;2.5\n12;3.5\n7;4.5\n"), 48430);
  EXPECT_EQ(notes_of("n;a\n48.430;2.5\n12;3.5\n7;4.5\n").size(), 1u);
  // Between commas.
  EXPECT_EQ(notes_of("n,p\n\"48,430\",0.5\n"), std::vector<std::string>());
  EXPECT_EQ(notes_of("n,p\n\"48,430\",\"3,5\"\n"), std::vector<std::string>());
  EXPECT_EQ(first_of("n,p\n\"48,430\",\"3,5\"\n"), 48.43);
}

TEST(CsvMarks, WhoKnowsSaysIt) {
  const std::string text = "lat;lon\n48.430;11,5\n-48.520;7\n";
  EXPECT_EQ(first_of(text), 48430);
  EXPECT_EQ(first_of(text, {.decimal = '.'}), 48.43);
  EXPECT_EQ(parse_csv(text, {.decimal = '.'}).number(0, 1), std::nullopt);
  EXPECT_TRUE(parse_csv(text, {.decimal = '.'}).numbers().told);
  const CsvTable commas = parse_csv("a;b\n48.430;0.5\n1.234.567;0,5\n", {.decimal = ','});
  EXPECT_EQ(commas.number(0, 0), 48430);
  EXPECT_EQ(commas.number(1, 0), 1234567);
  EXPECT_EQ(commas.number(1, 1), 0.5);
  EXPECT_EQ(first_of("a,b\n\"48,430\",x\n", {.decimal = ','}), 48.43);
  EXPECT_EQ(notes_of(text, {.decimal = ','}), std::vector<std::string>());
  EXPECT_EQ(rule_of([&] { parse_csv(text, {.decimal = ';'}); }), "csv.decimal");
}

TEST(CsvMarks, RowsThatDoNotTellAreReadAsThoseBefore) {
  const std::string text = "lat;y\n48.430;a\n48.520;b\n";
  EXPECT_EQ(first_of(text, {.decimal_in_doubt = '.'}), 48.43);
  EXPECT_EQ(first_of(text, {.decimal_in_doubt = ','}), 48430);
  for (const char sign : {'.', ','})
    EXPECT_EQ(notes_of(text, {.decimal_in_doubt = sign}), std::vector<std::string>());
  EXPECT_EQ(first_of("n;price\n48.430;3,5\n", {.decimal_in_doubt = '.'}), 48430) << "these rows tell";
}

}  // namespace
}  // namespace espalier
