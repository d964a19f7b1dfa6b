#include "data/column_guess.h"

#include <ctime>

#include <gtest/gtest.h>

#include "base/rule_of_test.h"
#include "data/column_tables_test.h"

namespace espalier {
namespace {

// What is noted about a column whose cell in row i is x(i).
std::string guess_note_of(const std::string& name, const std::function<std::string(int)>& x) {
  return noted(fit_all(table_of(name, x), {.label = "y"}), name);
}
std::string number(int i) { return cat(i * 37 % 101); }

TEST(ColumnGuess, Numbers) {
  EXPECT_EQ(guess_note_of("x", number), "numeric, 0 to 100");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat("-", i, ".5e1"); }), "numeric, -395 to -5");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat(i % 2); }), "numeric, 0 to 1");
  EXPECT_EQ(guess_note_of("x", [](int i) { return i % 4 ? cat(1 + i % 5, ",", 500 + i, ".5") : "7"; }),
            "numeric, 7 to 5539.5, written as 1,234.5");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat(i * 7 % 11, ",", i); }),
            "numeric, 0 to 10.36, written as 1234,5");
  EXPECT_EQ(guess_note_of("x", [](int i) { return i % 20 == 3 ? "?" : number(i); }),
            "numeric, 0 to 100, missing in 5 %");
  EXPECT_EQ(guess_note_of("x", [](int i) { return i == 3 ? "much" : number(i); }),
            "numeric, 0 to 100, 1 cell is no number and counts as missing, in line 5");
}

TEST(ColumnGuess, AmountsWithAUnit) {
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat("$ ", i * 7 % 41, ".50"); }),
            "numeric, 0.5 to 40.5, in $");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat(i % 2 ? "-$" : "$", i); }), "numeric, -39 to 38, in $");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat(i * 7 % 41, i % 3 ? "%" : " %"); }),
            "numeric, 0 to 40, in %");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat("€1.", 500 + i, ",25"); }),
            "numeric, 1500.25 to 1539.25, in €, written as 1.234,5");
  EXPECT_EQ(guess_note_of("x", [](int i) { return i % 4 ? cat("£", i % 9) : "free"; }),
            "numbers in 75 %, where 95 % make a column of numbers: taken as text for \"free\" (25 %); if "
            "that means no value, name it as "
            "missing (--missing)\ncategory of 10 values");
  const auto value = [](std::string_view text) { return read_number(text, {NumberStyle::kPlain, "$"}); };
  EXPECT_EQ(value("$12"), 12);
  EXPECT_EQ(value("12$"), 12);
  EXPECT_EQ(value("12"), 12);
  EXPECT_EQ(value("- $ 12.5"), -12.5);
  EXPECT_EQ(value("$-12"), -12);
  for (const char* bad : {"", "$", "-", "-$", "-$-1", "$$1", "$1$", "1 $ 2", "£1"})
    EXPECT_FALSE(value(bad)) << bad;
  for (const char* bare : {"", "12", "-12", "usd 12", "x"}) EXPECT_EQ(unit_of(bare), "") << bare;
}

// A word for "no value" that nobody named must not make a column of numbers text in silence.
TEST(ColumnGuess, NumbersAmongWordsAreNamed) {
  const auto mixed = [](int i) { return i % 5 == 0 ? std::string(i % 2 ? "unknown" : "n/k") : number(i); };
  EXPECT_EQ(
      guess_note_of("x", mixed),
      "numbers in 80 %, where 95 % make a column of numbers: taken as text for 2 others, most often \"n/k\" "
      "(10 %); if that means no value, "
      "name it as missing (--missing)\nset aside: 34 different texts in 40 cells (--include COLUMN takes "
      "whole texts for categories)");
  EXPECT_EQ(noted(fit_all(table_of("x", mixed), {.label = "y", .missing = {"n/k", "unknown"}}), "x"),
            "numeric, 3 to 97, missing in 20 %");
  EXPECT_EQ(guess_note_of("x", [](int i) { return i % 5 < 3 ? cat("w", i % 2) : number(i % 10); }),
            "category of 6 values");
}

