// Chances of what is new among a few rows, against all orders and all divisions of a few, and against draws.
#include "evaluate/envelope.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/philox.h"
#include "data/column_profile.h"

namespace espalier {
namespace {

TEST(Envelope, ChancesAreThoseOfAllOrders) {
  for (const auto& [before, now] : {std::pair{2, 3}, {3, 4}, {4, 3}, {1, 5}}) {
    // The first `before` places are values seen, the others are new; ranks in every order.
    std::vector<int> ranks(static_cast<size_t>(before + now));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<int64_t> orders(static_cast<size_t>(now) + 1);
    int64_t all = 0;
    do {
      const int most = *std::max_element(ranks.begin(), ranks.begin() + before);
      const auto above =
          std::count_if(ranks.begin() + before, ranks.end(), [&](int rank) { return rank > most; });
      for (int64_t k = 0; k <= above; ++k) ++orders[static_cast<size_t>(k)];
      ++all;
    } while (std::next_permutation(ranks.begin(), ranks.end()));
    for (int64_t k = 0; k <= now; ++k) {
      EXPECT_NEAR(beyond_chance(k, before, now),
                  static_cast<double>(orders[static_cast<size_t>(k)]) / static_cast<double>(all), 1e-12)
          << before << now << k;
    }
  }
}

// Calls `each` with the new rows of every division of `all` rows into `now` new ones and the others.
void each_division(int all, int now, const std::function<void(uint32_t)>& each) {
  for (uint32_t rows = 0; rows < uint32_t{1} << all; ++rows) {
    if (std::popcount(rows) == now) each(rows);
  }
}

TEST(Envelope, KindsOfRowsHaveTheChanceOfAllDivisions) {
  constexpr int kAll = 12;
  for (const int now : {1, 3, 5}) {
    for (const int kind : {1, 2, 4}) {  // of the first rows
      std::map<int, int64_t> counts;
      int64_t all = 0;
      each_division(kAll, now, [&](uint32_t rows) {
        ++counts[std::popcount(rows & ((uint32_t{1} << kind) - 1))];
        ++all;
      });
      int64_t as_many = 0;
      for (int k = std::min(kind, now); k >= 0; --k) {
        as_many += counts[k];
        EXPECT_NEAR(more_often_chance(kind - k, kAll - now, k, now),
                    static_cast<double>(as_many) / static_cast<double>(all), 1e-12)
            << now << kind << k;
      }
    }
  }
}

// A chance that is said must never be less than how often it comes: of all divisions of a column's rows, at
// most the share t has a chance of t or less.
TEST(Envelope, NewValuesAreNeverSaidToBeRarerThanTheyAre) {
  for (const char* column : {"aaaaaaaaabcdef", "aaaabbbbccccdd", "aabbccddeeffgg", "abcdefghijklmn"}) {
    for (const int now : {1, 2, 4, 6}) {
      std::map<double, int64_t> chances;
      int64_t all = 0;
      each_division(14, now, [&](uint32_t rows) {
        std::map<char, std::pair<int64_t, int64_t>> counts;
        for (int i = 0; i < 14; ++i) ++(rows >> i & 1 ? counts[column[i]].second : counts[column[i]].first);
        int64_t most = 0, fresh = 0;
        for (const auto& [value, count] : counts) {
          if (count.first > 0) continue;
          most = std::max(most, count.second);
          ++fresh;
        }
        ++all;
        ++chances[most ? fresh_values_chance(most, fresh, std::ssize(counts), 14 - now, now) : 1];
      });
      int64_t at_most = 0;
      for (const auto& [chance, count] : chances) {
        at_most += count;
        EXPECT_LE(static_cast<double>(at_most) / static_cast<double>(all), chance + 1e-12) << column << now;
      }
    }
  }
}

CsvTable sizes(uint64_t seed, int rows, int far, double by = 1000) {
  Philox random(seed);
  std::string text = "size,kind,weight\n";
  for (int i = 0; i < rows; ++i) {
    const double size = static_cast<double>(random.uniform()) * (i < far ? by : 1);
    text += cat(size, ",", random.below(2) ? "a" : "b", ",", random.uniform(), "\n");
  }
  return parse_csv(text);
}

std::vector<Novel> novel(const CsvTable& before, const CsvTable& now) {
  std::vector<NotCompared> left_out;
  const std::vector<ColumnStep> steps = trained_steps(before, ColumnOptions{}.missing, left_out);
  return find_novel(steps, now, all_rows(now), {.alpha = 0.05});
}

TEST(Envelope, AFewOfAnotherUnitAreFound) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto all = novel(sizes(seed, 1000, 0), sizes(1000 + seed, 500, 15));
    ASSERT_GE(all.size(), 1U);
    EXPECT_EQ(all[0].column, "size");
    EXPECT_EQ(all[0].what, NovelOf::kRange);
    EXPECT_TRUE(all[0].sure);
    EXPECT_GE(all[0].above, 14);
    EXPECT_EQ(all[0].of, 500);
    const auto negative = novel(sizes(seed, 1000, 0), sizes(1000 + seed, 500, 15, -1000));
    EXPECT_TRUE(negative[0].sure);
    EXPECT_GE(negative[0].below, 14);
  }
}

