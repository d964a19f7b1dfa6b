#include "validate/split_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/philox.h"
#include "base/rule_of_test.h"
#include "data/column_profile.h"

namespace espalier {
namespace {

// 1,000 rows of few classes, of groups of very different sizes, at days in no order.
CsvTable visits(uint64_t seed) {
  Philox random(seed);
  std::string text = "patient,day,ill\n";
  for (int i = 0; i < 1000; ++i) {
    const int64_t patient = random.below(random.below(2) ? 3 : 200), day = random.below(28) + 1;
    text += cat(patient == 199 ? std::string() : cat("p", patient), ",2024-0", random.below(9) + 1, "-",
                day < 10 ? "0" : "", day, ",",
                random.below(50) == 0 ? "rare"
                : random.below(2)     ? "yes"
                                      : "no",
                "\n");
  }
  return parse_csv(text);
}

void expect_parts(const CsvTable& table, const RowSplit& split) {
  std::vector<int64_t> all = split.train;
  all.insert(all.end(), split.test.begin(), split.test.end());
  EXPECT_TRUE(std::ranges::is_sorted(split.train));
  EXPECT_TRUE(std::ranges::is_sorted(split.test));
  std::ranges::sort(all);
  ASSERT_EQ(std::ssize(all), table.rows());
  for (int64_t row = 0; row < table.rows(); ++row) EXPECT_EQ(all[static_cast<size_t>(row)], row);
}

std::map<std::string, int64_t> counts(const CsvTable& table, const std::vector<int64_t>& rows,
                                      const std::string& column) {
  std::map<std::string, int64_t> out;
  for (const int64_t row : rows) ++out[std::string(table.cell(row, table.column(column)))];
  return out;
}

TEST(SplitRows, AtRandomHasItsShareAndItsSeed) {
  const CsvTable table = visits(1);
  for (const double fraction : {0.0, 0.1, 0.25, 1.0}) {
    const RowSplit split = split_at_random(table, fraction, 3);
    expect_parts(table, split);
    EXPECT_EQ(std::ssize(split.test), std::llround(fraction * 1000));
  }
  EXPECT_EQ(split_at_random(table, 0.2, 3).test, split_at_random(table, 0.2, 3).test);
  EXPECT_NE(split_at_random(table, 0.2, 3).test, split_at_random(table, 0.2, 4).test);
}

TEST(SplitRows, OfEachClassTheSameShareIsForTheTest) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const CsvTable table = visits(seed);
    const RowSplit split = split_by_class(table, "ill", 0.15, seed);
    expect_parts(table, split);
    EXPECT_EQ(split.test.size(), 150u);
    const auto all = counts(table, split_at_random(table, 1, 0).test, "ill"),
               of_test = counts(table, split.test, "ill");
    for (const auto& [name, count] : all) {
      const auto tested = of_test.contains(name) ? of_test.at(name) : 0;
      EXPECT_LT(std::abs(static_cast<double>(tested) - 0.15 * static_cast<double>(count)), 1) << name;
    }
  }
}

// The largest remainders get the rows that are left over, whatever their classes are called.
TEST(SplitRows, RowsLeftOverGoToTheLargestRemainders) {
  std::string text = "kind\n";
  for (const auto& [name, count] : std::map<std::string, int>{{"a", 10}, {"b", 11}, {"c", 19}})
    for (int i = 0; i < count; ++i) text += name + "\n";
  const CsvTable table = parse_csv(text);
  // Shares are 2.5, 2.75 and 4.75, and 10 rows are asked for: 2, 3 and 5.
  const RowSplit split = split_by_class(table, "kind", 0.25, 1);
  EXPECT_EQ(counts(table, split.test, "kind"),
            (std::map<std::string, int64_t>{{"a", 2}, {"b", 3}, {"c", 5}}));
}

TEST(SplitRows, AGroupIsOnOneSide) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const CsvTable table = visits(seed);
    const RowSplit split = split_by_group(table, "patient", "", 0.2, seed);
    expect_parts(table, split);
    std::set<std::string> train, both;
    for (const auto& [name, count] : counts(table, split.train, "patient")) train.insert(name);
    for (const auto& [name, count] : counts(table, split.test, "patient")) {
      if (train.contains(name)) both.insert(name);
    }
    // Rows without a patient are groups of their own.
    both.erase("");
    EXPECT_TRUE(both.empty()) << *both.begin();
    EXPECT_NEAR(static_cast<double>(split.test.size()), 200, 30);
  }
}