// 950 and 4.643 from a German table.
TEST(ColumnGuess, PointsBetweenThousandsBesideSemicolons) {
  const auto guessed = [](const std::string& delimiter, const std::string& value) {
    std::string text = cat("x", delimiter, "y\n");
    for (int i = 0; i < 40; ++i)
      text += cat(i % 2 ? cat(900 + i) : value, delimiter, i * i % 7 < 3 ? "a\n" : "b\n");
    return noted(fit_all(parse_csv(text), {.label = "y"}), "x");
  };
  EXPECT_EQ(guessed(";", "4.643"), "numeric, 901 to 4643, written as 1.234,5");
  EXPECT_EQ(guessed(";", "4.64"), "numeric, 4.64 to 939");
  EXPECT_EQ(guessed(",", "4.643"), "numeric, 4.643 to 939");
}

TEST(ColumnGuess, DigitsThatAreNoAmounts) {
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat("00", i % 4); }), "category of 4 values");
  EXPECT_EQ(guess_note_of("shop_id", [](int i) { return cat(i % 4); }), "category of 4 values");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat(17031000000 + i % 4); }), "category of 4 values");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat(17031000000 + i, ".0"); }),
            "numeric, 17031000000 to 17031000039");
}

TEST(ColumnGuess, AHandfulOfValuesNamesNoRows) {
  const auto named = [](const std::function<std::string(int)>& x) {
    const CsvTable table = table_of("x", x);
    return names_rows("x", profile_column(table, all_rows(table), 0, MissingWords(ColumnOptions().missing)));
  };
  EXPECT_TRUE(named([](int i) { return cat("person ", i); }));
  EXPECT_FALSE(named([](int i) { return i == 7 ? "person" : ""; }));
  EXPECT_FALSE(named([](int i) { return i % 3 ? "" : cat("person ", i); }));
}

TEST(ColumnGuess, Identifiers) {
  const std::string id = "set aside: an identifier: every value differs (--include COLUMN keeps it)";
  EXPECT_EQ(guess_note_of("id", [](int i) { return cat(i); }), id);
  EXPECT_EQ(guess_note_of("Kunden-Nr.", [](int i) { return cat(100000 + i); }), id);
  EXPECT_EQ(guess_note_of("customerId", [](int i) { return cat(i * 7919 % 1009); }), id);
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat(i); }), "numeric, 0 to 39");
  EXPECT_EQ(guess_note_of("name", [](int i) { return cat("person ", i); }),
            "set aside: every value differs (--include COLUMN takes whole texts for categories)");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat("ticket ", i * i % 37); }), "category of 19 values");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat("ticket ", i % 30); }),
            "set aside: 30 different texts in 40 cells (--include COLUMN takes whole texts for categories)");
  EXPECT_EQ(
      guess_note_of("x", [](int i) { return cat("a sentence about nothing, with some words ", i % 30); }),
      "set aside: free text (--include COLUMN takes whole texts for categories)");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat("a sentence about nothing, with some words ", i); }),
            "set aside: free text (--include COLUMN takes whole texts for categories)");
  // An index that a program wrote before the columns, without a name.
  const ColumnProgram program = fit_all(table_of("", [](int i) { return cat(i); }), {.label = "y"});
  EXPECT_EQ(noted(program, "column_1"), "set aside: it numbers the rows (--include COLUMN keeps it)");
}

TEST(ColumnGuess, ConstantsAndEmptyColumns) {
  EXPECT_EQ(guess_note_of("x", [](int) { return "3"; }),
            "set aside: every cell is \"3\" (--include COLUMN keeps it)");
  EXPECT_EQ(guess_note_of("x", [](int) { return "NA"; }), "set aside: no cell holds a value");
  EXPECT_EQ(guess_note_of("x", [](int i) { return i == 5 ? "1" : ""; }),
            "set aside: 98 % of its cells hold no value (--include COLUMN keeps it)");
  EXPECT_EQ(guess_note_of("x", [](int i) { return i % 2 ? "yes" : ""; }),
            "category of 1 value, missing in 50 %");
}