TEST(Envelope, EqualLawsRaiseFewAlarms) {
  int alarms = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    for (const Novel& column : novel(sizes(seed, 300, 0), sizes(5000 + seed, 300, 0))) alarms += column.sure;
  }
  EXPECT_LE(alarms, 14);
}

CsvTable column(const std::string& name, int rows, const std::function<std::string(int)>& cell) {
  std::string text = name + ",other\n";
  for (int i = 0; i < rows; ++i) text += cat(cell(i), ",", i % 3, "\n");
  return parse_csv(text, {.delimiter = ',', .header = CsvHeader::kYes});
}
std::string day(int n, int month = 1) { return cat("2031-", month < 10 ? "0" : "", month, "-", 10 + n % 19); }

// What is found beyond chance: "range placed; ".
std::string sure(const CsvTable& before, const CsvTable& now) {
  constexpr const char* kKinds[] = {"form", "missing", "values", "range"};
  std::string out;
  for (const Novel& each : novel(before, now)) {
    if (each.sure) out += cat(kKinds[static_cast<size_t>(each.what)], " ", each.column, "; ");
  }
  return out;
}

TEST(Envelope, DatesGoOnAndOfAnotherFormOrFarOffAreFound) {
  const CsvTable before = column("placed", 300, [](int i) { return day(i, 1 + i % 6); });
  for (const int rows : {2, 15, 60}) {
    EXPECT_EQ(sure(before, column("placed", rows, [](int i) { return day(i, 7); })), "") << "next month";
    EXPECT_EQ(sure(before, column("placed", rows, [](int i) { return day(i, 11); })), "") << "half a year on";
    EXPECT_EQ(sure(before, column("placed", rows, [](int i) { return cat("1970-01-", 10 + i % 19); })),
              "range placed; ");
    EXPECT_EQ(sure(before, column("placed", rows, [](int i) { return cat("2032-06-", 10 + i % 19); })),
              "range placed; ")
        << "farther off than training rows are apart";
    EXPECT_EQ(sure(before, column("placed", rows, [](int i) { return cat(10 + i % 19, ".7.2031"); })),
              "form placed; ");
    EXPECT_EQ(sure(before, column("placed", rows, [](int i) { return cat(1942000000 + i); })),
              "form placed; ");
  }
  const CsvTable seconds = column("unix_time", 300, [](int i) { return cat(1942000000 + 5000 * i); });
  EXPECT_EQ(sure(seconds, column("unix_time", 15, [](int i) { return cat(1943600000 + i); })), "");
  EXPECT_EQ(sure(seconds, column("unix_time", 15, [](int i) { return cat(1943600000 + i, "000"); })),
            "form unix_time; ");
}

