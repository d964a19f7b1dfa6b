// A number that comes often and far from all others may stand for a missing one.
#include "data/missing_code.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "data/column_tables_test.h"
#include "tests/shared_data.h"

namespace espalier {
namespace {

// What is said of a column of 100 cells: each of `others` in turn, but for the first cells, which are
// `codes`.
std::string said_of_codes(const std::vector<std::string>& codes, const std::function<std::string(int)>& other,
                          char delimiter = ';') {
  std::string text = "x;y\n";
  for (int i = 0; i < 100; ++i)
    text += cat(i < static_cast<int>(codes.size()) ? codes[static_cast<size_t>(i)] : other(i), ";a\n");
  const CsvTable table = parse_csv(text, {.delimiter = delimiter});
  const ColumnProfile profile = profile_column(table, all_rows(table), 0, {""});
  const auto found = find_missing_codes(profile, number_form(profile).form);
  return found ? espalier::text(*found) : "";
}
std::vector<std::string> times(int count, const std::string& cell) {
  return std::vector<std::string>(static_cast<size_t>(count), cell);
}
const std::function<std::string(int)> kTo99 = [](int i) { return cat(i); };

TEST(MissingCode, ANumberFarFromAllOthersIsOne) {
  EXPECT_EQ(said_of_codes(times(15, "-999"), kTo99),
            "15 % of the values are -999, the others 15 to 99: a code for missing ones? (--missing -999)");
  for (const char* code : {"-999.0", "-99", "9999", "99999", "-999.25", "-9999.9", "1e30", "-3.4e38", "32767",
                           "-32768", "888", "777", "-888"})
    EXPECT_EQ(said_of_codes(times(5, code), kTo99),
              cat("5 % of the values are ", code,
                  ", the others 5 to 99: a code for missing ones? (--missing ", code, ")"));
  EXPECT_EQ(said_of_codes(times(3, "-999"), kTo99).substr(0, 4), "3 % ");
  EXPECT_EQ(said_of_codes(times(5, "1234"), kTo99), "") << "no usual code";
  // The most frequent spelling, and those of a column of decimal commas as they stand.
  std::vector<std::string> spellings = times(5, "-999.0");
  spellings.resize(7, "-999");
  EXPECT_EQ(said_of_codes(spellings, kTo99).substr(0, 29), "7 % of the values are -999.0,");
  EXPECT_EQ(said_of_codes(times(5, "-999,0"), [](int i) { return cat(i, ",5"); }),
            "5 % of the values are -999,0, the others 5.5 to 99.5: a code for missing ones? (--missing "
            "'\"-999,0\"')");
}

TEST(MissingCode, SeveralOfThem) {
  std::vector<std::string> two = times(5, "-999");
  two.resize(9, "-998");
  EXPECT_EQ(said_of_codes(two, kTo99),
            "9 % of the values are -999 or -998, the others 9 to 99: codes for missing ones? (--missing "
            "-999,-998)");
  two.resize(12, "-900");
  EXPECT_EQ(said_of_codes(two, kTo99), "") << "-900 is no usual code";
  two = times(5, "-99");
  two.resize(9, "-88");
  EXPECT_EQ(said_of_codes(two, [](int i) { return cat(i % 5); }),
            "9 % of the values are -99 or -88, the others 0 to 4: codes for missing ones? (--missing "
            "-99,-88)");
  two = times(5, "-999");
  two.resize(9, "999");
  EXPECT_EQ(said_of_codes(two, kTo99),
            "9 % of the values are -999 or 999, the others 9 to 99: codes for missing ones? (--missing "
            "-999,999)");
}

// The only negative number, whatever the others are.
TEST(MissingCode, ANegativeOneAmongOthersThatAreNot) {
  const auto incomes = [](int i) { return cat(1000 * i * i); };
  EXPECT_EQ(said_of_codes(times(5, "-999"), incomes).substr(0, 4), "5 % ");
  EXPECT_EQ(said_of_codes(times(5, "-1"), incomes), "") << "-1 may be a number like others";
  EXPECT_EQ(said_of_codes(times(5, "-999"), [](int i) { return i == 50 ? "-3000" : cat(1000 * i * i); }), "");
}

TEST(MissingCode, OthersAreNumbers) {
  EXPECT_EQ(said_of_codes(times(2, "-999"), kTo99), "") << "too few";
  EXPECT_EQ(said_of_codes(times(60, "0"), kTo99), "") << "many zeros";
  EXPECT_EQ(said_of_codes(times(60, "0"), [](int i) { return cat(1900 + i); }), "") << "a 0 is none";
  EXPECT_EQ(said_of_codes(times(30, "100"), kTo99), "") << "cut at the top";
  EXPECT_EQ(said_of_codes(times(30, "99"), [](int i) { return cat(i % 99); }), "") << "within reach";
  EXPECT_EQ(said_of_codes(times(5, "-1"), [](int i) { return cat(i % 3); }), "") << "-1, 0, 1, 2";
  EXPECT_EQ(said_of_codes(times(5, "9"), [](int i) { return cat(i % 2); }), "");
  EXPECT_EQ(said_of_codes(times(85, "-999"), kTo99), "") << "15 others are too few";
  EXPECT_EQ(said_of_codes(times(5, "-999"), [](int) { return "7"; }), "") << "nothing else to compare";
  EXPECT_EQ(said_of_codes({}, [](int i) { return cat(i * i * i); }), "") << "skewed";
  EXPECT_EQ(said_of_codes(times(5, "23:59:59"), [](int i) { return cat("0:0", i % 10, ":00"); }), "")
      << "times of day";
}

// 1 % of many.
TEST(MissingCode, RareOnesAreNone) {
  for (const auto& [rows, wanted] : {std::pair(400, true), std::pair(600, false)}) {
    std::string text = "x,y\n";
    for (int i = 0; i < rows; ++i) text += cat(i < 5 ? -999 : i % 80, ",a\n");
    const CsvTable table = parse_csv(text);
    const ColumnProfile profile = profile_column(table, all_rows(table), 0, {""});
    EXPECT_EQ(find_missing_codes(profile, number_form(profile).form).has_value(), wanted) << rows;
  }
}

// Tables of people, jewels, ships and taxis: zeros of nearly all, sums that are cut off, places, hours.
TEST(MissingCode, SlowTablesOfOthersHaveNone) {
  int64_t columns = 0;
  for (const char* name : {"tabular/titanic.csv", "tabular/diamonds.csv", "tabular/chicago_taxi.csv",
                           "adult/adult-train.csv", "adult/adult-test.csv"}) {
    const std::string path = shared_data(name);
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
    const CsvTable table = read_csv(path);
    for (int64_t c = 0; c < table.columns(); ++c) {
      const ColumnProfile profile =
          profile_column(table, all_rows(table), c, MissingWords(ColumnOptions().missing));
      const auto found = find_missing_codes(profile, number_form(profile).form);
      EXPECT_FALSE(found) << name << " " << table.names()[static_cast<size_t>(c)] << ": "
                          << (found ? espalier::text(*found) : "");
      columns += number_form(profile).cells == profile.present();
    }
  }
  EXPECT_GT(columns, 40) << "of numbers";
}

}  // namespace
}  // namespace espalier