// Of each reason for which a column is set aside, but for the one that leaves nothing to learn from.
TEST(ColumnGuess, WhatWouldBeSetAsideIsIncludedWhenTold) {
  const auto included = [](const std::string& name, const std::function<std::string(int)>& x) {
    return noted(fit_all(table_of(name, x), {.label = "y", .include = {name}}), name);
  };
  EXPECT_EQ(included("id", [](int i) { return cat(i); }), "numeric, 0 to 39");
  EXPECT_EQ(included("column_1", [](int i) { return cat(i); }), "numeric, 0 to 39");
  EXPECT_EQ(included("x", [](int) { return "3"; }), "category of 1 value");
  EXPECT_EQ(included("x", [](int i) { return i == 5 ? "1" : ""; }), "category of 1 value, missing in 98 %");
  EXPECT_EQ(included("x", [](int i) { return cat("ticket ", i % 30); }), "category of 30 values");
  EXPECT_EQ(included("name", [](int i) { return cat("person ", i); }), "category of 40 values");
  EXPECT_EQ(included("x", [](int i) { return i * i % 7 < 3 ? "1" : "2"; }),
            "numeric, 1 to 2\nalone it tells the label in 100 % of the rows: perhaps a leak, something known "
            "only with the answer");
  EXPECT_EQ(rule_of([&] { included("x", [](int) { return "NA"; }); }), "columns.include");
  const CsvTable table = table_of("x", number);
  EXPECT_EQ(rule_of([&] { fit_all(table, {.label = "y", .ignore = {"x"}, .include = {"x"}}); }),
            "columns.include");
  EXPECT_EQ(rule_of([&] { fit_all(table, {.label = "y", .include = {"q"}}); }), "csv.column");
}

TEST(ColumnGuess, Booleans) {
  EXPECT_EQ(guess_note_of("x", [](int i) { return i % 4 ? "True" : "False"; }), "boolean, true in 75 %");
  EXPECT_EQ(guess_note_of("x", [](int i) { return i % 4 == 0   ? "no"
                                                  : i % 4 == 1 ? ""
                                                               : "YES"; }),
            "boolean, true in 67 %, missing in 25 %");
  EXPECT_EQ(guess_note_of("x", [](int i) { return i % 3 == 0   ? "no"
                                                  : i % 3 == 1 ? "maybe"
                                                               : "yes"; }),
            "category of 3 values");
}

TEST(ColumnGuess, Dates) {
  const auto two = [](int i) { return cat(i < 10 ? "0" : "", i); };
  EXPECT_EQ(guess_note_of("x", [&](int i) { return cat("2024-02-", two(1 + i % 29)); }),
            "date, 2024-02-01 to 2024-02-29");
  EXPECT_EQ(guess_note_of("x", [&](int i) { return cat("2024-02-10T", two(i % 24), ":30:00Z"); }),
            "date, 2024-02-10 to 2024-02-10, with the hour");
  EXPECT_EQ(guess_note_of("x", [&](int i) { return cat("201902", two(1 + i % 28)); }),
            "date, 2019-02-01 to 2019-02-28");
  EXPECT_EQ(guess_note_of("start_timestamp", [](int i) { return cat(1400269500 + 86400 * (i % 30)); }),
            "date, 2014-05-16 to 2014-06-14, with the hour");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat(1400269500 + 86400 * (i % 30)); }),
            "numeric, 1400269500 to 1402775100");
}

TEST(ColumnGuess, DatesOfDaysAndMonths) {
  const std::string behind =
      ", and may be the other way; dates that begin with the year, 2022-02-03, leave no doubt\n";
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat(1 + i % 28, ".2.2019"); }),
            "date, 2019-02-01 to 2019-02-28, day before month");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat("2/", 1 + i % 28, "/19"); }),
            "date, 2019-02-01 to 2019-02-28, month before day");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat("2/", 1 + i % 12, "/1999 ", 1 + i % 12, ":00 PM"); }),
            cat("no day is above 12, so that 2/3/2022 is read as month 2, day 3", behind) +
                "date, 1999-02-01 to 1999-02-12, with the hour, month before day");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat("2.", 1 + i % 12, ".1999"); }),
            cat("no day is above 12, so that 2.3.2022 is read as day 2, month 3", behind) +
                "date, 1999-01-02 to 1999-12-02, day before month");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat("2024/02/", 10 + i % 19); }),
            "date, 2024-02-10 to 2024-02-28");
}

