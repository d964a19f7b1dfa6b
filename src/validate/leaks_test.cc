// Leaks that are planted are found and named, and none is seen where there is none.
#include "validate/leaks.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/philox.h"
#include "base/rule_of_test.h"
#include "tests/shared_data.h"
#include "validate/split_rows.h"

namespace espalier {
namespace {

// Sales as cells: id, day, city, amount, weight, late.
using Cells = std::vector<std::vector<std::string>>;

std::string day(int64_t n) {
  return cat("2024-", n / 28 % 12 < 9 ? "0" : "", n / 28 % 12 + 1, "-", n % 28 < 9 ? "0" : "", n % 28 + 1);
}

Cells sales(uint64_t seed, int64_t rows, int64_t first_day = 0) {
  Philox random(seed);
  Cells out;
  for (int64_t i = 0; i < rows; ++i) {
    const auto amount = static_cast<int64_t>(random.below(100000)),
               city = static_cast<int64_t>(random.below(5));
    const bool late = static_cast<int64_t>(random.below(100)) < 20 + 10 * city;
    out.push_back({cat("s", seed, "-", i), day(first_day + static_cast<int64_t>(random.below(150))),
                   cat("city", city), cat(amount / 100, ".", amount % 100 / 10, amount % 10),
                   cat(random.below(5000)), late ? "yes" : "no"});
  }
  return out;
}

CsvTable table(const Cells& cells,
               const std::vector<std::string>& names = {"id", "day", "city", "amount", "weight", "late"}) {
  std::string text;
  const auto line = [&](const std::vector<std::string>& row) {
    for (size_t c = 0; c < row.size(); ++c) text += cat(c ? "," : "", row[c]);
    text += "\n";
  };
  line(names);
  for (const auto& row : cells) line(row);
  return parse_csv(text, {.header = CsvHeader::kYes});
}

std::vector<LeakFinding> found(const Cells& cells, const Cells* test = nullptr,
                               const std::string& time = "") {
  const CsvTable train = table(cells);
  const CsvTable tested = test ? table(*test) : CsvTable();
  return find_leaks(train, test ? &tested : nullptr, {.label = "late", .time = time});
}
const LeakFinding* of_kind(const std::vector<LeakFinding>& all, LeakKind kind) {
  const auto place = std::ranges::find(all, kind, &LeakFinding::kind);
  return place == all.end() ? nullptr : &*place;
}

TEST(Leaks, NoneAreSeenInCleanTables) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    // The test lies behind: days from 200 on.
    const Cells train = sales(seed, 400), test = sales(1000 + seed, 200, 160);
    for (const LeakFinding& finding : found(train, &test)) ADD_FAILURE() << seed << ": " << finding.text;
  }
}

TEST(Leaks, AColumnThatKnowsTheLabelIsNamed) {
  Cells cells = sales(1, 400);
  for (auto& row : cells) row[2] = row[5] == "yes" ? "refunded" : "kept";
  const auto all = found(cells);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].warning);
  EXPECT_EQ(all[0].column, "city");
  EXPECT_EQ(all[0].text, "column \"city\" is the label under another name");
}

TEST(Leaks, RowsThatStandTwiceAreCounted) {
  Cells cells = sales(2, 400);
  for (int i = 0; i < 30; ++i) cells.push_back(cells[static_cast<size_t>(100 + i)]);
  for (int i = 0; i < 30; ++i)
    cells[static_cast<size_t>(400 + i)][0] = cat("other-", i);  // an id of their own
  const auto all = found(cells);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, LeakKind::kDuplicates);
  EXPECT_TRUE(all[0].warning);
  EXPECT_EQ(all[0].rows, 30);
  EXPECT_EQ(all[0].text, "30 of 430 rows repeat others before them; rows 401 to 430 repeat rows 101 to 130");
  // Few scattered ones are worth a look.
  Cells few = sales(3, 400);
  few[300] = few[7];
  few[300][0] = "new";
  ASSERT_EQ(found(few).size(), 1u);
  EXPECT_FALSE(found(few)[0].warning);
  EXPECT_EQ(found(few)[0].rows, 1);
}

// Ten in a row are a block, whose rows are named; nine are repeated rows.
TEST(Leaks, TenRowsThatFollowEachOtherAreABlock) {
  for (const int length : {9, 10}) {
    Cells cells = sales(2, 400);
    for (int i = 0; i < length; ++i) {
      cells.push_back(cells[static_cast<size_t>(100 + i)]);
      cells.back()[0] = cat("other-", i);
    }
    const auto all = found(cells);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].text, cat(length, " of ", 400 + length, " rows repeat others before them",
                               length == 10 ? "; rows 401 to 410 repeat rows 101 to 110" : ""));
  }
}

