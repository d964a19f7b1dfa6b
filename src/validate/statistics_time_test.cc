// Times, and words that mean booleans or numbers, against tests/golden/tfdv_domains.py.
#include "validate/statistics_time.h"

#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "espalier/threads.h"
#include "ir/golden_test.h"
#include "validate/infer.h"
#include "validate/message_text.h"
#include "validate/statistics_tables_test.h"

namespace espalier {
namespace {

using nlohmann::json;

const tfmd::CustomStatistic* custom(const tfmd::FeatureNameStatistics& feature, const char* name) {
  for (const tfmd::CustomStatistic& each : feature.custom_stats()) {
    if (each.name() == name) return &each;
  }
  return nullptr;
}

StatisticsOptions with_domains() {
  StatisticsOptions out = with_header();
  out.semantic_domains = true;
  return out;
}

// The rows of all columns, which end where their values do.
std::string json_lines(const json& columns) {
  std::vector<json> rows(130, json::object());
  for (size_t c = 0; c < columns.size(); ++c) {
    size_t row = 0;
    for (const json& value : columns[c].at("values")) {
      for (int left = value[1].get<int>(); left > 0; --left) rows[row++][cat("c", 1000 + c)] = value[0];
    }
  }
  std::string out;
  for (const json& row : rows) out += row.dump() + "\n";
  return out;
}

TEST(TimeFormats, FitTheTextsThatTheyFitInTfdv) {
  const json golden = read_golden("tfdv_domains.json");
  EXPECT_EQ(time_formats(), golden.at("formats").get<std::vector<std::string>>());
  for (const json& each : golden.at("matches")) {
    std::vector<std::string> fitting;
    for (const std::string& format : time_formats()) {
      if (fits_time_format(format, each[0].get<std::string>())) fitting.push_back(format);
    }
    EXPECT_EQ(fitting, each[1].get<std::vector<std::string>>()) << each[0];
  }
}

TEST(TimeDomains, OfColumnsAndTheirSchemasAreTfdvs) {
  const json columns = read_golden("tfdv_domains.json").at("columns");
  TableFolder folder;
  const TableStatistics statistics = statistics_of_tables({folder.file(json_lines(columns))}, with_domains());
  const auto list = statistics.list();
  const tfmd::Schema schema = infer_schema(list);
  ASSERT_EQ(list.datasets(0).features_size(), static_cast<int>(columns.size()));
  for (int c = 0; c < list.datasets(0).features_size(); ++c) {
    const json& column = columns[static_cast<size_t>(c)];
    const tfmd::FeatureNameStatistics& ours = list.datasets(0).features(c);
    const std::string what = column.dump();
    const auto *domain = custom(ours, "domain_info"), *ratio = custom(ours, "time_match_ratio");
    EXPECT_EQ(domain ? domain->str() : "", column.at("time").get<std::string>()) << what;
    EXPECT_EQ(ratio ? ratio->num() : 0, column.at("ratio").get<double>()) << what;
    if (column.at("several")) continue;
    const tfmd::Feature& feature = schema.feature(c);
    const auto* field = tfmd::Feature::descriptor()->FindFieldByNumber(feature.domain_info_case());
    EXPECT_EQ(field ? field->name() : "", column.at("domain").get<std::string>()) << what;
    if (const std::string theirs = column.at("domain_text"); !theirs.empty()) {
      tfmd::Feature expected;
      parse_message_text(cat(field->name(), " {", theirs, "}"), expected);
      tfmd::Feature mine;
      mine.GetReflection()
          ->MutableMessage(&mine, field)
          ->CopyFrom(feature.GetReflection()->GetMessage(feature, field));
      EXPECT_EQ(mine.DebugString(), expected.DebugString()) << what;
    }
  }
}

std::string dates(int rows, int late) {
  std::string out = "day,rise,unix,part\n";
  for (int row = 0; row < rows; ++row) {
    out += cat("2019-0", 1 + row % 9, "-1", row % 10, ",", row % 24, ":0", row % 10, ",", 1500000000 + row,
               ",", row < late ? cat(1500000000 + row) : cat(row, ".5"), "\n");
  }
  return out;
}

// An empty text in any part of a column says that it is none of times.
TEST(TimeDomains, AnEmptyTextInALaterPartCounts) {
  for (const bool empty : {false, true}) {
    TimeCounts whole, part;
    for (int i = 0; i < 400; ++i) (i < 200 ? whole : part).add("2019-01-02");
    if (empty) part.add("");
    whole.merge(part);
    tfmd::FeatureNameStatistics out;
    whole.fill(400, out);
    EXPECT_EQ(out.custom_stats_size() > 0, !empty);
  }
}

TEST(TimeDomains, AreOfAllRowsForAnyNumberOfThreads) {
  TableFolder folder;
  StatisticsOptions options = with_domains();
  options.block = 1 << 10;
  const TableFile file = folder.file(dates(3000, 2500));
  std::set<std::string> all;
  const int before = threads();
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    all.insert(statistics_of_tables({file}, options).bytes());
  }
  set_threads(before);
  EXPECT_EQ(all.size(), 1u);
  const auto data = statistics_of_tables({file}, options).list().datasets(0);
  const char* const kDomains[] = {"time_domain {string_format: '%Y-%m-%d'}",
                                  "time_domain {string_format: '%H:%M'}", "time_domain {integer_format: 1}"};
  for (int c = 0; c < 3; ++c) {
    ASSERT_TRUE(custom(data.features(c), "domain_info")) << c;
    EXPECT_EQ(custom(data.features(c), "domain_info")->str(), kDomains[c]);
    EXPECT_EQ(custom(data.features(c), "time_match_ratio")->num(), 1);
  }
  // Whole numbers at first, and then others: no times.
  EXPECT_EQ(data.features(3).custom_stats_size(), 0);
  // Nobody asked.
  const auto unasked = data_of(dates(200, 0));
  for (const auto& feature : unasked.features()) EXPECT_EQ(feature.custom_stats_size(), 0);
}

}  // namespace
}  // namespace espalier
