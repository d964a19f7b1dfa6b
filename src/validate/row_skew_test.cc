#include "validate/row_skew.h"

#include <map>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/philox.h"
#include "base/rule_of_test.h"
#include "espalier/error.h"
#include "ir/golden_test.h"

namespace espalier {
namespace {

CsvTable table_of(const std::string& text) { return parse_csv(text, {.header = CsvHeader::kYes}); }
RowSkew skew(const std::string& first, const std::string& second, SkewOptions options = {.id = {"id"}}) {
  return row_skew(table_of(first), table_of(second), options);
}

TEST(RowSkew, PairsAreOfOneIdAndSaidByColumn) {
  const RowSkew found = skew("id,fare,kind,old\n1,7,oak,x\n2,8,ash,x\n3,9,oak,x\n4,1.0,,x\n",
                             "kind,new,id,fare\noak,y,4,1\noak,y,3,9\n,y,2,8.5\n,y,1,7\n");
  EXPECT_EQ(found.pairs, 4);
  EXPECT_EQ(found.skewed, 3);
  ASSERT_EQ(found.columns.size(), 2u);
  const ColumnSkew &kind = found.columns[0], &fare = found.columns[1];
  EXPECT_EQ(kind.column, "kind");
  EXPECT_EQ(kind.only_first, 2);
  EXPECT_EQ(kind.only_second, 1);
  EXPECT_EQ(kind.differ, 0);
  EXPECT_EQ(kind.lines, (std::vector<int64_t>{2, 3, 5}));
  EXPECT_EQ(fare.differ, 1);
  EXPECT_EQ(fare.lines, std::vector<int64_t>{3});
  EXPECT_EQ(found.first.only_columns, std::vector<std::string>{"old"});
  EXPECT_EQ(found.second.only_columns, std::vector<std::string>{"new"});
}

TEST(RowSkew, IdsThatAreMissingOrRepeatedMakeNoPairs) {
  const RowSkew found =
      skew("id,x\n1,1\n1,2\n2,1\n?,1\n3,1\n1,5\n", "id,x\n1,9\n2,2\n2,3\n4,1\n4,1\n,1\n3,1\n");
  EXPECT_EQ(found.pairs, 1);
  EXPECT_EQ(found.skewed, 0);
  EXPECT_EQ(found.repeated, 3);
  EXPECT_EQ(found.first.repeated, 1);
  EXPECT_EQ(found.first.repeated_lines, (std::vector<int64_t>{3, 7}));
  EXPECT_EQ(found.first.without_id, 1);
  EXPECT_EQ(found.first.without_id_lines, std::vector<int64_t>{5});
  EXPECT_EQ(found.first.only, 0);
  EXPECT_EQ(found.second.repeated, 2);
  EXPECT_EQ(found.second.only, 1);
  EXPECT_EQ(found.second.only_lines, std::vector<int64_t>{5});
  EXPECT_EQ(found.second.rows, 7);
}

TEST(RowSkew, IdsThatAreNumbersAreEqualByValueAndCodesAreTexts) {
  EXPECT_EQ(skew("id,x\n7,1\n8,2\n", "id,x\n8e0,2.0\n7.0,1\n").pairs, 2);
  EXPECT_EQ(skew("id,x\n7,1\n8,2\n", "id,x\n8e0,2.0\n7.0,1\n").skewed, 0);
  EXPECT_EQ(skew("id,x\n007,1\n012,2\n", "id,x\n012,2\n007,1\n").pairs, 2);
  EXPECT_EQ(skew("id,x\n007,1\n112,2\n", "id,x\n7,1\n112,2\n").pairs, 1);
  EXPECT_EQ(skew("id,x\n07,1\n112,2\n", "id,x\n7,1\n112,2\n").pairs, 2);
  EXPECT_EQ(skew("id,zip\n1,02134\n2,10115\n", "id,zip\n1,2134\n2,10115\n").skewed, 1);
}

TEST(RowSkew, ColumnsOfAnIdAreTakenTogether) {
  const SkewOptions both = {.id = {"a", "b"}};
  EXPECT_EQ(skew("a,b,x\n1,23,1\n12,3,2\n", "a,b,x\n12,3,2\n1,23,1\n", both).skewed, 0);
  EXPECT_EQ(skew("a,b,x\n1,23,1\n12,3,2\n", "a,b,x\n12,3,2\n1,23,1\n", both).pairs, 2);
  EXPECT_EQ(rule_of([] { skew("id\n1\n", "id\n1\n", {.id = {"ID"}}); }), "csv.column");
  EXPECT_EQ(rule_of([] { skew("id\n1\n", "id\n1\n", {}); }), "skew.id");
  EXPECT_EQ(rule_of([] { skew("id,x\n1,2\n", "id,x\n1,2\n", {.id = {"id"}, .ignore = {"y"}}); }),
            "csv.column");
}

TEST(RowSkew, NumbersMayBeApartAndColumnsIgnored) {
  const char *first = "id,x,y\n1,0.5,a\n2,1,a\n", *second = "id,x,y\n1,0.75,b\n2,1.0,a\n";
  EXPECT_EQ(skew(first, second).skewed, 1);
  EXPECT_EQ(skew(first, second, {.id = {"id"}, .tolerance = 0.25}).columns[0].column, "y");
  EXPECT_EQ(skew(first, second, {.id = {"id"}, .ignore = {"y"}, .tolerance = 0.25}).skewed, 0);
  EXPECT_EQ(skew(first, second, {.id = {"id"}, .ignore = {"y"}, .tolerance = 0.2}).skewed, 1);
}

TEST(RowSkew, WholeNumbersBeyondThoseOfDoublesAreComparedByTheirDigits) {
  const std::string large = "id,x\n1,9007199254740993\n", other = "id,x\n1,9007199254740992\n";
  EXPECT_EQ(skew(large, other).skewed, 1);
  EXPECT_EQ(skew(large, other, {.id = {"id"}, .tolerance = 0.5}).skewed, 1);
  EXPECT_EQ(skew(large, other, {.id = {"id"}, .tolerance = 1}).skewed, 0);
  EXPECT_EQ(skew("id,x\n1,-9007199254740993\n", "id,x\n1,-9007199254740992\n").skewed, 1);
  EXPECT_EQ(skew(large, "id,x\n1,+09007199254740993\n").skewed, 0);
  EXPECT_EQ(skew("id,x\n1,10000000000000000\n", "id,x\n1,1e16\n").skewed, 0);
}

TEST(RowSkew, IsTensorflowDataValidations) {
  const nlohmann::json golden = read_golden("tfdv_skew.json");
  SkewOptions options{.id = {"shop", "day"}};
  const RowSkew found = row_skew(table_of(golden.at("before")), table_of(golden.at("now")), options);
  const auto& stats = golden.at("stats");
  EXPECT_EQ(found.first.rows - found.first.without_id, stats.at("base_with_id_count"));
  EXPECT_EQ(found.second.rows - found.second.without_id, stats.at("test_with_id_count"));
  EXPECT_EQ(found.first.without_id, stats.at("base_missing_id_count"));
  EXPECT_EQ(found.second.without_id, stats.at("test_missing_id_count"));
  EXPECT_EQ(found.second.only, stats.at("ids_missing_in_base_count"));
  EXPECT_EQ(found.first.only, stats.at("ids_missing_in_test_count"));
  EXPECT_EQ(found.repeated, stats.at("duplicate_id_count"));
  EXPECT_EQ(found.pairs, golden.at("columns").at("same").at("base_count"));
  ASSERT_EQ(found.columns.size(), golden.at("columns").size());
  for (const ColumnSkew& column : found.columns) {
    const auto& theirs = golden.at("columns").at(column.column);
    EXPECT_EQ(column.differ, theirs.at("mismatch_count")) << column.column;
    EXPECT_EQ(column.only_first, theirs.at("base_only")) << column.column;
    EXPECT_EQ(column.only_second, theirs.at("test_only")) << column.column;
    EXPECT_EQ(column.skewed(), theirs.at("diff_count")) << column.column;
  }
}

// Each id of small tables, by brute force; and the order of rows changes nothing but lines.
TEST(RowSkew, IsWhatEveryPairOfRowsSays) {
  Philox random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::vector<std::string>> sides(2);
    for (auto& rows : sides) {
      for (uint64_t i = 0; i < 3 + random.below(12); ++i)
        rows.push_back(cat(random.below(10), ",", random.below(3), ",", random.below(2) ? "a" : ""));
    }
    const auto text = [](const std::vector<std::string>& rows) {
      std::string out = "id,x,y\n";
      for (const std::string& row : rows) out += row + "\n";
      return out;
    };
    std::map<std::string, std::vector<std::string>> by_id[2];
    for (int side = 0; side < 2; ++side) {
      for (const std::string& row : sides[static_cast<size_t>(side)])
        by_id[side][row.substr(0, 1)].push_back(row);
    }
    int64_t pairs = 0, skewed = 0;
    for (const auto& [id, rows] : by_id[0]) {
      const auto other = by_id[1].find(id);
      if (rows.size() != 1 || other == by_id[1].end() || other->second.size() != 1) continue;
      ++pairs;
      skewed += rows[0] != other->second[0];
    }
    const RowSkew found = skew(text(sides[0]), text(sides[1]));
    EXPECT_EQ(found.pairs, pairs);
    EXPECT_EQ(found.skewed, skewed);
    for (auto& rows : sides) std::ranges::reverse(rows);
    const RowSkew turned = skew(text(sides[0]), text(sides[1]));
    EXPECT_EQ(turned.skewed, skewed);
    EXPECT_EQ(turned.repeated, found.repeated);
    EXPECT_EQ(turned.columns[0].column, found.columns[0].column);
    EXPECT_EQ(turned.columns[0].skewed(), found.columns[0].skewed());
  }
}

}  // namespace
}  // namespace espalier