// However many they are, shuffled too, and then test rows that are training rows as well.
TEST(Leaks, ManyRowsThatStandTwiceAreCounted) {
  for (const int again : {50, 250, 500, 1500}) {
    Philox random(7);
    Cells cells;
    for (int i = 0; i < 500; ++i)
      cells.push_back({cat(random.below(1000000)), cat(random.below(40)), random.below(2) ? "yes" : "no"});
    for (int i = 0; i < again; ++i) cells.push_back(cells[random.below(500)]);
    for (size_t i = cells.size(); i > 1; --i) std::swap(cells[i - 1], cells[random.below(i)]);
    const CsvTable train = table(cells, {"a", "b", "late"});
    const Cells some(cells.begin(), cells.begin() + 200);
    const CsvTable test = table(some, {"a", "b", "late"});
    const std::vector<LeakFinding> all = find_leaks(train, &test, {.label = "late"});
    const LeakFinding *twice = of_kind(all, LeakKind::kDuplicates), *both = of_kind(all, LeakKind::kOverlap);
    ASSERT_TRUE(twice && both) << again;
    EXPECT_EQ(twice->rows, again);
    EXPECT_TRUE(twice->warning);
    EXPECT_EQ(both->rows, 200);
    EXPECT_TRUE(both->warning) << again;
  }
}

TEST(Leaks, RowsOfFewValuesAreAlikeByNature) {
  Philox random(1);
  Cells cells;
  for (int i = 0; i < 500; ++i)
    cells.push_back({cat(random.below(3)), cat(random.below(4)), random.below(2) ? "yes" : "no"});
  const CsvTable few = table(cells, {"a", "b", "late"});
  EXPECT_TRUE(find_leaks(few, &few, {.label = "late"}).empty());
}

TEST(Leaks, RowsThatDifferInOneColumnAreNamed) {
  Cells cells = sales(4, 400);
  for (int i = 0; i < 20; ++i) {
    cells.push_back(cells[static_cast<size_t>(17 * i)]);
    cells.back()[0] = cat("again-", i);
    cells.back()[4] = cat(6000 + i);
  }
  const auto all = found(cells);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, LeakKind::kNearDuplicates);
  EXPECT_EQ(all[0].column, "weight");
  EXPECT_EQ(all[0].rows, 20);

  for (int i = 0; i < 20; ++i) {
    auto& row = cells[static_cast<size_t>(400 + i)];
    row[4] = cells[static_cast<size_t>(17 * i)][4];
    row[5] = row[5] == "yes" ? "no" : "yes";
  }
  const auto contradicted = found(cells);
  ASSERT_EQ(contradicted.size(), 1u);
  EXPECT_EQ(contradicted[0].kind, LeakKind::kContradictions);
  EXPECT_EQ(contradicted[0].rows, 20);
}

TEST(Leaks, RowsOfTheTestThatTrainAreCounted) {
  const Cells train = sales(5, 400);
  Cells test = sales(6, 200, 160);
  for (int i = 0; i < 10; ++i) test[static_cast<size_t>(3 * i)] = train[static_cast<size_t>(11 * i)];
  const auto all = found(train, &test);
  const LeakFinding* overlap = of_kind(all, LeakKind::kOverlap);
  ASSERT_TRUE(overlap);
  EXPECT_TRUE(overlap->warning);
  EXPECT_EQ(overlap->rows, 10);
  EXPECT_EQ(overlap->of, 200);
  EXPECT_FALSE(of_kind(all, LeakKind::kNearOverlap)) << "a training row is not nearly one, too";
  // Columns are found by name, wherever they stand, and a test without a label is one.
  Cells turned;
  for (const auto& row : test) turned.push_back({row[3], row[4], row[2], row[1], row[0]});
  const CsvTable tested = table(turned, {"amount", "weight", "city", "day", "id"});
  const auto unlabelled = find_leaks(table(train), &tested, {.label = "late"});
  ASSERT_TRUE(of_kind(unlabelled, LeakKind::kOverlap));
  EXPECT_EQ(of_kind(unlabelled, LeakKind::kOverlap)->rows, 10);

  Cells near = sales(6, 200, 160);
  for (int i = 0; i < 10; ++i) {
    near[static_cast<size_t>(i)] = train[static_cast<size_t>(i)];
    near[static_cast<size_t>(i)][3] = cat(5000 + i, ".5");
  }
  const auto of_near = found(train, &near);
  ASSERT_TRUE(of_kind(of_near, LeakKind::kNearOverlap));
  EXPECT_EQ(of_kind(of_near, LeakKind::kNearOverlap)->column, "amount");
  EXPECT_EQ(of_kind(of_near, LeakKind::kNearOverlap)->rows, 10);
}