TEST(ColumnGuess, DatesWithTheNameOfTheMonth) {
  const auto form = [](const char* before, const char* between, const char* after) {
    return noted(fit_all(table_of("x", [&](int i) { return cat(before, i % 28 + 1, between, after); }),
                         {.label = "y"}),
                 "x");
  };
  EXPECT_EQ(form("", "-Feb-", "2024"), "date, 2024-02-01 to 2024-02-28, with the month's name");
  EXPECT_EQ(form("", " February ", "2024"), "date, 2024-02-01 to 2024-02-28, with the month's name");
  EXPECT_EQ(form("Feb ", ", ", "2024"), "date, 2024-02-01 to 2024-02-28, with the month's name");
  const CsvTable table = table_of("x", [](int i) { return cat(i % 28 + 1, "-feb-24"); });
  const ColumnProgram program = fit_all(table, {.label = "y"});
  EXPECT_EQ(ColumnProgram::from_json(program.to_json()).inputs(table).to_vector<float>(),
            program.inputs(table).to_vector<float>());
  // The same days in digits are the same inputs.
  const CsvTable digits =
      table_of("x", [](int i) { return cat("2024-02-", i % 28 < 9 ? "0" : "", i % 28 + 1); });
  EXPECT_EQ(program.inputs(digits).to_vector<float>(), program.inputs(table).to_vector<float>());
}

TEST(ColumnGuess, TimesOfDayAndDurationsAreNumbers) {
  const auto two = [](int i) { return cat(i < 10 ? "0" : "", i); };
  EXPECT_EQ(noted(fit_all(table_of("x", [&](int i) { return cat(two(i / 2), ":", two(i), ":30"); }),
                          {.label = "y"}),
                  "x"),
            "numeric, 30 to 70770, written as 14:30:00, in seconds");
  EXPECT_EQ(noted(fit_all(table_of("x", [&](int i) { return cat(i, " days 0", i % 10, ":00:00"); }),
                          {.label = "y"}),
                  "x"),
            "numeric, 0 to 3402000, written as 14:30:00, in seconds");
  // A program is read again with its way of writing.
  const CsvTable table = table_of("x", [&](int i) { return cat(i + 1, ":", two(i)); });
  const ColumnProgram program = fit_all(table, {.label = "y"});
  EXPECT_EQ(ColumnProgram::from_json(program.to_json()).inputs(table).to_vector<float>(),
            program.inputs(table).to_vector<float>());
}

TEST(ColumnGuess, KindsMayBeGiven) {
  const CsvTable table = table_of("x", [](int i) { return cat(i % 4); });
  EXPECT_EQ(noted(fit_all(table, {.label = "y", .kinds = {{"x", ColumnKind::kCategory}}}), "x"),
            "category of 4 values");
  EXPECT_EQ(noted(fit_all(table, {.label = "y", .kinds = {{"x", ColumnKind::kDropped}}}), "x"),
            "left out, as told");
  EXPECT_EQ(noted(fit_all(table, {.label = "y", .ignore = {"x"}}), "x"), "left out, as told");
  const auto rule = [&](const ColumnOptions& options) { return rule_of([&] { fit_all(table, options); }); };
  EXPECT_EQ(rule({.label = "y", .kinds = {{"x", ColumnKind::kBoolean}}}), "columns.kind");
  EXPECT_EQ(rule({.label = "y", .kinds = {{"w", ColumnKind::kNumeric}}}), "csv.column");
  EXPECT_EQ(rule({.label = "y", .ignore = {"w"}}), "csv.column");
  EXPECT_EQ(rule({.label = "y", .ignore = {"y"}}), "columns.label");
  EXPECT_EQ(rule({.label = "y", .ignore = {"x", "z"}}), "columns.none");
  EXPECT_EQ(rule({.label = "y", .max_categories = 0}), "columns.categories");
  const CsvTable texts = table_of("x", [](int i) { return cat("word", i % 4); });
  for (const ColumnKind kind : {ColumnKind::kNumeric, ColumnKind::kDate, ColumnKind::kBoolean})
    EXPECT_EQ(rule_of([&] { fit_all(texts, {.label = "y", .kinds = {{"x", kind}}}); }), "columns.kind");
  const CsvTable mixed = table_of("x", [](int i) { return i % 2 ? cat("word") : cat(i); });
  EXPECT_EQ(noted(fit_all(mixed, {.label = "y", .kinds = {{"x", ColumnKind::kNumeric}}}), "x"),
            "numeric, 0 to 38, 20 cells are no numbers and count as missing, the first in line 3 (--missing "
            "\"word\" says so)");
  EXPECT_EQ(column_kind_named("date"), ColumnKind::kDate);
  EXPECT_EQ(rule_of([] { column_kind_named("dates"); }), "columns.kind");
}

