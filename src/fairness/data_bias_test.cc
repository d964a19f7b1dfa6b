// Groups that are planted too small, too poorly known, or too well told by another column.
#include "fairness/data_bias.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/philox.h"
#include "base/rule_of_test.h"
#include "espalier/error.h"

namespace espalier {
namespace {

struct Plant {
  uint64_t women = 50;     // of a hundred
  uint64_t unknown = 10;   // of a hundred women whose height is missing; of men 10
  bool proxy = false;      // whether the shop tells the sex nine times in ten
  uint64_t promoted = 30;  // of a hundred women; of men 30
};
CsvTable people(uint64_t seed, const Plant& plant = {}, int rows = 2000) {
  Philox random(seed);
  std::string text = "sex,region,height,shop,promoted\n";
  for (int i = 0; i < rows; ++i) {
    const bool woman = random.below(100) < plant.women;
    const char* regions[] = {"north", "south", "east"};
    const bool tells = plant.proxy && random.below(10) != 0;
    text += cat(
        woman ? "F" : "M", ",", regions[random.below(3)], ",",
        random.below(100) < (woman ? plant.unknown : 10) ? std::string() : cat(150 + random.below(50)), ",",
        tells             ? (woman ? "rose" : "bolt")
        : random.below(2) ? "rose"
                          : "bolt",
        ",", random.below(100) < (woman ? plant.promoted : 30) ? "yes" : "no", "\n");
  }
  return parse_csv(text);
}

DataBias of_people(const CsvTable& table, double women = 0.5) {
  return data_bias(table, {.columns = {"sex", "region"},
                           .label = "promoted",
                           .positive = "yes",
                           .reference = {{"sex", {{"F", women}, {"M", 1 - women}}}}});
}

TEST(DataBias, CleanTablesHaveNone) {
  int off = 0, missing = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const DataBias bias = of_people(people(seed));
    EXPECT_TRUE(bias.thin.empty());
    for (const ColumnBias& column : bias.columns) {
      EXPECT_TRUE(column.proxies.empty()) << seed << column.column;
      missing += !column.missing.empty();
      for (const GroupBias& group : column.groups) off += group.off;
    }
  }
  EXPECT_LE(missing, 7);
  EXPECT_LE(off, 2 * 7);  // of 100 seeds, where the two groups of sex are off together
}

TEST(DataBias, GroupsAreCounted) {
  const CsvTable table = parse_csv("sex,paid\nF,yes\nF,no\nM,yes\n?,yes\nF,\n");
  const DataBias bias = data_bias(table, {.columns = {"sex"}, .label = "paid", .positive = "yes"});
  const auto& groups = bias.columns[0].groups;
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].group, "F");
  EXPECT_EQ(groups[0].rows.rows, 3);
  EXPECT_EQ(groups[0].rows.of, 4);
  EXPECT_EQ(groups[0].positives->rows, 1);
  EXPECT_EQ(groups[0].positives->of, 2);
  EXPECT_EQ(groups[2].group, kNoGroup);
  EXPECT_EQ(groups[2].rows.of, 5);
  EXPECT_FALSE(groups[0].expected);
}

TEST(DataBias, NoGroupIsNamedAsMissingRowsAre) {
  const CsvTable table = parse_csv("sex,paid\n(missing),yes\n(missing),no\n?,yes\n");
  const auto groups = data_bias(table, {.columns = {"sex"}}).columns[0].groups;
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].group, "\"(missing)\"");
  EXPECT_EQ(groups[0].rows.of, 2) << "of the rows that have a sex";
  EXPECT_EQ(groups[1].group, kNoGroup);
}

TEST(DataBias, AGroupThatIsTooSmallIsOff) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const DataBias bias = of_people(people(seed, {.women = 40}));
    for (const GroupBias& group : bias.columns[0].groups) EXPECT_TRUE(group.off) << seed << group.group;
  }
  // Of a population that the table knows nothing of.
  const DataBias without = data_bias(
      people(1),
      {.columns = {"region"}, .reference = {{"region", {{"north", 0.3}, {"south", 0.3}, {"west", 0.4}}}}});
  const auto& groups = without.columns[0].groups;
  const auto west = std::ranges::find(groups, "west", &GroupBias::group);
  ASSERT_NE(west, groups.end());
  EXPECT_EQ(west->rows.rows, 0);
  EXPECT_TRUE(west->off);
  EXPECT_FALSE(std::ranges::find(groups, "east", &GroupBias::group)->expected);
}

