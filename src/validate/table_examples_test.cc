// TFRecords of tf.Example: against tests/golden/tfdv_examples.py, and what is wrong with them.
#include "validate/table_examples.h"

#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/scratch_test.h"
#include "espalier/error.h"
#include "espalier/threads.h"
#include "format/gzip.h"
#include "format/tfrecord.h"
#include "ir/golden_test.h"
#include "validate/statistics.h"
#include "validate/statistics_alike_test.h"
#include "validate/tfmd/example.pb.h"

namespace espalier {
namespace {

using tensorflow::Example;
using tensorflow::Feature;

std::set<std::string> values_of(const Feature& feature) {
  std::set<std::string> out;
  for (const int64_t value : feature.int64_list().value()) out.insert(cat(value));
  for (const std::string& value : feature.bytes_list().value()) out.insert(value);
  return out;
}

// The numbers of a feature in the rows of the data set "<slice>_value", or in all, sorted.
std::vector<double> table_examples_numbers_of(const std::string& records, const std::string& name,
                                              const std::string& slice, const std::string& data) {
  std::vector<double> out;
  for (const std::string_view record : parse_records(records)) {
    Example example;
    EXPECT_TRUE(example.ParseFromString(std::string(record)));
    auto& features = *example.mutable_features()->mutable_feature();
    const std::string prefix = slice + "_";
    if (data.starts_with(prefix) && !values_of(features[slice]).contains(data.substr(prefix.size())))
      continue;
    for (const int64_t value : features[name].int64_list().value()) out.push_back(static_cast<double>(value));
    for (const float value : features[name].float_list().value()) {
      if (!std::isnan(value)) out.push_back(static_cast<double>(value));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

class Examples : public testing::Test {
 protected:
  TableFile file(const std::string& content) {
    const std::string path = cat(folder_, "/", ++count_, ".tfrecord");
    posix_env().write_file(path, content);
    return {path, cat(count_, ".tfrecord")};
  }
  tfmd::DatasetFeatureStatisticsList list(const std::string& content, const StatisticsOptions& options = {}) {
    return statistics_of_tables({file(content)}, options).list();
  }
  std::string mistake(const std::string& content, const StatisticsOptions& options = {}) {
    try {
      list(content, options);
    } catch (const Error& error) {
      return cat(error.rule(), " ", error.message());
    }
    return "none";
  }
  std::string folder_ =
      fresh_folder(cat("examples-", testing::UnitTest::GetInstance()->current_test_info()->name()));
  int count_ = 0;
};

using Row = std::map<std::string, Feature>;

std::string record(const Row& row) {
  Example example;
  for (const auto& [name, feature] : row) (*example.mutable_features()->mutable_feature())[name] = feature;
  return record_bytes(example.SerializeAsString());
}
Feature ints(const std::vector<int64_t>& values) {
  Feature out;
  out.mutable_int64_list()->mutable_value()->Add(values.begin(), values.end());
  return out;
}
Feature floats(const std::vector<float>& values) {
  Feature out;
  out.mutable_float_list()->mutable_value()->Add(values.begin(), values.end());
  return out;
}
Feature texts(const std::vector<std::string>& values) {
  Feature out;
  out.mutable_bytes_list();
  for (const std::string& value : values) out.mutable_bytes_list()->add_value(value);
  return out;
}

TEST_F(Examples, HaveTensorflowDataValidationsStatistics) {
  const nlohmann::json goldens = read_golden("tfdv_examples.json");
  for (const nlohmann::json& golden : goldens) {
    const std::string packed = unhex(golden.at("records")), records = gunzip(packed);
    StatisticsOptions options{.weight = golden.at("weight"), .slice = golden.at("slice")};
    options.block = 500;
    const auto ours = list(records, options), theirs = statistics_in(golden);
    EXPECT_EQ(metadata_bytes(list(packed, options), MetadataForm::kBinary),
              metadata_bytes(ours, MetadataForm::kBinary));
    ASSERT_EQ(ours.datasets_size(), theirs.datasets_size());
    std::map<std::pair<std::string, std::string>, const tfmd::FeatureNameStatistics*> features;
    std::map<std::string, const tfmd::DatasetFeatureStatistics*> sets;
    for (const auto& data : ours.datasets()) {
      sets[data.name()] = &data;
      for (const auto& feature : data.features()) features[{data.name(), feature.path().step(0)}] = &feature;
    }
    for (const auto& data : theirs.datasets()) {
      ASSERT_TRUE(sets.contains(data.name())) << data.name();
      EXPECT_EQ(sets[data.name()]->num_examples(), data.num_examples());
      EXPECT_EQ(sets[data.name()]->weighted_num_examples(), data.weighted_num_examples());
      EXPECT_GE(sets[data.name()]->features_size(), data.features_size());
      for (const auto& feature : data.features()) {
        const std::string& name = feature.path().step(0);
        const std::pair key(data.name(), name);
        ASSERT_TRUE(features.contains(key)) << name;
        expect_like(*features[key], feature,
                    table_examples_numbers_of(records, name, options.slice, data.name()),
                    cat(data.name(), " ", name));
      }
    }
  }
}

TEST_F(Examples, HaveTheNumberOfTheirValues) {
  const auto data =
      list(record({{"a", ints({1, 2, 3})}, {"b", texts({})}}) + record({{"a", ints({})}, {"b", texts({})}}) +
           record({{"a", ints({7})}, {"c", {}}}) + record({}))
          .datasets(0);
  ASSERT_EQ(data.features_size(), 3);
  const tfmd::CommonStatistics& a = data.features(0).num_stats().common_stats();
  EXPECT_EQ(a.num_non_missing(), 3u);
  EXPECT_EQ(a.num_missing(), 1u);
  EXPECT_EQ(a.min_num_values(), 0u);
  EXPECT_EQ(a.max_num_values(), 3u);
  EXPECT_EQ(a.tot_num_values(), 4u);
  EXPECT_FLOAT_EQ(a.avg_num_values(), 4.0f / 3);
  double rows = 0;
  for (const auto& bucket : a.num_values_histogram().buckets()) rows += bucket.sample_count();
  EXPECT_NEAR(rows, 3, 1e-9);
  EXPECT_EQ(data.features(1).string_stats().common_stats().num_non_missing(), 2u);
  EXPECT_EQ(data.features(2).string_stats().common_stats().num_missing(), 4u);
}

TEST_F(Examples, AreEqualForAnyNumberOfThreadsAndBlocks) {
  std::string content;
  for (int i = 0; i < 3000; ++i) {
    // A subnormal number among them, whatever mode the threads are in that compute.
    Row row{{"x", floats({static_cast<float>(i) / 7, 1.6892709e-39f})}, {"k", texts({cat(i % 5)})}};
    if (i % 3) row["y"] = ints(std::vector<int64_t>(static_cast<size_t>(i % 4), i));
    content += record(row);
  }
  std::set<std::string> all;
  const int before = threads();
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    for (const size_t block : {size_t{1}, size_t{5000}, size_t{1} << 20}) {
      StatisticsOptions options{.slice = "k"};
      options.block = block;
      all.insert(metadata_bytes(list(content, options), MetadataForm::kBinary));
    }
  }
  set_threads(before);
  EXPECT_EQ(all.size(), 1u);
}

TEST_F(Examples, SayWhatIsWrongWithThem) {
  const std::string good = record({{"a", ints({1})}, {"w", floats({1})}});
  EXPECT_EQ(mistake(good + record({{"a", floats({1})}})),
            "rows.type 1.tfrecord: record 2: \"a\" has numbers, and whole numbers before");
  // In blocks of one record each, too.
  StatisticsOptions small;
  small.block = 1;
  EXPECT_EQ(mistake(good + good + record({{"a", texts({})}}), small),
            "rows.type 2.tfrecord: record 3: \"a\" has texts, and whole numbers before");
  EXPECT_EQ(mistake((good + good).substr(0, 2 * good.size() - 1)),
            cat("record.size 3.tfrecord: byte ", good.size(), ": a record of ", good.size() - 16, " bytes, ",
                good.size() - 13, " are left for it and its checksum"));
  EXPECT_EQ(mistake(good + good.substr(0, 7)),
            cat("record.size 4.tfrecord: byte ", good.size(), ": a record begins with 12 bytes, 7 are left"));
  std::string damaged = good + good;
  damaged[good.size() + 20] ^= 1;
  EXPECT_EQ(mistake(damaged, small),
            cat("record.checksum 5.tfrecord: byte ", good.size(), ": the checksum of the record is another"));
  EXPECT_EQ(
      mistake(good + record_bytes("\x0a\x05xyz")),
      "examples.record 6.tfrecord: record 2 is no tf.Example (byte 2: a field of 5 bytes where 3 are left)");
  EXPECT_EQ(mistake(good + record({{"w", floats({1, 2})}}), {.weight = "w"}),
            "stats.weight 7.tfrecord: record 2 has 2 weights, a row has one");
  EXPECT_EQ(mistake(good + record({}), {.weight = "w"}),
            "stats.weight 8.tfrecord: record 2: the weight \"\" is not a number from 0 to 1e9");
  EXPECT_THROW(statistics_of_tables({file(good), file("a,b\n1,2\n")}, {}), ValueError);
}

TEST_F(Examples, AreToldFromOtherFiles) {
  const std::string good = record({{"a", ints({1})}});
  EXPECT_EQ(table_form(file(good).path), TableForm::kExamples);
  EXPECT_EQ(table_form(file(record({})).path), TableForm::kExamples);
  EXPECT_EQ(table_form(file("a,b\n1,2\n").path), TableForm::kCsv);
  EXPECT_EQ(table_form(file("").path), TableForm::kCsv);
  tfmd::DatasetFeatureStatisticsList statistics = list(good);
  EXPECT_EQ(table_form(file(metadata_bytes(statistics, MetadataForm::kRecord)).path), TableForm::kCsv);
}

}  // namespace
}  // namespace espalier