// Howard Hinnant's example days and the C library's calendar.
TEST(Dates, FollowTheCalendar) {
  EXPECT_EQ(read_moment("1970-01-01", DateStyle::kIso)->days, 0);
  EXPECT_EQ(read_moment("0001-01-01", DateStyle::kIso)->days, -719162);
  EXPECT_EQ(read_moment("9999-12-31", DateStyle::kIso)->days, 2932896);
  EXPECT_EQ(read_moment("-1", DateStyle::kSeconds)->seconds, 86399);
  EXPECT_EQ(read_moment("1500", DateStyle::kMilliseconds)->seconds, 1);
  for (int64_t day = -200000; day < 200000; day += 17) {
    const time_t seconds = day * 86400 + 12345;
    tm expected{};
    gmtime_r(&seconds, &expected);
    const CivilDate date = civil_of_days(day);
    ASSERT_EQ(date.year, expected.tm_year + 1900);
    ASSERT_EQ(date.month, expected.tm_mon + 1);
    ASSERT_EQ(date.day, expected.tm_mday);
    char text[64];
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &expected);
    const auto moment = read_moment(text, DateStyle::kIso);
    ASSERT_TRUE(moment) << text;
    ASSERT_EQ(moment->days, day);
    ASSERT_EQ(moment->seconds, 12345);
    ASSERT_EQ(read_moment(cat(seconds), DateStyle::kSeconds)->days, day);
  }
}

// The C library writes them.
TEST(Dates, DayAndMonthFirstFollowTheCalendar) {
  for (int64_t day = -360; day < 36000; day += 13) {
    const time_t seconds = day * 86400 + (day * 7919 % 1440 + 1440) % 1440 * 60;
    tm written{};
    gmtime_r(&seconds, &written);
    const auto check = [&](const char* format, DateStyle style, bool century) {
      char text[64];
      strftime(text, sizeof text, format, &written);
      const auto moment = read_moment(text, style);
      ASSERT_TRUE(moment) << text;
      if (century || (written.tm_year >= 69 && written.tm_year < 169)) {
        ASSERT_EQ(moment->days * 86400 + moment->seconds, seconds) << text;
      }
    };
    check("%d.%m.%Y %H:%M", DateStyle::kDayFirst, true);
    check("%d/%m/%y %I:%M %p", DateStyle::kDayFirst, false);
    check("%m/%d/%Y %I:%M:00%p", DateStyle::kMonthFirst, true);
    check("%m-%d-%y %H:%M:00", DateStyle::kMonthFirst, false);
    check("%Y/%m/%d %H:%M", DateStyle::kIso, true);
  }
  for (const char* bad : {"1.2", "1.2.", "1.2.3", "1.2.345", "1.2/2024", "32.1.2024", "29.2.2023", "1..2024",
                          "1.2.2024 13:00 PM", "1.2.2024 0:00 AM", "1.2.20245", "127.0.0.1", "-1.2.2024"})
    EXPECT_FALSE(read_moment(bad, DateStyle::kDayFirst)) << bad;
  EXPECT_FALSE(read_moment("13/1/2024", DateStyle::kMonthFirst));
  EXPECT_FALSE(read_moment("1/13/2024", DateStyle::kDayFirst));
}