// As many as are asked for where the sizes of groups add up to it, whatever their order.
TEST(SplitRows, GroupsThatJustFitAreForTheTest) {
  for (const int size : {1, 4, 25}) {
    std::string text = "patient,day\n";
    for (int i = 0; i < 100; ++i) text += cat("p", i / size, ",", i, "\n");
    const CsvTable table = parse_csv(text, {.header = CsvHeader::kYes});
    for (uint64_t seed = 0; seed < 10; ++seed) {
      for (const double fraction : {0.0, 0.25, 0.5, 1.0}) {
        const RowSplit split = split_by_group(table, "patient", "", fraction, seed);
        expect_parts(table, split);
        const int64_t tests = size * (std::llround(100 * fraction) / size);
        EXPECT_EQ(std::ssize(split.test), tests) << size << " rows each, " << fraction;
      }
    }
  }
}

// A rare class that lies in few groups: without the label it may miss the test.
TEST(SplitRows, GroupsFallNearTheSharesOfClasses) {
  double near = 0, drawn = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Philox random(seed);
    std::string text = "patient,ill\n";
    for (int patient = 0; patient < 60; ++patient) {
      const bool often = random.below(6) == 0;
      for (uint64_t visit = 0; visit < 3 + random.below(20); ++visit)
        text += cat("p", patient, ",", random.below(100) < (often ? 80U : 2U) ? "yes" : "no", "\n");
    }
    const CsvTable table = parse_csv(text, {.header = CsvHeader::kYes});
    const auto off = [&](const RowSplit& split) {
      expect_parts(table, split);
      const std::map<std::string, int64_t> all = counts(table, all_rows(table), "ill"),
                                           tested = counts(table, split.test, "ill");
      const double ill = tested.contains("yes") ? static_cast<double>(tested.at("yes")) : 0;
      return std::abs(ill / static_cast<double>(all.at("yes")) - 0.25);
    };
    const RowSplit split = split_by_group(table, "patient", "ill", 0.25, seed);
    for (const auto& [name, count] : counts(table, split.train, "patient"))
      EXPECT_FALSE(counts(table, split.test, "patient").contains(name)) << name;
    EXPECT_NEAR(static_cast<double>(split.test.size()) / static_cast<double>(table.rows()), 0.25, 0.05);
    near += off(split);
    drawn += off(split_by_group(table, "patient", "", 0.25, seed));
  }
  EXPECT_LT(near / 50, 0.04);
  EXPECT_GT(drawn / 50, 0.08);
}

TEST(SplitRows, LabelsThatHardlyRepeatAreOneClassOfGroups) {
  std::string text = "patient,pay\n";
  for (int i = 0; i < 400; ++i) text += cat("p", i / 4, ",", i * 37 % 401, "\n");
  const RowSplit split =
      split_by_group(parse_csv(text, {.header = CsvHeader::kYes}), "patient", "pay", 0.2, 1);
  EXPECT_NEAR(static_cast<double>(split.test.size()), 80, 4);
}

TEST(SplitRows, TheLastRowsOfATimeAreForTheTest) {
  const CsvTable table = visits(1);
  const RowSplit split = split_by_time(table, "day", 0.2);
  expect_parts(table, split);
  const auto days = [&](const std::vector<int64_t>& rows) {
    std::vector<std::string> out;
    for (const int64_t row : rows) out.emplace_back(table.cell(row, 1));
    std::ranges::sort(out);
    return out;
  };
  const auto before = days(split.train), after = days(split.test);
  EXPECT_LT(before.back(), after.front());
  EXPECT_LE(after.size(), 200u);
  EXPECT_GT(after.size(), 190u);
  EXPECT_EQ(split.by, cat("by \"day\": test rows after ", before.back()));
  expect_parts(table, split_by_time(table, "day", 1));
  EXPECT_TRUE(split_by_time(table, "day", 1).train.empty());
  EXPECT_TRUE(split_by_time(table, "day", 0).test.empty());

  const CsvTable numbers = parse_csv("at,x\n3,a\n1,b\n2,c\n3,d\n");
  EXPECT_EQ(split_by_time(numbers, "at", 0.5).test, (std::vector<int64_t>{0, 3}));
  // Of one moment all or none.
  EXPECT_TRUE(split_by_time(numbers, "at", 0.25).test.empty());
  try {
    split_by_time(numbers, "x", 0.5);
    ADD_FAILURE() << "no row has a time";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.message(),
              "column \"x\" holds neither dates nor numbers, as line 2 shows: rows have no time by it");
    EXPECT_EQ(error.fix().find("is not missing"), std::string::npos) << error.fix();
  }
  try {
    split_by_time(parse_csv("at,x\n2024-01-02,a\n,b\n2024-01-03,c\n"), "at", 0.5);
    ADD_FAILURE() << "a row has no date";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.message(), "line 3: the cell of \"at\" is empty");
    EXPECT_NE(error.fix().find("at is not missing"), std::string::npos) << error.fix();
  }
  EXPECT_EQ(rule_of([&] { split_by_time(numbers, "y", 0.5); }), "csv.column");
  EXPECT_EQ(rule_of([&] { split_by_class(numbers, "y", 0.5, 0); }), "csv.column");
  EXPECT_EQ(rule_of([&] { split_by_group(numbers, "y", "", 0.5, 0); }), "csv.column");
}

