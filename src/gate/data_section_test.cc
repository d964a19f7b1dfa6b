// What the page says of tables, and what it keeps to itself.
#include "gate/data_section.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/philox.h"
#include "report/html.h"

namespace espalier {
namespace {

// Cities of which one stands in three rows, and weights of which one is far off.
CsvTable people_of_section(uint64_t seed, int heavier = 0, int rows = 500) {
  Philox random(seed);
  std::string text = "city,weight,mood\n";
  for (int i = 0; i < rows; ++i) {
    text += cat(i < 3             ? "Hamlet"
                : random.below(2) ? "Oslo"
                                  : "Bonn",
                ",", i == 7 ? 987654.25 : 40 + heavier + static_cast<double>(random.below(40000000)) / 1e6,
                ",", i % 10 ? "fine" : "", "\n");
  }
  return parse_csv(text, {.header = CsvHeader::kYes});
}

std::string page_of(const CsvTable& train, const CsvTable& now, const DataSpreadOptions& options = {}) {
  return data_section(spreads_of(train, now, options), ask_data(train, &now, {})).body.markup();
}
bool has(const std::string& page, const std::string& text) { return page.find(text) != std::string::npos; }

TEST(DataSection, EachColumnIsDrawnWithItsDrift) {
  const std::string page = page_of(people_of_section(1), people_of_section(2, 20));
  EXPECT_TRUE(has(page, "training: 500 rows; evaluated: 500 rows.")) << page;
  EXPECT_TRUE(has(page, "distributions of weight are ")) << page;
  EXPECT_TRUE(has(page, " drifted")) << page;
  EXPECT_LT(page.find(">weight<"), page.find(">city<"));  // the furthest first
  EXPECT_TRUE(has(page, "Bonn, Oslo, 1 other") || has(page, "Oslo, Bonn, 1 other")) << page;
  EXPECT_TRUE(has(page, "10.0 %")) << page;  // of moods are missing
  EXPECT_TRUE(has(page_of(people_of_section(1), people_of_section(3)), "No fault was found in them."))
      << page;
}

TEST(DataSection, SharesOfMissingCellsAreOfEachTablesRows) {
  const std::string page = page_of(people_of_section(1, 0, 500), people_of_section(2, 0, 200));
  const size_t begin = page.find(">mood<");
  ASSERT_NE(begin, page.npos) << page;
  const std::string row = page.substr(begin, page.find("</tr>", begin) - begin), tenth = ">10.0 %<";
  EXPECT_NE(row.find(tenth), row.npos) << row;
  EXPECT_NE(row.find(tenth), row.rfind(tenth)) << row;
}

// A column may have drifted in its values and in how many are missing.
TEST(DataSection, AColumnHasTheFurthestOfItsDriftsAndComesByIt) {
  const auto table = [](uint64_t seed, int heavier, int missing_each, int silent_each) {
    Philox random(seed);
    std::string text = "both,missing,none\n";
    for (int i = 0; i < 1000; ++i) {
      const bool gone = i % missing_each == 0, silent = i % silent_each == 0;
      text += cat(gone ? "" : cat(heavier + static_cast<int>(random.below(1000))), ",",
                  silent ? "" : cat(random.below(1000)), ",", random.below(1000), "\n");
    }
    return parse_csv(text, {.header = CsvHeader::kYes});
  };
  const CsvTable train = table(1, 0, 20, 20), now = table(2, 600, 8, 3);
  std::map<std::string, std::pair<bool, double>> furthest;
  int drifts_of_both = 0;
  for (const ColumnDrift& drift : find_drift(train, now)) {
    auto& place = furthest[drift.column];
    place = std::max(place, std::pair(drift.drifted, drift.effect));
    drifts_of_both += drift.column == "both" && drift.drifted;
  }
  ASSERT_EQ(drifts_of_both, 2);
  const DataSpreads spreads = spreads_of(train, now);
  std::vector<std::string> order;
  for (const ColumnSpread& column : spreads.columns) {
    ASSERT_TRUE(column.drift) << column.name;
    EXPECT_EQ(std::pair(column.drift->drifted, column.drift->effect), furthest.at(column.name))
        << column.name;
    order.push_back(column.name);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"both", "missing", "none"}));
}