TEST(Leaks, ATestOfFewTrainingRowsIsNamed) {
  for (const int64_t rows : {3, 10, 19}) {
    const Cells train = sales(5, rows), other = sales(6, rows);
    const auto all = found(train, &train);
    ASSERT_EQ(all.size(), 1u) << rows;
    EXPECT_EQ(all[0].kind, LeakKind::kOverlap);
    EXPECT_TRUE(all[0].warning);
    EXPECT_EQ(all[0].text, cat(rows, " of ", rows, " rows of the test are training rows too"));
    EXPECT_TRUE(found(train, &other).empty()) << rows;
  }
  EXPECT_TRUE(found(sales(5, 10)).empty()) << "nothing else is said of so few";
}

TEST(Leaks, FewRowsOfFewValuesAreAlikeByNature) {
  int64_t alarms = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Philox random(seed);
    const auto some = [&] {
      Cells out;
      for (int i = 0; i < 10; ++i)
        out.push_back({cat(random.below(4)), cat(random.below(4)), random.below(2) ? "yes" : "no"});
      return table(out, {"a", "b", "late"});
    };
    const CsvTable train = some(), test = some();
    alarms += std::ssize(find_leaks(train, &test, {.label = "late"}));
  }
  EXPECT_LE(alarms, 2);
}

TEST(Leaks, WhatLiesInTheFutureIsNamed) {
  const Cells train = sales(7, 400), beside = sales(8, 200);
  // A warning of the column that says when rows came, a note of one that may.
  for (const bool named : {true, false}) {
    const auto all = found(train, &beside, named ? "day" : "");
    const LeakFinding* earlier = of_kind(all, LeakKind::kTimeTravel);
    ASSERT_TRUE(earlier);
    EXPECT_EQ(earlier->column, "day");
    EXPECT_EQ(earlier->warning, named);
    EXPECT_EQ(earlier->text.ends_with("--time day"), !named) << earlier->text;
    EXPECT_GT(earlier->rows, 180);
  }

  Cells cells = sales(9, 400);
  for (size_t i = 0; i < cells.size(); ++i) cells[i][4] = day(160 + static_cast<int64_t>(i % 90));
  EXPECT_FALSE(of_kind(found(cells), LeakKind::kFutureColumn));
  const auto with_time = found(cells, nullptr, "day");
  EXPECT_FALSE(of_kind(with_time, LeakKind::kTimeTravel));
  ASSERT_TRUE(of_kind(with_time, LeakKind::kFutureColumn));
  EXPECT_EQ(of_kind(with_time, LeakKind::kFutureColumn)->column, "weight");
  EXPECT_EQ(rule_of([&] { found(cells, nullptr, "city"); }), "leaks.time");
  EXPECT_EQ(rule_of([&] { found(cells, nullptr, "dey"); }), "csv.column");
}

TEST(Leaks, TablesThatDoNotFitAreRefused) {
  const CsvTable train = table(sales(1, 100)), other = parse_csv("id,day\na,2024-01-01\n");
  EXPECT_EQ(rule_of([&] { find_leaks(train, &other, {.label = "late"}); }), "leaks.columns");
  EXPECT_EQ(rule_of([&] { find_leaks(train, nullptr, {.label = "lat"}); }), "csv.column");
  EXPECT_TRUE(find_leaks(table(sales(1, 5)), nullptr, {.label = "late"}).empty());
}

TEST(Leaks, SharedAdultHasDuplicatesAndNoLeak) {
  const std::string adult = shared_data("adult/adult-train.csv");
  if (!std::filesystem::exists(adult)) GTEST_SKIP() << "there is no " << adult;
  const auto all = find_leaks(read_csv(adult, {.header = CsvHeader::kNo}), nullptr, {.label = "column_15"});
  ASSERT_TRUE(of_kind(all, LeakKind::kDuplicates));
  EXPECT_EQ(of_kind(all, LeakKind::kDuplicates)->rows, 24);  // as the data's users have counted
  EXPECT_FALSE(std::ranges::any_of(all, &LeakFinding::warning));
}