TEST(Envelope, UnitsFormsTypesAndValuesAreCheckedFromTheFirstRowsOn) {
  const auto numbers = [](const char* word) {
    return [word](int i) { return cat(100 + i % 90 + (i % 7) / 8.0, word); };
  };
  const CsvTable before = column("x", 300, numbers(""));
  EXPECT_EQ(sure(before, column("x", 5, numbers(""))), "");
  EXPECT_EQ(sure(before, column("x", 5, numbers(" kg"))), "form x; ");
  EXPECT_EQ(sure(before, column("x", 5, numbers("e3"))), "range x; ");
  EXPECT_EQ(sure(before, column("x", 5, [](int i) { return cat("\"", i, ",5\""); })), "form x; ");
  EXPECT_EQ(sure(before, column("x", 5, [](int) { return std::string("many"); })), "form x; ");
  EXPECT_EQ(sure(before, column("x", 5, [](int) { return std::string(); })), "missing x; ");
  const CsvTable towns = column("x", 300, [](int i) { return cat("town ", i % 7); });
  EXPECT_EQ(sure(towns, column("x", 5, [](int) { return std::string("Rom"); })), "values x; ");
  EXPECT_EQ(sure(towns, column("x", 15, [](int i) { return cat("Rom ", i); })), "values x; ");
  EXPECT_EQ(sure(towns, column("x", 60, [](int i) { return i ? cat("town ", i % 7) : "Rom"; })), "");
  const CsvTable constant = column("x", 300, [](int) { return std::string("7"); });
  EXPECT_EQ(sure(constant, column("x", 15, [](int) { return std::string("7.0"); })), "");
  EXPECT_EQ(sure(constant, column("x", 15, [](int) { return std::string("70"); })), "range x; ");
}

TEST(Envelope, OneRowThatProvesNothingSaysHowManyAreNeeded) {
  const CsvTable before = column("x", 300, [](int i) { return cat("town ", i % 7); });
  const std::vector<Novel> found = novel(before, column("x", 1, [](int) { return std::string("Rom"); }));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].sure);
  EXPECT_EQ(found[0].needed, 2);
  EXPECT_EQ(novel(before, column("x", 1, [](int) { return std::string("town 3"); })).size(), 0U);
  const std::vector<Novel> two = novel(before, column("x", 2, [](int) { return std::string("Rom"); }));
  ASSERT_EQ(two.size(), 1U);
  EXPECT_TRUE(two[0].sure);
}

TEST(Envelope, WhatNamesTheRowsIsLeftOutWithTheReason) {
  std::vector<NotCompared> left_out;
  const CsvTable table = column("order", 50, [](int i) { return cat("A", i); });
  EXPECT_EQ(trained_steps(table, ColumnOptions{}.missing, left_out).size(), 1U);
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_EQ(left_out[0].column, "order");
  EXPECT_EQ(text(left_out), "Not compared:\n  order: it names the rows: no two are alike in it\n");
}

TEST(Envelope, ASavedProgramKnowsWhatTheTableKnew) {
  const CsvTable before = column("placed", 300, [](int i) { return day(i, 1 + i % 6); });
  const ColumnProgram program =
      ColumnProgram::fit(before, all_rows(before), {.label = "other", .task = ColumnTask::kClassification});
  const ColumnProgram again = ColumnProgram::from_json(program.to_json());
  const std::vector<ColumnStep> steps = steps_of(again);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].cells.read, 300);
  EXPECT_EQ(steps[0].cells.unread, 0);
  EXPECT_EQ(steps[0].cells.missing, 0);
  const CsvTable now = column("placed", 15, [](int i) { return cat("1970-01-", 10 + i); });
  const std::vector<Novel> found = find_novel(steps, now, all_rows(now));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(text(found[0]),
            "column \"placed\": 15 of 15 dates lie farther from all training rows than these are apart");
  // Of a program of before, which has no counts, nothing is said.
  std::string old = program.to_json();
  for (const char* key : {"\"cells_read\"", "\"cells_unread\"", "\"cells_missing\""})
    old.replace(old.find(key), 7, "\"other_");
  const std::vector<ColumnStep> uncounted = steps_of(ColumnProgram::from_json(old));
  EXPECT_FALSE(uncounted[0].cells.known());
  EXPECT_TRUE(find_novel(uncounted, now, all_rows(now)).empty());
}

}  // namespace
}  // namespace espalier
