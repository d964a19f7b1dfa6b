// Columns of dates of which some cells have another form.
#include <gtest/gtest.h>

#include "data/column_guess.h"
#include "data/column_tables_test.h"

namespace espalier {
namespace {

std::string date_note_of(const std::function<std::string(int)>& x, int rows = 40) {
  return noted(fit_all(table_of("when", x, rows), {.label = "y"}), "when");
}
std::string two(int i) { return cat(i < 10 ? "0" : "", i); }
std::string iso(int i) { return cat("2023-0", 1 + i % 9, "-", two(1 + i * 7 % 28)); }

TEST(ColumnDates, AWordForNoDateIsNamedWithItsShare) {
  EXPECT_EQ(
      date_note_of([](int i) { return i % 10 == 3 ? "0000-00-00" : iso(i); }),
      "dates in 90 %, where 95 % make a column of dates: taken as text for \"0000-00-00\" (10 %); if that "
      "means no value, name it as missing (--missing)\nset aside: 34 different texts in 40 cells (--include "
      "COLUMN takes whole texts for categories)");
  EXPECT_TRUE(
      date_note_of([](int i) { return i % 4 == 3 ? cat("week ", i % 8) : iso(i); })
          .starts_with("dates in 75 %, where 95 % make a column of dates: taken as text for 2 others, most "
                       "often \"week 3\" (12 %); if that means no value"));
  const CsvTable table = table_of("when", [](int i) { return i % 10 == 3 ? "0000-00-00" : iso(i); });
  EXPECT_EQ(noted(fit_all(table, {.label = "y", .missing = {"0000-00-00"}}), "when"),
            "date, 2023-01-01 to 2023-09-22, missing in 10 %");
  // Numbers and words are no dates.
  EXPECT_EQ(date_note_of([](int i) { return cat("ticket ", i * i % 37); }), "category of 19 values");
}

TEST(ColumnDates, TwoFormsAreReadWhereBothAreClear) {
  const auto both = [](int i) {
    return i % 2 ? cat("2023-0", 1 + i % 9, "-", two(1 + i % 28))
                 : cat(two(1 + i % 28), "/0", 1 + i % 9, "/2023");
  };
  EXPECT_EQ(
      date_note_of(both),
      "dates that begin with the year in 20 cells, as \"2023-02-02\", and ones of another form in 20, as "
      "\"01/01/2023\": all are read as dates\ndate, 2023-01-01 to 2023-09-27, day before month");
  // The same days in one form are the same inputs.
  const ColumnProgram program = fit_all(table_of("when", both), {.label = "y"});
  const CsvTable one = table_of("when", [](int i) { return cat("2023-0", 1 + i % 9, "-", two(1 + i % 28)); });
  EXPECT_EQ(program.inputs(one).to_vector<float>(),
            program.inputs(table_of("when", both)).to_vector<float>());
  EXPECT_TRUE(date_note_of([](int i) {
                return i % 2 ? iso(i) : cat(1 + i % 28, "-Feb-2023");
              }).starts_with("dates that begin with the year in 20 cells"));
  // Of days and months that nobody can tell apart that is said too.
  EXPECT_NE(
      date_note_of([](int i) {
        return i % 2 ? iso(i) : cat("2/", 1 + i % 12, "/2023");
      }).find("all are read as dates; of those no day is above 12, so that 2/3/2022 is read as month 2"),
      std::string::npos);
  // One of forty is none of a second form.
  EXPECT_EQ(date_note_of([](int i) { return i == 7 ? "2023-02-03" : cat(1 + i % 28, ".2.2023"); }),
            "date, 2023-02-01 to 2023-02-28, day before month");
}

TEST(ColumnDates, TwentyFourOClockIsTheEndOfTheDay) {
  const auto at = [](const char* text, DateStyle style = DateStyle::kIso) {
    return read_moment(text, style)->instant();
  };
  EXPECT_EQ(at("2024-02-28T24:00"), at("2024-02-29T00:00"));
  EXPECT_EQ(at("2023-12-31 24:00:00Z"), at("2024-01-01T00:00:00Z"));
  EXPECT_EQ(at("20240228T2400"), at("2024-02-29"));
  EXPECT_EQ(at("28.2.2024 24:00", DateStyle::kDayFirst), at("2024-02-29"));
  EXPECT_EQ(at("Wed Feb 28 24:00:00 2024", DateStyle::kMonthName), at("2024-02-29"));
  EXPECT_FALSE(read_moment("2024-02-28 24:00 PM", DateStyle::kIso));
  // Hours that count from 1 to 24.
  EXPECT_EQ(date_note_of([](int i) { return cat("2024-03-", two(1 + i % 31), " ", two(1 + i % 24), ":00"); }),
            "date, 2024-03-01 to 2024-03-31, with the hour");
}

}  // namespace
}  // namespace espalier