TEST(Clocks, SecondsOfTimesAndDurations) {
  constexpr std::pair<const char*, double> kSeconds[] = {{"14:30", 52200},
                                                         {"04:53:31", 17611},
                                                         {"0:00:00.25", 0.25},
                                                         {"2:30 PM", 52200},
                                                         {"12:05am", 300},
                                                         {"12:00 pm", 43200},
                                                         {"26:10:00", 94200},
                                                         {"-1:30:00", -5400},
                                                         {"100:00:01", 360001},
                                                         {"1 day, 2:03:04", 93784},
                                                         {"3 days 04:05:06", 273906},
                                                         {"2d 00:00:01", 172801},
                                                         {"PT2H30M", 9000},
                                                         {"P1DT12H", 129600},
                                                         {"P2W", 1209600},
                                                         {"PT0.5S", 0.5},
                                                         {"-PT90M", -5400}};
  for (const auto& [text, seconds] : kSeconds) EXPECT_EQ(read_clock(text), seconds) << text;
  for (const char* text : {"",
                           "14",
                           "14:3",
                           "14:60",
                           "14:30:60",
                           "14:30:",
                           "13:00 pm",
                           "0:30 am",
                           "1:2:3",
                           ":30",
                           "14:300",
                           "3 days",
                           "P",
                           "PT",
                           "P1Y",
                           "P1M",
                           "PT5",
                           "P1H",
                           "PT1S1M",
                           "2024-01-01 14:30",
                           "14:30+02:00",
                           "14.30",
                           "a14:30",
                           "1 day 2"})
    EXPECT_FALSE(read_clock(text)) << text;
}

TEST(Dates, MonthsByName) {
  // 15 June 2024 is day 19889; C's strptime and strftime give the others below.
  for (const char* text : {"15-Jun-2024", "15 Jun 2024", "15 June 2024", "15. June 2024", "15/JUN/2024",
                           "15-jun-24", "15th June, 2024", "Jun 15, 2024", "June 15th, 2024", "june 15 2024",
                           "Jun-15-2024", "Sat, 15 Jun 2024", "Saturday, 15 June 2024", "Sat 15 Jun 2024"}) {
    const std::optional<Moment> moment = read_moment(text, DateStyle::kMonthName);
    ASSERT_TRUE(moment) << text;
    EXPECT_EQ(moment->days, 19889) << text;
    EXPECT_FALSE(moment->offset) << text;
  }
  constexpr std::pair<const char*, double> kInstants[] = {
      {"Sat, 15 Jun 2024 12:30:05 +0200", 1718447405}, {"Sat, 15 Jun 2024 10:30:05 GMT", 1718447405},
      {"15 Jun 2024 06:30:05 EDT", 1718447405},        {"Sat Jun 15 10:30:05 2024", 1718447405},
      {"Sat Jun  5 10:30:05 2024", 1717583405},        {"Jun 15, 2024, 10:30:05 AM", 1718447405}};
  for (const auto& [text, seconds] : kInstants) {
    const std::optional<Moment> moment = read_moment(text, DateStyle::kMonthName);
    ASSERT_TRUE(moment) << text;
    EXPECT_EQ(moment->instant(), seconds) << text;
  }
  for (const char* text : {"15 Juni 2024", "31 Jun 2024", "15 Ju 2024", "Jun 2024", "15-Jun", "15Jun2024",
                           "2024-Jun-15", "15 Jun 2024 25:00", "Sat", "Jun 15, 2024 +0200", "June"})
    EXPECT_FALSE(read_moment(text, DateStyle::kMonthName)) << text;
  // Against the C library, day for day.
  for (int64_t day = -25000; day < 47000; day += 13) {
    const time_t seconds = day * 86400;
    std::tm civil{};
    gmtime_r(&seconds, &civil);
    for (const char* form :
         {"%d-%b-%Y", "%a, %d %b %Y 00:00:00 +0000", "%B %d, %Y", "%a %b %e 00:00:00 %Y"}) {
      char text[64];
      ASSERT_GT(std::strftime(text, sizeof text, form, &civil), 0u);
      const std::optional<Moment> moment = read_moment(text, DateStyle::kMonthName);
      ASSERT_TRUE(moment) << text;
      ASSERT_EQ(moment->instant(), static_cast<double>(seconds)) << text;
    }
  }
}

