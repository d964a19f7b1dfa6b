// Bars, marks and words of columns of two tables, worked out by hand.
#include "gate/data_spreads.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/csv.h"

namespace espalier {
namespace {

using Bars = std::vector<double>;

// So many cells of each text.
CsvTable table_of_cells(const std::vector<std::pair<std::string, int>>& cells) {
  std::string text = "x,y\n";
  for (const auto& [cell, count] : cells) {
    for (int i = 0; i < count; ++i) text += cat(cell, ",1\n");
  }
  return parse_csv(text, {.header = CsvHeader::kYes});
}
CsvTable numbers(int from, int to) {
  std::vector<std::pair<std::string, int>> out;
  for (int i = from; i <= to; ++i) out.emplace_back(cat(i), 1);
  return table_of_cells(out);
}
ColumnSpread spread(const CsvTable& train, const CsvTable& now, int64_t k, const ColumnLimits& limits = {}) {
  for (const ColumnSpread& each : spreads_of(train, now, {.k = k, .limits = {{"x", limits}}}).columns) {
    if (each.name == "x") return each;
  }
  ADD_FAILURE() << "no column";
  return {};
}

TEST(DataSpreads, OfValuesHaveABarForEachThatEnoughRowsHave) {
  const CsvTable train = table_of_cells({{"a", 30}, {"b", 20}, {"c", 3}, {"", 2}}),
                 now = table_of_cells({{"a", 10}, {"b", 40}, {"d", 12}, {"", 5}});
  const ColumnSpread all = spread(train, now, 12);
  EXPECT_EQ(all.train, (Bars{20, 0, 33})) << "b, d, and a and c, of which a table has fewer than 12";
  EXPECT_EQ(all.now, (Bars{40, 12, 10}));
  EXPECT_EQ(all.axis, "b, d, 2 others");
  EXPECT_EQ(all.allowed, "-");
  EXPECT_EQ(all.train_missing, 2);
  EXPECT_EQ(all.now_missing, 5);
  const ColumnSpread ten = spread(train, now, 10, {.values = std::set<std::string>{"a", "b"}});
  EXPECT_EQ(ten.train, (Bars{20, 30, 0, 3}));
  EXPECT_EQ(ten.now, (Bars{40, 10, 12, 0}));
  EXPECT_EQ(ten.axis, "b, a, d (not allowed), 1 other");
  EXPECT_EQ(ten.allowed, "2 values");
  const ColumnSpread none = spread(train, now, 1, {.values = std::set<std::string>{"c"}});
  EXPECT_EQ(none.axis, "b (not allowed), a (not allowed), d (not allowed), c");
  EXPECT_EQ(none.allowed, "1 value");
  EXPECT_EQ(spread(train, now, 100).axis, "4 others");
}

TEST(DataSpreads, OfValuesHaveTenBarsAndOneOfTheRest) {
  std::vector<std::pair<std::string, int>> cells;
  for (int i = 0; i < 12; ++i) cells.emplace_back(std::string("v") + static_cast<char>('a' + i), 20 - i);
  const ColumnSpread found = spread(table_of_cells(cells), table_of_cells(cells), 1);
  EXPECT_EQ(found.train, (Bars{20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 19}));
  EXPECT_EQ(found.axis, "va, vb, vc, vd, ve, vf, vg, vh, vi, vj, 2 others");
  // Ten numbers and ten are values, 21 are not.
  EXPECT_EQ(spread(numbers(1, 10), numbers(1, 10), 1).axis, "1, 10, 2, 3, 4, 5, 6, 7, 8, 9");
  EXPECT_EQ(spread(numbers(1, 11), numbers(1, 10), 0).axis, "1 to 11");
}

TEST(DataSpreads, OfNumbersHaveTwentyBarsBetweenQuantiles) {
  const CsvTable train = numbers(0, 40), now = numbers(20, 40);
  const ColumnSpread found = spread(train, now, 0, {.min = 0, .max = 30});
  Bars wanted(20, 2), half(20, 0);
  wanted[19] = 3;
  std::fill(half.begin() + 10, half.end(), 2);
  half[19] = 3;
  EXPECT_EQ(found.train, wanted);
  EXPECT_EQ(found.now, half);
  EXPECT_EQ(found.axis, "0 to 40");
  EXPECT_EQ(found.marks, (Bars{0, 0.75}));
  EXPECT_EQ(found.allowed, "0 to 30");
  const ColumnSpread beyond = spread(train, now, 0, {.min = -1});
  EXPECT_EQ(beyond.marks, Bars{});
  EXPECT_EQ(beyond.allowed, "at least -1");
  const ColumnSpread most = spread(train, now, 0, {.max = 40});
  EXPECT_EQ(most.marks, Bars{1});
  EXPECT_EQ(most.allowed, "at most 40");
  // Two rows lie beyond each end: 0 and 1, and both 40; they are in the bars at the ends.
  const ColumnSpread two = spread(train, now, 2);
  EXPECT_EQ(two.axis, "2 to 39");
  double rows = 0;
  for (const double bar : two.train) rows += bar;
  EXPECT_EQ(rows, 41);
  // No more than half of them: then all are in the first bar.
  const ColumnSpread middle = spread(train, now, 1000);
  EXPECT_EQ(middle.axis, "25 to 25");
  EXPECT_EQ(middle.train[0], 41);
}

TEST(DataSpreads, ColumnsAreThoseOfBothTablesAndTheNearestAreOnlyNamed) {
  const CsvTable train = parse_csv("a,b,c,d\n1,x,1,1\n2,y,1,1\n", {.header = CsvHeader::kYes}),
                 now = parse_csv("d,c,b,e\n1,1,x,1\n", {.header = CsvHeader::kYes});
  const auto names = [](const DataSpreads& of) {
    std::string out;
    for (const ColumnSpread& each : of.columns) out += each.name;
    for (const std::string& other : of.others) out += cat(" ", other);
    return out;
  };
  const DataSpreads all = spreads_of(train, now);
  EXPECT_EQ(names(all), "bcd");
  EXPECT_EQ(all.train_rows, 2);
  EXPECT_EQ(all.now_rows, 1);
  EXPECT_EQ(names(spreads_of(train, now, {.ignored = {"c"}})), "bd");
  EXPECT_EQ(names(spreads_of(train, now, {.most_columns = 3})), "bcd");
  EXPECT_EQ(names(spreads_of(train, now, {.most_columns = 1})), "b c d");
}

}  // namespace
}  // namespace espalier