// Numbers written otherwise: 12.5 as 12.50 and 1.25e1.
Cells rewritten(Cells cells, uint64_t seed) {
  Philox random(seed);
  for (auto& row : cells) {
    for (const size_t c : {3, 4}) {
      if (const uint64_t how = random.below(3); how == 1)
        row[c] += row[c].find('.') == std::string::npos ? ".0" : "0";
      else if (how == 2)
        row[c] += "e0";
    }
  }
  return cells;
}

TEST(Leaks, NumbersThatAreEqualRepeat) {
  Cells cells = sales(31, 400);
  for (int i = 0; i < 30; ++i) cells.push_back(cells[static_cast<size_t>(100 + i)]);
  const Cells train = sales(32, 300);
  const Cells others = rewritten(cells, 1), test = rewritten(train, 2);
  const auto texts = [](const std::vector<LeakFinding>& all) {
    std::vector<std::string> out;
    for (const LeakFinding& finding : all) out.push_back(finding.text);
    return out;
  };
  EXPECT_EQ(texts(found(others)), texts(found(cells)));
  EXPECT_FALSE(found(cells).empty());
  const auto all = found(train, &test);
  ASSERT_TRUE(of_kind(all, LeakKind::kOverlap));
  EXPECT_EQ(of_kind(all, LeakKind::kOverlap)->rows, 300);
  EXPECT_EQ(texts(all), texts(found(train, &train)));
  // Codes with leading zeros in either table are texts: 02134 is no 2134.
  Cells zips = train, other_zips = train;
  for (size_t i = 0; i < zips.size(); ++i) {
    zips[i][4] = cat(1000 + i);
    other_zips[i][4] = cat("0", 1000 + i);
  }
  EXPECT_FALSE(of_kind(found(zips, &other_zips), LeakKind::kOverlap));
}

// Those that split_by_time() takes.
TEST(Leaks, TimesOfDaySecondsAndNumbersSayWhenRowsCame) {
  const auto rows = [](int first, int count, const std::function<std::string(int)>& at) {
    Philox random(static_cast<uint64_t>(first) + 1);
    std::string text = "at,x,late\n";
    for (int i = first; i < first + count; ++i)
      text += cat(at(i), ",", random.below(100000), ",", random.below(3) ? "yes" : "no", "\n");
    return parse_csv(text, {.header = CsvHeader::kYes});
  };
  const std::function<std::string(int)> forms[] = {
      [](int i) { return cat(8 + i / 60, ":", i % 60 < 10 ? "0" : "", i % 60); },
      [](int i) { return cat(int64_t{1700000000} + 3600 * i); },
      [](int i) { return cat((int64_t{1700000000} + 3600 * i) * 1000); },
      [](int i) { return cat("$ ", i, ".5"); }, [](int i) { return cat(i); }};
  for (const auto& at : forms) {
    const CsvTable early = rows(0, 300, at), late = rows(300, 100, at);
    EXPECT_EQ(split_by_time(early, "at", 0.25).test.size(), 75U) << at(3);
    EXPECT_TRUE(find_leaks(early, &late, {.label = "late", .time = "at"}).empty()) << at(3);
    const auto all = find_leaks(late, &early, {.label = "late", .time = "at"});
    ASSERT_TRUE(of_kind(all, LeakKind::kTimeTravel)) << at(3);
    EXPECT_EQ(of_kind(all, LeakKind::kTimeTravel)->rows, 300) << at(3);
  }
  // Of a column that is named as the time digits are seconds since 1970, before and after other dates.
  std::string text = "at,sent,late\n";
  for (int i = 0; i < 60; ++i)
    text += cat(int64_t{1700000000} + 90000 * i, ",", day(28 + i % 300), ",", i % 3 ? "yes" : "no", "\n");
  const auto later = find_leaks(parse_csv(text), nullptr, {.label = "late", .time = "at"});
  ASSERT_TRUE(of_kind(later, LeakKind::kFutureColumn));
  EXPECT_EQ(of_kind(later, LeakKind::kFutureColumn)->column, "sent");
  // Words among numbers are no times.
  std::string words = "at,late\n";
  for (int i = 0; i < 60; ++i) words += cat(i % 2 ? "soon" : cat(i), i % 3 ? ",yes\n" : ",no\n");
  EXPECT_EQ(rule_of([&] { find_leaks(parse_csv(words), nullptr, {.label = "late", .time = "at"}); }),
            "leaks.time");
}

