// One answer of all questions: what each names, and in which order.
#include "gate/data_faults.h"

#include <tuple>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/philox.h"
#include "base/rule_of_test.h"

namespace espalier {
namespace {

CsvTable visits(uint64_t seed, int rows, double unit = 1, int unknown = 0, const std::string& word = "") {
  Philox random(seed);
  std::string text = "day,sex,weight,ill\n";
  for (int i = 0; i < rows; ++i) {
    const bool woman = random.below(2);
    const std::string weight =
        woman && static_cast<int>(random.below(100)) < unknown
            ? ""
            : cat((40 + static_cast<double>(random.below(6000000)) / 1e5) * unit, word);
    text += cat("2031-", 10 + seed % 3, "-", 10 + i % 18, ",", woman ? "Female" : "Male", ",", weight, ",",
                random.below(3) ? "no" : "yes", "\n");
  }
  return parse_csv(text, {.header = CsvHeader::kYes});
}

// The warnings.
std::string words_of(const std::vector<DataFault>& faults) {
  std::string out;
  for (const DataFault& fault : faults) {
    if (fault.warning) out += cat(kFaultsOf[static_cast<size_t>(fault.of)], " ", fault.column, "; ");
  }
  return out;
}

TEST(DataFaults, CleanTablesHaveNone) {
  int alarms = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const CsvTable train = visits(3 * seed, 300), now = visits(3 * seed + 1, 300);
    alarms += !find_data_faults(train, &now, {.label = "ill", .groups = {"sex"}}).empty();
  }
  EXPECT_LE(alarms, 5);
}

TEST(DataFaults, WarningsComeInTheOrderOfTheQuestions) {
  const CsvTable train = visits(1, 600, 1, 30), units = visits(2, 600, 1000);
  EXPECT_EQ(words_of(find_data_faults(train, nullptr, {.label = "ill", .groups = {"sex"}})),
            "groups weight; ");
  EXPECT_EQ(words_of(find_data_faults(train, &units, {.label = "ill", .groups = {"sex"}})),
            "range weight; drift weight; drift weight; groups weight; ");
  const CsvTable words = visits(4, 600, 1, 30, " kg");
  const std::vector<DataFault> faults = find_data_faults(train, &words, {.label = "ill"});
  ASSERT_FALSE(faults.empty());
  EXPECT_TRUE(faults[0].text.ends_with(" cells are of another form than in the training rows"))
      << faults[0].text;
}

TEST(DataFaults, AFewRowsFarOutAreWorthALook) {
  const CsvTable train = visits(1, 600);
  CsvTable now = visits(2, 600);
  std::string text = "day,sex,weight,ill\n";
  for (int64_t i = 0; i < now.rows(); ++i) {
    text += cat(now.cell(i, 0), ",", now.cell(i, 1), ",", i < 2 ? "500" : std::string(now.cell(i, 2)), ",",
                now.cell(i, 3), "\n");
  }
  now = parse_csv(text, {.header = CsvHeader::kYes});
  const std::vector<DataFault> faults = find_data_faults(train, &now, {.label = "ill"});
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_FALSE(faults[0].warning);
  EXPECT_EQ(
      faults[0].text,
      "column \"weight\": 2 of 600 rows lie beyond all training rows by more than the whole range of these");
}

// A word for missing that is given is no value to drift: what drifts is the share of missing cells.
TEST(DataFaults, DriftTakesTheWordsForMissingThatAreGiven) {
  const auto towns = [](int rows, int unknown) {
    std::string text = "town,ill\n";
    for (int i = 0; i < rows; ++i)
      text += cat(i % 10 < unknown ? "nowhere" : i % 3 ? "Oslo" : "Bonn", i % 2 ? ",no\n" : ",yes\n");
    return parse_csv(text, {.header = CsvHeader::kYes});
  };
  const CsvTable train = towns(600, 1), now = towns(600, 5);
  const auto drifts = [&](const MissingWords& missing) {
    std::string out;
    for (const DataFault& fault : find_data_faults(train, &now, {.label = "ill", .missing = missing})) {
      if (fault.of == FaultOf::kDrift) out += fault.text;
    }
    return out;
  };
  EXPECT_NE(drifts(ColumnOptions{}.missing).find("town=nowhere was 0.100"), std::string::npos);
  const std::string given = drifts({"", "nowhere"});
  EXPECT_EQ(given.find("nowhere"), std::string::npos) << given;
  EXPECT_NE(given.find("was missing in 0.100 of the rows and is in 0.500"), std::string::npos) << given;
}

// 200 rows of a town in one table, none in the other: it is frequent enough to be named.
TEST(DataFaults, DriftNamesAValueThatCameUpOrVanished) {
  const auto towns = [](int of) {
    std::string text = "town,ill\n";
    for (int i = 0; i < 600; ++i)
      text += cat(i % of == 2 ? "Rome" : i % of == 1 ? "Oslo" : "Bonn", i % 4 < 2 ? ",no\n" : ",yes\n");
    return parse_csv(text, {.header = CsvHeader::kYes});
  };
  const CsvTable with = towns(3), without = towns(2);
  const auto drift = [](const CsvTable& train, const CsvTable& now, int64_t k) {
    std::string out;
    for (const DataFault& fault : find_data_faults(train, &now, {.label = "ill", .k = k})) {
      if (fault.of == FaultOf::kDrift) out += fault.text;
    }
    return out;
  };
  for (const auto& [train, now, said] : {std::tuple(&with, &without, " was 0.333 of the rows and is 0.000"),
                                         {&without, &with, " was 0.000 of the rows and is 0.333"}}) {
    for (const int64_t k : {10, 200}) {
      const std::string text = drift(*train, *now, k);
      EXPECT_NE(text.find(cat("town=Rome", said)), std::string::npos) << text << " for " << said;
    }
    const std::string rare = drift(*train, *now, 201);
    EXPECT_NE(rare.find(cat("town=(rare)", said)), std::string::npos) << rare << " for " << said;
    EXPECT_EQ(rare.find("Rome"), std::string::npos) << rare;
  }
}

TEST(DataFaults, NewRowsMayLackTheLabelOrAnything) {
  const CsvTable train = visits(1, 300);
  const CsvTable unlabelled = parse_csv("day,sex,weight\n2031-01-02,Female,70.5\n");
  EXPECT_EQ(words_of(find_data_faults(train, &unlabelled, {.label = "ill", .groups = {"sex"}})),
            "schema ill; ");
  std::string known = "day,sex,weight\n";
  for (int64_t i = 0; i < 100; ++i)
    known += cat(train.cell(i, 0), ",", train.cell(i, 1), ",", train.cell(i, 2), "\n");
  const CsvTable repeated = parse_csv(known, {.header = CsvHeader::kYes});
  EXPECT_EQ(words_of(find_data_faults(train, &repeated, {.label = "ill", .groups = {"sex"}})),
            "schema ill; leak ; ");
  const CsvTable others = parse_csv("a,b\n1,2\n");
  const std::string text = words_of(find_data_faults(train, &others, {.label = "ill", .groups = {"sex"}}));
  EXPECT_TRUE(text.starts_with("schema day; schema sex; schema weight; schema ill; schema a; schema b; "))
      << text;
  EXPECT_EQ(rule_of([&] { find_data_faults(train, nullptr, {.label = "none"}); }), "csv.column");
}

}  // namespace
}  // namespace espalier
