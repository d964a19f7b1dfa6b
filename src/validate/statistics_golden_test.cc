// Statistics against those of tests/golden/tfdv_stats.py, and against those that lie beside the shared
// tables.
#include <algorithm>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "base/scratch_test.h"
#include "ir/golden_test.h"
#include "tests/shared_data.h"
#include "validate/infer.h"
#include "validate/statistics.h"
#include "validate/statistics_alike_test.h"

namespace espalier {
namespace {

using nlohmann::json;

// Sorted, of the rows that are in the data set "<slice>_value", or of all.
std::vector<double> column_of(const CsvTable& table, const tfmd::FeatureNameStatistics& feature,
                              const std::string& slice, const std::string& data) {
  const bool whole = feature.type() == tfmd::FeatureNameStatistics::INT;
  const int64_t column = table.column(feature.path().step(0));
  std::vector<double> out;
  for (int64_t row = 0; row < table.rows(); ++row) {
    if (!slice.empty() && data != "All Examples" &&
        data != cat(slice, "_", table.cell(row, table.column(slice))))
      continue;
    if (const auto value = table.number(row, column))
      out.push_back(whole ? *value : static_cast<double>(static_cast<float>(*value)));
  }
  std::sort(out.begin(), out.end());
  return out;
}

void expect_data_like(const tfmd::DatasetFeatureStatistics& ours,
                      const tfmd::DatasetFeatureStatistics& theirs, const CsvTable& table,
                      const std::string& slice = "") {
  EXPECT_EQ(ours.name(), theirs.name());
  EXPECT_EQ(ours.num_examples(), theirs.num_examples());
  EXPECT_EQ(ours.weighted_num_examples(), theirs.weighted_num_examples());
  ASSERT_EQ(ours.features_size(), theirs.features_size());
  for (int i = 0; i < ours.features_size(); ++i) {
    const tfmd::FeatureNameStatistics& mine = ours.features(i);
    const tfmd::FeatureNameStatistics& other = theirs.features(i);
    const std::string what = cat(ours.name(), " ", mine.path().step(0));
    expect_like(mine, other, column_of(table, mine, slice, ours.name()), what);
  }
}

TEST(StatisticsGoldens, OfGeneratedTablesAreTensorflowDataValidations) {
  const std::string path = fresh_folder("statistics-goldens") + "/table.csv";
  const json goldens = read_golden("tfdv_stats.json");
  for (const json& golden : goldens.at("generated")) {
    const std::string text = golden.at("text");
    posix_env().write_file(path, text);
    StatisticsOptions options{.csv = {.delimiter = ',', .header = CsvHeader::kYes}};
    options.weight = golden.at("weight");
    options.slice = golden.at("slice");
    const auto ours = statistics_of_tables({{path, path}}, options).list();
    const auto theirs = statistics_in(golden);
    const CsvTable table = parse_csv(text, options.csv);
    ASSERT_EQ(ours.datasets_size(), theirs.datasets_size());
    std::map<std::string, const tfmd::DatasetFeatureStatistics*> by_name;
    for (const auto& data : theirs.datasets()) by_name[data.name()] = &data;
    for (const auto& data : ours.datasets()) {
      ASSERT_TRUE(by_name.contains(data.name())) << data.name();
      expect_data_like(data, *by_name[data.name()], table, options.slice);
    }
  }
}

// A file of one header and every second line after it, from line `part` on.
std::string every_second_line(const std::string& path, size_t part) {
  const std::string text = posix_env().read_file(path);
  std::string kept;
  size_t line = 0;
  for (size_t at = 0, end; at < text.size(); at = end, ++line) {
    end = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (line == 0 || (line - 1) % 2 == part) kept += text.substr(at, end - at);
  }
  const std::string out = fresh_folder("statistics-parts") + "/table.csv";
  posix_env().write_file(out, kept);
  return out;
}

TEST(StatisticsGoldens, OfSharedTablesAndTheirSchemasAreTensorflowDataValidations) {
  const std::string shared = shared_data("");
  if (!std::filesystem::exists(shared)) GTEST_SKIP() << shared << " is not there";
  const json goldens = read_golden("tfdv_stats.json");
  for (const json& golden : goldens.at("shared")) {
    std::string path = shared + golden.at("file").get<std::string>();
    SCOPED_TRACE(path);
    if (golden.contains("part")) path = every_second_line(path, golden.at("part"));
    StatisticsOptions options{.csv = {.delimiter = ','}};
    options.csv.names = golden.at("names").get<std::vector<std::string>>();
    options.csv.header = options.csv.names.empty() ? CsvHeader::kYes : CsvHeader::kNo;
    const auto ours = statistics_of_tables({{path, path}}, options).list();
    expect_data_like(ours.datasets(0), statistics_in(golden).datasets(0), read_csv(path, options.csv));
    tfmd::Schema schema;
    parse_metadata(unhex(golden.at("schema")), schema);
    EXPECT_EQ(metadata_bytes(infer_schema(ours), MetadataForm::kText),
              metadata_bytes(schema, MetadataForm::kText));
  }
}

// Two statistics of parts of a table, by the number of their rows.
struct Merged {
  uint64_t present = 0, values = 0, zeros = 0;
  double min = 0, max = 0, mean = 0, square = 0;
  std::map<std::string, double> counts;
  double length = 0;
};
void add(Merged& to, const tfmd::FeatureNameStatistics& feature) {
  const bool number = feature.has_num_stats();
  const tfmd::CommonStatistics& common =
      number ? feature.num_stats().common_stats() : feature.string_stats().common_stats();
  const auto n = static_cast<double>(common.tot_num_values()), before = static_cast<double>(to.values);
  to.present += common.num_non_missing();
  if (number && n > 0) {
    const tfmd::NumericStatistics& stats = feature.num_stats();
    to.min = before ? std::min(to.min, stats.min()) : stats.min();
    to.max = before ? std::max(to.max, stats.max()) : stats.max();
    to.zeros += stats.num_zeros();
    const double shift = stats.mean() - to.mean, all = n + before;
    to.square += n * stats.std_dev() * stats.std_dev() + shift * shift * n * before / all;
    to.mean += shift * n / all;
  }
  for (const auto& bucket : feature.string_stats().rank_histogram().buckets())
    to.counts[bucket.label()] += bucket.sample_count();
  to.length += n * static_cast<double>(feature.string_stats().avg_length());
  to.values += common.tot_num_values();
}

TEST(StatisticsGoldens, OfTheSharedTaxisTwoPartsMergeToOursOfAll) {
  const std::string shared = shared_data(""), path = shared + "tabular/chicago_taxi.csv";
  if (!std::filesystem::exists(shared + "tfmd")) GTEST_SKIP() << shared << "tfmd is not there";
  std::map<std::string, Merged> merged;
  uint64_t rows = 0;
  for (const char* part : {"train", "eval"}) {
    tfmd::DatasetFeatureStatisticsList list;
    read_metadata(cat(shared, "tfmd/taxi-", part, "-FeatureStats.pb"), list);
    rows += list.datasets(0).num_examples();
    for (const auto& feature : list.datasets(0).features()) add(merged[feature.path().step(0)], feature);
  }
  StatisticsOptions options;
  options.empty.present = true;
  const auto ours = statistics_of_tables({{path, path}}, options).list().datasets(0);
  EXPECT_EQ(ours.num_examples(), rows);
  EXPECT_EQ(static_cast<size_t>(ours.features_size()), merged.size());
  for (const auto& feature : ours.features()) {
    const std::string name = feature.path().step(0);
    const Merged& theirs = merged.at(name);
    Merged mine;
    add(mine, feature);
    EXPECT_EQ(mine.present, theirs.present) << name;
    EXPECT_EQ(mine.values, theirs.values) << name;
    EXPECT_EQ(mine.zeros, theirs.zeros) << name;
    EXPECT_EQ(mine.min, theirs.min) << name;
    EXPECT_EQ(mine.max, theirs.max) << name;
    EXPECT_NEAR(mine.mean, theirs.mean, 1e-9 * std::abs(theirs.mean)) << name;
    // Theirs are means of squares less the square of the mean, as f64 has them.
    const double lost = 0x1p-51 * static_cast<double>(theirs.values) * theirs.mean * theirs.mean;
    EXPECT_NEAR(mine.square, theirs.square, 2e-9 * theirs.square + lost) << name;
    EXPECT_EQ(mine.counts, theirs.counts) << name;
    EXPECT_NEAR(mine.length, theirs.length, 1e-6 * theirs.length) << name;
    if (feature.has_string_stats()) {
      EXPECT_EQ(feature.string_stats().unique(), theirs.counts.size()) << name;
    }
  }
}

}  // namespace
}  // namespace espalier