TEST(DataSection, NoValueOfFewRowsIsInIt) {
  for (const int heavier : {0, 20}) {
    const std::string page = page_of(people_of_section(1), people_of_section(2, heavier));
    EXPECT_FALSE(has(page, "Hamlet"));
    EXPECT_FALSE(has(page, "987654"));
    EXPECT_FALSE(has(page, "988"));
  }
  const CsvTable small = parse_csv("city,x\nHamlet,1\nOslo,2\n", {.header = CsvHeader::kYes});
  EXPECT_FALSE(has(page_of(small, small), "Hamlet"));
}

TEST(DataSection, NoValueIsNamedThatHasFewRowsInOneOfTheTables) {
  const auto towns = [](int oslo, int bonn) {
    std::string text = "town,n\n";
    for (int i = 0; i < oslo + bonn; ++i) text += i < oslo ? "Oslo,1\n" : "Bonn,1\n";
    return parse_csv(text, {.header = CsvHeader::kYes});
  };
  const auto axis = [&](int oslo, int bonn, int64_t k) {
    return spreads_of(towns(50, 50), towns(oslo, bonn), {.k = k}).columns[0].axis;
  };
  EXPECT_EQ(axis(60, 9, 10), "Oslo, 1 other");
  EXPECT_EQ(axis(60, 10, 10), "Oslo, Bonn");
  EXPECT_EQ(axis(60, 0, 10), "Oslo, Bonn") << "of nobody there is nothing to tell";
  EXPECT_EQ(axis(60, 9, 9), "Oslo, Bonn");
}

TEST(DataSection, OfManyColumnsTheFurthestAreDrawnAndTheRestNamed) {
  const std::string page = page_of(people_of_section(1), people_of_section(2, 20), {.most_columns = 1});
  EXPECT_TRUE(has(page, "Not drawn, and nearer to each other: city, mood.") ||
              has(page, "Not drawn, and nearer to each other: mood, city."))
      << page;
}

TEST(DataSection, ADomainMayHaveOneLimitAlone) {
  tfmd::Schema schema;
  tfmd::Feature &age = *schema.add_feature(), &pay = *schema.add_feature(), &any = *schema.add_feature();
  age.set_name("age");
  age.mutable_int_domain()->set_max(90);
  pay.set_name("pay");
  pay.mutable_float_domain()->set_min(1.5);
  any.set_name("any");
  any.mutable_int_domain();
  const auto limits = schema_limits(schema);
  EXPECT_EQ(limits.size(), 2u);
  EXPECT_EQ(limits.at("age").min, std::nullopt);
  EXPECT_EQ(limits.at("age").max, 90);
  EXPECT_EQ(limits.at("pay").min, 1.5);
  EXPECT_EQ(limits.at("pay").max, std::nullopt);
}

TEST(DataSection, LimitsOfASchemaAreDrawnAndSaid) {
  tfmd::Schema schema;
  tfmd::Feature& weight = *schema.add_feature();
  weight.set_name("weight");
  weight.mutable_float_domain()->set_min(50);
  weight.mutable_float_domain()->set_max(1000);
  tfmd::Feature& city = *schema.add_feature();
  city.set_name("city");
  city.set_domain("cities");
  tfmd::StringDomain& cities = *schema.add_string_domain();
  cities.set_name("cities");
  cities.add_value("Oslo");
  schema.add_feature()->set_name("mood");
  EXPECT_EQ(schema_limits(schema).size(), 2u);
  const std::string page =
      page_of(people_of_section(1), people_of_section(2), {.limits = schema_limits(schema)});
  // Weights are even between 40 and 80, of which the hundredth at each end is not drawn: 50 stands at 0.24.
  const size_t mark = page.find("class=\"mark\""), begin = page.rfind("d=\"M", mark) + 4;
  ASSERT_NE(mark, page.npos) << page;
  EXPECT_NEAR(std::stod(page.substr(begin)) / 200, 0.24, 0.02);
  EXPECT_EQ(page.find("class=\"mark\"", mark + 1), page.npos) << "1000 is beyond what is drawn";
  EXPECT_TRUE(has(page, ">50 to 1000<")) << page;
  EXPECT_TRUE(has(page, ">1 value<")) << page;
  EXPECT_TRUE(has(page, "Bonn (not allowed)")) << page;
  EXPECT_FALSE(has(page, "Oslo (not allowed)")) << page;
}

}  // namespace
}  // namespace espalier