TEST(DataBias, CellsThatAreMissingByGroupAreNamed) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const DataBias bias = of_people(people(seed, {.unknown = 25}));
    ASSERT_EQ(bias.columns[0].missing.size(), 1u) << seed;
    EXPECT_EQ(bias.columns[0].missing[0].column, "height");
    EXPECT_EQ(bias.columns[0].missing[0].most, "F");
    EXPECT_GT(bias.columns[0].missing[0].interval.low, 0);
    EXPECT_TRUE(bias.columns[1].missing.empty());
  }
}

TEST(DataBias, ColumnsThatTellTheGroupAreNamed) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const DataBias bias = of_people(people(seed, {.proxy = true}));
    ASSERT_EQ(bias.columns[0].proxies.size(), 1u) << seed;
    const Proxy& proxy = bias.columns[0].proxies[0];
    EXPECT_EQ(proxy.column, "shop");
    // Of two values that agree with probability 0.95 the area is 0.95.
    EXPECT_NEAR(proxy.area, 0.95, 0.03);
    EXPECT_LT(proxy.interval.low, 0.95);
    EXPECT_GT(proxy.interval.high, 0.95);
    EXPECT_TRUE(bias.columns[1].proxies.empty());
  }
  // Numbers that tell a group in the middle, which no threshold would.
  Philox random(1);
  std::string text = "sex,height\n";
  for (int i = 0; i < 2000; ++i) {
    const bool woman = random.below(2);
    text += cat(woman ? "F" : "M", ",",
                woman             ? 160 + random.below(20)
                : random.below(2) ? 140 + random.below(20)
                                  : 180 + random.below(20),
                "\n");
  }
  const DataBias bias = data_bias(parse_csv(text), {.columns = {"sex"}});
  ASSERT_EQ(bias.columns[0].proxies.size(), 1u);
  EXPECT_GT(bias.columns[0].proxies[0].area, 0.97);
}

TEST(DataBias, CrossesOfFewRowsAreNamed) {
  std::string text = "sex,race\n";
  for (int i = 0; i < 100; ++i) text += i % 2 ? "F,a\n" : "M,a\n";
  for (int i = 0; i < 40; ++i) text += "M,b\n";
  text += "F,b\nF,b\n";
  const DataBias bias = data_bias(parse_csv(text), {.columns = {"sex", "race"}, .min_rows = 10});
  ASSERT_EQ(bias.thin.size(), 1u);
  EXPECT_EQ(bias.thin[0].name, "sex=F, race=b");
  EXPECT_EQ(bias.thin[0].rows, 2);
}

TEST(DataBias, WhatDoesNotFitIsRefused) {
  const CsvTable table = people(1, {}, 200);
  const auto rule = [&](DataBiasOptions options) { return rule_of([&] { data_bias(table, options); }); };
  EXPECT_EQ(rule({.columns = {"sax"}}), "csv.column");
  EXPECT_EQ(rule({.columns = {"sex"}, .label = "promoted", .positive = "maybe"}), "bias.positive");
  EXPECT_EQ(rule({.columns = {"sex"}, .reference = {{"sex", {{"F", 0.5}, {"M", 0.4}}}}}), "bias.reference");
  EXPECT_EQ(rule({.columns = {"sex"}, .reference = {{"sex", {{"F", 1.5}, {"M", -0.5}}}}}), "bias.reference");
  EXPECT_EQ(rule({.columns = {"sex"}, .reference = {{"region", {{"north", 0.5}}}}}), "bias.reference")
      << "of a column that is not looked at";
  try {
    data_bias(table, {.columns = {"sex"}, .reference = {{"Sex", {{"F", 0.5}, {"M", 0.5}}}}});
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "bias.reference");
    EXPECT_NE(cat(error.message(), error.fix()).find("\"sex\""), std::string::npos) << error.message();
  }
  std::string many = "name\n";
  for (int i = 0; i < 60; ++i) many += cat("n", i, "\n");
  EXPECT_EQ(rule_of([&] { data_bias(parse_csv(many), {.columns = {"name"}}); }), "bias.groups");
}

}  // namespace
}  // namespace espalier