TEST(SplitRows, NumbersThatAreEqualAreOneGroup) {
  Philox random(4);
  std::string plain = "patient,ill\n", rewritten = plain, zips = plain;
  for (int i = 0; i < 600; ++i) {
    const auto patient = static_cast<int64_t>(random.below(100)) + 1;
    const char* const ill = random.below(3) ? "no" : "yes";
    const char* const endings[] = {"", ".0", "e0"};
    plain += cat(patient, ",", ill, "\n");
    rewritten += cat(patient, endings[random.below(3)], ",", ill, "\n");
    zips += cat(i % 2 ? "0" : "", 2000 + patient, i % 2 ? "" : ".0", ",", ill, "\n");
  }
  const CsvTable a = parse_csv(plain), b = parse_csv(rewritten), z = parse_csv(zips);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const RowSplit groups = split_by_group(b, "patient", "", 0.2, seed);
    EXPECT_EQ(groups.test, split_by_group(a, "patient", "", 0.2, seed).test);
    EXPECT_EQ(split_by_group(b, "patient", "ill", 0.2, seed).test,
              split_by_group(a, "patient", "ill", 0.2, seed).test);
    EXPECT_EQ(split_by_class(b, "patient", 0.2, seed).test, split_by_class(a, "patient", 0.2, seed).test);
    std::set<double> train, test;
    for (const int64_t row : groups.train) train.insert(*b.number(row, 0));
    for (const int64_t row : groups.test) test.insert(*b.number(row, 0));
    for (const double patient : test) EXPECT_FALSE(train.contains(patient)) << patient;
  }
  // Of codes 02134 is no 2134.0: each is a group of its own.
  std::set<std::string_view> known;
  for (int64_t row = 0; row < z.rows(); ++row) known.insert(z.cell(row, 0));
  int64_t apart = 0;
  const RowSplit codes = split_by_group(z, "patient", "", 0.5, 1);
  std::map<std::string, bool> tested;
  for (const int64_t row : codes.train) tested.emplace(std::string(z.cell(row, 0)), false);
  for (const int64_t row : codes.test) tested.emplace(std::string(z.cell(row, 0)), true);
  for (const auto& [code, side] : tested) {
    const auto other = code[0] == '0' ? tested.find(cat(code.substr(1), ".0")) : tested.end();
    apart += other != tested.end() && other->second != side;
  }
  EXPECT_EQ(tested.size(), known.size());
  EXPECT_GT(apart, 10);
}

TEST(SplitRows, InstantsAreInTheOrderOfUtc) {
  // Every hour for 200 hours, written on clocks of three zones.
  constexpr int kHours[] = {-8, 0, 5};
  std::string text = "at,n\n";
  for (int i = 0; i < 200; ++i) {
    const int zone = kHours[i * 7 % 3], hour = 24 + i + zone;
    const auto two = [](int value) { return cat(value < 10 ? "0" : "", value); };
    text += cat("2024-01-", two(1 + hour / 24), "T", two(hour % 24), ":00:00", zone < 0 ? "-" : "+",
                two(std::abs(zone)), ":00,", i, "\n");
  }
  const CsvTable table = parse_csv(text);
  const RowSplit split = split_by_time(table, "at", 0.2);
  ASSERT_EQ(split.test.size(), 40u);
  EXPECT_EQ(split.test.front(), 160);
  EXPECT_EQ(split.by, "by \"at\": test rows after 2024-01-08 (UTC)");
  EXPECT_EQ(rule_of([] {
              split_by_time(parse_csv("at,n\n2024-01-01T00:00:00Z,1\n2024-01-01T00:00:00,2\n"), "at", 0.5);
            }),
            "dates.offsets");
}

TEST(SplitRows, TimesOfDayMonthsByNameAndAmountsHaveAnOrder) {
  const auto tests = [](const std::string& text) { return split_by_time(parse_csv(text), "t", 0.34).test; };
  EXPECT_EQ(tests("t,n\n9:30,1\n10:00,2\n2:00,3\n"), std::vector<int64_t>{1});
  EXPECT_EQ(tests("t,n\n15-Jun-2024,1\n02-Feb-2024,2\n28-Apr-2024,3\n"), std::vector<int64_t>{0});
  EXPECT_EQ(tests("t,n\n$ 1,1\n$ 20,2\n$ 3,3\n"), std::vector<int64_t>{1});
}

}  // namespace
}  // namespace espalier
