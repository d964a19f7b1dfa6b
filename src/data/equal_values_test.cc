#include "data/equal_values.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/columns.h"

namespace espalier {
namespace {

CsvTable column_of(const std::vector<std::string>& cells, char delimiter = ';') {
  std::string text = cat("x", std::string(1, delimiter), "n\n");
  for (const std::string& cell : cells) text += cat(cell, std::string(1, delimiter), "1\n");
  return parse_csv(text, {.delimiter = delimiter, .header = CsvHeader::kYes});
}
ColumnProfile profiled(const CsvTable& table) {
  return profile_column(table, all_rows(table), 0, MissingWords(ColumnOptions().missing));
}
// "7 x3, 8" of the values of a column.
std::string values(const std::vector<std::string>& cells) {
  const CsvTable table = column_of(cells);
  const ColumnProfile profile =
      profile_values(table, all_rows(table), 0, MissingWords(ColumnOptions().missing));
  std::string out;
  for (const auto& value : profile.values) {
    out += cat(out.empty() ? "" : ", ", value.text, value.count > 1 ? cat(" x", value.count) : "");
  }
  return out;
}

TEST(EqualValues, NumbersAreEqualByValueInColumnsOfNumbers) {
  EXPECT_EQ(values({"7", "7.0", "8", "7e0", "?"}), "7 x3, 8");
  EXPECT_EQ(values({"0.5", ".50", "5e-1", "-0.5"}), "0.5 x3, -0.5");
  EXPECT_EQ(values({"0", "-0", "0.0"}), "0 x3");
  // Not as doubles.
  EXPECT_EQ(values({"9007199254740993", "9007199254740992"}), "9007199254740993, 9007199254740992");
}

TEST(EqualValues, CodesAndWordsAreTexts) {
  EXPECT_EQ(values({"02134", "10115", "02134"}), "02134 x2, 10115");
  EXPECT_EQ(values({"02134", "10115", "2134.0"}), "02134, 10115, 2134.0");
  EXPECT_EQ(values({"0301234", "01761234567"}), "0301234, 01761234567");
  EXPECT_EQ(values({"1E2", "100", "12A4", "12B7"}), "1E2, 100, 12A4, 12B7");
  EXPECT_EQ(values({"Bonn", "bonn"}), "Bonn, bonn");
}

TEST(EqualValues, AZeroBeforeOneNumberMakesNoCodes) {
  EXPECT_EQ(values({"7", "07", "7.0", "12"}), "7 x3, 12");
  EXPECT_EQ(values({"12", "7", "100", "07"}), "12, 7 x2, 100");
  EXPECT_EQ(values({"07", "08", "12"}), "07, 08, 12");
}

TEST(EqualValues, AmountsKeepTheirShortestSpelling) {
  EXPECT_EQ(values({"$ 1,200.00", "$ 1,200", "$ 7"}), "$ 1,200 x2, $ 7");
  EXPECT_EQ(values({"3,50", "3,5", "1,25"}), "3,5 x2, 1,25");
  EXPECT_EQ(values({"07:30", "07:30:00", "7:30", "08:00"}), "7:30 x3, 08:00");
}

TEST(EqualValues, AStrayWordMakesNoColumnOfTexts) {
  std::vector<std::string> cells(38, "7");
  cells[3] = "7.0";
  cells[9] = "seven";
  EXPECT_EQ(values(cells), "7 x37, seven");
}

TEST(EqualValues, TwoTablesDecideTogether) {
  const CsvTable a = column_of({"2134", "2135"}), zips = column_of({"02134", "10115"}),
                 padded = column_of({"02134", "7"}), whole = column_of({"10115", "80331"}),
                 numbers = column_of({"2134.0", "2135e0"});
  const ColumnProfile of_a = profiled(a), of_zips = profiled(zips), of_numbers = profiled(numbers);
  const EqualValues texts(of_a, of_zips), equal(of_a, of_numbers);
  // Zip codes of which one table has zeros and the other none of these, or lost them.
  EXPECT_FALSE(texts.of_numbers());
  EXPECT_FALSE(EqualValues(of_zips, of_a).of_numbers());
  EXPECT_FALSE(EqualValues(profiled(zips), profiled(whole)).of_numbers());
  EXPECT_TRUE(EqualValues(of_a, profiled(padded)).of_numbers());
  EXPECT_EQ(texts.spelling("2134.0"), "2134.0");
  EXPECT_TRUE(equal.of_numbers());
  EXPECT_EQ(value_hashes(by_value(of_a, equal), 3), value_hashes(by_value(of_numbers, equal), 3));
  EXPECT_NE(value_hashes(by_value(of_a, equal), 3), value_hashes(by_value(of_a, equal), 4));
}

}  // namespace
}  // namespace espalier