TEST(Leaks, InstantsOfOtherClocksAreNoTimeTravel) {
  // Hours in order on clocks of two zones: by their texts many test rows lie before the last training row.
  const auto hours = [](int first, int count, bool zones) {
    std::string text = "at,x,late\n";
    for (int i = first; i < first + count; ++i) {
      const int zone = i % 2 ? -8 : 5, hour = 24 + i + zone;
      const auto two = [](int value) { return cat(value < 10 ? "0" : "", value); };
      text += cat("2024-01-", two(1 + hour / 24), "T", two(hour % 24), ":00:00",
                  !zones     ? ""
                  : zone < 0 ? "-08:00"
                             : "+05:00",
                  ",", i * i % 89, ",", i % 3 ? "yes" : "no", "\n");
    }
    return parse_csv(text);
  };
  const CsvTable train = hours(0, 160, true), test = hours(160, 40, true);
  EXPECT_FALSE(of_kind(find_leaks(train, &test, {.label = "late", .time = "at"}), LeakKind::kTimeTravel));
  // The other way round they travel.
  const auto all = find_leaks(test, &train, {.label = "late", .time = "at"});
  ASSERT_TRUE(of_kind(all, LeakKind::kTimeTravel));
  EXPECT_EQ(of_kind(all, LeakKind::kTimeTravel)->rows, 160);
  // Of clocks without an offset beside them nobody knows.
  const CsvTable without = hours(160, 40, false);
  EXPECT_EQ(rule_of([&] { find_leaks(train, &without, {.label = "late", .time = "at"}); }), "dates.offsets");
}

// Clocks without an offset are up to 26 hours apart: a test row is earlier where it is by more than that.
TEST(Leaks, RowsWithoutAnOffsetTravelOnlyWhereNoClockWouldPutThemLater) {
  const auto days = [](int first, int count, int minutes, const char* offset) {
    std::string text = "at,x,late\n";
    for (int i = 0; i < count; ++i) {
      const int at = first + i * minutes;
      const auto two = [](int value) { return cat(value < 10 ? "0" : "", value); };
      text += cat("2024-02-", two(1 + at / 1440), "T", two(at / 60 % 24), ":", two(at % 60), ":00", offset,
                  ",", i * i % 89, ",", i % 3 ? "yes" : "no", "\n");
    }
    return parse_csv(text);
  };
  constexpr int kDay = 1440;
  // Ten days of training rows, and then 100 rows within a day.
  const CsvTable train = days(0, 240, 60, "+00:00"), behind = days(10 * kDay, 100, 12, "");
  const LeakOptions options{.label = "late"};
  EXPECT_FALSE(of_kind(find_leaks(train, &behind, options), LeakKind::kTimeTravel));
  // An hour before the last training row no clock says so for sure; five days before, all do.
  const CsvTable hardly = days(10 * kDay - 20 * 60, 100, 1, ""), before = days(5 * kDay, 100, 12, "");
  EXPECT_FALSE(of_kind(find_leaks(train, &hardly, options), LeakKind::kTimeTravel));
  const auto found = find_leaks(train, &before, options);
  ASSERT_TRUE(of_kind(found, LeakKind::kTimeTravel));
  EXPECT_EQ(of_kind(found, LeakKind::kTimeTravel)->rows, 100);
}

// Of four times the columns no more than the square of two: a cost of each pair would be sixteen times.
TEST(LeaksSlow, WideTablesCostNoPairsOfColumns) {
  const auto seconds = [](int columns) {
    Philox random(7);
    std::string text;
    for (int c = 0; c < columns; ++c) text += cat("g", c, ",");
    text += "y\n";
    for (int row = 0; row < 150; ++row) {
      for (int c = 0; c < columns; ++c) text += cat(random.below(2000), ",");
      text += random.below(2) ? "ill\n" : "well\n";
    }
    const CsvTable table = parse_csv(text);
    double least = 1e9;
    for (int repeat = 0; repeat < 2; ++repeat) {
      const std::clock_t before = std::clock();
      find_leaks(table, &table, {.label = "y"});
      least = std::min(least, static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
    }
    return least;
  };
  const double few = seconds(1000), many = seconds(4000);
  EXPECT_LT(many, 8 * few) << few << " s and " << many << " s";
}

}  // namespace
}  // namespace espalier