TEST(Dates, OffsetsMakeInstants) {
  constexpr std::pair<const char*, double> kInstants[] = {
      {"2024-01-01T03:10:00-08:00", 1704107400}, {"2024-01-01T11:10:00Z", 1704107400},
      {"2024-01-01 12:10:00+0100", 1704107400},  {"2024-01-01 11:10:00 UTC", 1704107400},
      {"20240101T1640+05:30", 1704107400},       {"2024-01-01T11:10:00.5+00", 1704107400.5}};
  for (const auto& [text, seconds] : kInstants) {
    const std::optional<Moment> moment = read_moment(text, DateStyle::kIso);
    ASSERT_TRUE(moment) << text;
    EXPECT_TRUE(moment->offset) << text;
    EXPECT_EQ(moment->instant(), seconds) << text;
  }
  EXPECT_FALSE(read_moment("2024-01-01T11:10:00", DateStyle::kIso)->offset);
  EXPECT_EQ(read_moment("1704107400.25", DateStyle::kSeconds)->instant(), 1704107400.25);
}

TEST(Dates, OnlyTheStandardsForms) {
  for (const char* good : {"2024-02-29", "20240229", "2024-02-29T23:59", "2024-02-29 23:59:60",
                           "20240229T235959", "2024-02-29T23:59:59.123Z", "2024-02-29T23:59:59+05:30",
                           "2024-02-29T23:59:59 -0800", "2024-02", "2024-02-29T24:00"})
    EXPECT_TRUE(read_moment(good, DateStyle::kIso)) << good;
  for (const char* bad : {"",
                          "2024",
                          "202402",
                          "2024-2",
                          "2024/02",
                          "2024-13",
                          "2024Q5",
                          "2024Q0",
                          "2024Q",
                          "2024Q11",
                          "2023-02-29",
                          "2024-13-01",
                          "2024-00-10",
                          "2024-02-00",
                          "2024-0229",
                          "2024-02-29T23",
                          "2024-2-9",
                          "29.02.2024",
                          "2024-02-29T24:01",
                          "2024-02-29T24:00:01",
                          "2024-02-29T24:00:00.5",
                          "2024-02-29T25:00",
                          "9999-12-31T24:00",
                          "2024-02-29T23:60",
                          "2024-02-29x",
                          "2024-02-29T23:59:59+",
                          "2024-02-29T23:59:59Zz",
                          "0000-01-01"})
    EXPECT_FALSE(read_moment(bad, DateStyle::kIso)) << bad;
}

TEST(Dates, MonthsAndQuartersAreOfTheirFirstDay) {
  const auto day = [](const char* text) { return date_text(read_moment(text, DateStyle::kIso)->days); };
  EXPECT_EQ(day("2024-12"), "2024-12-01");
  EXPECT_EQ(day("2024Q1"), "2024-01-01");
  EXPECT_EQ(day("2024-Q4"), "2024-10-01");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat("2024-", i % 12 < 9 ? "0" : "", 1 + i % 12); }),
            "date, 2024-01-01 to 2024-12-01");
  EXPECT_EQ(guess_note_of("x", [](int i) { return cat("2024Q", 1 + i % 4); }),
            "date, 2024-01-01 to 2024-10-01");
}

TEST(ColumnGuess, SecondsSince1970InColumnsNamedLikeATime) {
  for (const char* name : {"when", "Event Time", "eventTime", "created_at", "ts", "order_date", "datetime"}) {
    EXPECT_EQ(guess_note_of(name, [](int i) { return cat(1400269500 + 86400 * (i % 30)); }),
              "date, 2014-05-16 to 2014-06-14, with the hour")
        << name;
    EXPECT_EQ(guess_note_of(name, [](int i) { return cat(1400269500 + 86400 * (i % 30), "000"); }),
              "date, 2014-05-16 to 2014-06-14, with the hour")
        << name;
    EXPECT_EQ(guess_note_of(name, [](int i) { return cat(140026950 + 86400 * (i % 30)); }),
              "numeric, 140026950 to 142532550")
        << name;
  }
  for (const char* name : {"x", "points", "heat", "lifetimes", "bits", "whenever"})
    EXPECT_EQ(guess_note_of(name, [](int i) { return cat(1400269500 + 86400 * (i % 30)); }),
              "numeric, 1400269500 to 1402775100")
        << name;
}

}  // namespace
}  // namespace espalier
