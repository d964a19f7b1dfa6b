// Anomalies against those of TensorFlow Data Validation in tests/golden/tfdv_anomalies.py. docs/anomalies.md
// names the tests by the types that they plant.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "base/env.h"
#include "base/format.h"
#include "espalier/error.h"
#include "ir/golden_test.h"
#include "tests/shared_data.h"
#include "validate/anomalies.h"
#include "validate/infer.h"
#include "validate/statistics_view.h"

namespace espalier {
namespace {

using nlohmann::json;
using Info = tfmd::AnomalyInfo;

template <class Message>
Message parsed(const std::string& text) {
  Message message;
  parse_metadata(text, message);
  return message;
}

struct Case {
  tfmd::Schema schema;
  std::map<std::string, tfmd::DatasetFeatureStatisticsList> lists;
  ValidateInputs inputs;
};

std::unique_ptr<Case> case_of(const json& golden) {
  auto out = std::make_unique<Case>();
  out->schema = parsed<tfmd::Schema>(golden.at("schema"));
  for (const char* key : {"statistics", "previous", "serving", "version"}) {
    if (golden.contains(key)) out->lists[key] = parsed<tfmd::DatasetFeatureStatisticsList>(golden.at(key));
  }
  const auto statistics = [&](const char* key) {
    return out->lists.contains(key) ? &all_examples(out->lists.at(key)) : nullptr;
  };
  out->inputs = {statistics("statistics"), statistics("previous"), statistics("serving"),
                 statistics("version")};
  if (golden.contains("environment")) out->inputs.environment = golden.at("environment").get<std::string>();
  return out;
}

void take_distances(const tfmd::Anomalies& theirs, tfmd::Anomalies& ours) {
  ASSERT_EQ(ours.drift_skew_info_size(), theirs.drift_skew_info_size());
  const auto take = [](const auto& from, auto& to) {
    ASSERT_EQ(from.size(), to.size());
    for (int i = 0; i < from.size(); ++i) {
      EXPECT_NEAR(to[i].value(), from[i].value(), 1e-9);
      to[i].set_value(from[i].value());
    }
  };
  for (int i = 0; i < ours.drift_skew_info_size(); ++i) {
    tfmd::DriftSkewInfo& info = *ours.mutable_drift_skew_info(i);
    take(theirs.drift_skew_info(i).drift_measurements(), *info.mutable_drift_measurements());
    take(theirs.drift_skew_info(i).skew_measurements(), *info.mutable_skew_measurements());
  }
}

std::set<FeaturePath> paths_of(const Validation& validation) {
  std::set<FeaturePath> out;
  for (const FeatureAnomaly& anomaly : validation.features) out.insert(anomaly.path);
  return out;
}

// Codes, severities, both descriptions, paths, distances; and the schema that TFDV makes of it.
void expect_tfdvs(const json& golden) {
  SCOPED_TRACE(golden.at("name").get<std::string>());
  const std::unique_ptr<Case> given = case_of(golden);
  const Validation validation = validate(given->schema, given->inputs);
  tfmd::Anomalies ours = anomalies_of(validation, given->schema);
  ours.clear_baseline_schema();
  const std::string theirs = golden.at("anomalies");
  if (!theirs.empty()) take_distances(parsed<tfmd::Anomalies>(theirs), ours);
  EXPECT_EQ(metadata_bytes(ours, MetadataForm::kText), theirs);
  for (const FeatureAnomaly& anomaly : validation.features) {
    EXPECT_FALSE(anomaly.fix.empty()) << path_text(anomaly.path);
    for (const AnomalyReason& reason : anomaly.reasons) EXPECT_NE(reason.observed, "") << reason.brief;
  }
  // What has no anomaly stays as it is, while TFDV clears in silence what contradicts itself.
  const tfmd::Schema fixed = fixed_schema(given->schema, given->inputs, paths_of(validation), false, "");
  const std::string text = metadata_bytes(fixed, MetadataForm::kText);
  if (validation.features.empty()) {
    EXPECT_EQ(text, metadata_bytes(given->schema, MetadataForm::kText));
  } else if (golden.contains("fixed") && !golden.at("fixed").is_null()) {
    EXPECT_EQ(text, golden.at("fixed").get<std::string>());
  }
}

const json& golden() {
  static const json all = read_golden("tfdv_anomalies.json");
  return all;
}

// "INT_TYPE_BIG_INT text" plants INT_TYPE_BIG_INT.
std::string planted_type(const json& each) {
  const std::string name = each.at("name");
  return name.substr(0, name.find(' '));
}

std::vector<std::string> all_types() {
  const auto& type = *Info::Type_descriptor();
  std::vector<std::string> out;
  for (int i = 0; i < type.value_count(); ++i) out.push_back(type.value(i)->name());
  return out;
}

std::vector<std::string> planted_types() {
  std::vector<std::string> out = all_types();
  if (std::filesystem::exists("tests/golden/tfdv_anomalies.json"))
    std::erase_if(out, [](const std::string& type) {
      return std::ranges::none_of(golden().at("anomalies"),
                                  [&](const json& each) { return planted_type(each) == type; });
    });
  return out;
}

class Anomaly : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(, Anomaly, testing::ValuesIn(planted_types()),
                         [](const auto& info) { return info.param; });

TEST_P(Anomaly, IsTfdvs) {
  for (const json& each : golden().at("anomalies")) {
    if (planted_type(each) == GetParam()) expect_tfdvs(each);
  }
}

TEST(AnomalyGoldens, CleanAndMixedCasesAreTfdvs) {
  for (const json& each : golden().at("anomalies")) {
    Info::Type type;
    if (!Info::Type_Parse(planted_type(each), &type)) expect_tfdvs(each);
  }
}

TEST(AnomalyGoldens, DrawnFeaturesAndConstraintsAreJudgedAsTfdvJudgesThem) {
  for (const json& each : golden().at("random")) expect_tfdvs(each);
}

// Those that tfdv_anomalies.py OUT.json N draws.
TEST(AnomalyGoldens, MoreDrawnCasesAreJudgedAsTfdvJudgesThemSlow) {
  const char* const path = std::getenv("ESPALIER_TFDV_CASES");
  if (!path) GTEST_SKIP() << "ESPALIER_TFDV_CASES names no file";
  std::ifstream file(path);
  const json drawn = json::parse(file);
  for (const json& each : drawn.at("random")) expect_tfdvs(each);
}

// The cells of the table's row for each type.
std::map<std::string, std::vector<std::string>> documented() {
  std::map<std::string, std::vector<std::string>> out;
  std::ifstream file("docs/anomalies.md");
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, '|');) cells.push_back(cell);
    if (cells.size() != 5) continue;
    for (std::string& cell : cells) {
      const size_t first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
      cell = first == std::string::npos ? "" : cell.substr(first, last - first + 1);
    }
    out[cells[1]] = {cells.begin() + 2, cells.end()};
  }
  return out;
}

bool exists(const std::string& test) {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      if (suite.name() + std::string(".") + suite.GetTestInfo(j)->name() == test) return true;
    }
  }
  return false;
}

TEST(AnomalyDocs, NameATestOfEachTypeThatIsPlanted) {
  const auto rows = documented();
  for (const std::string& type : all_types()) {
    if (type == "UNKNOWN_TYPE") continue;
    ASSERT_TRUE(rows.contains(type)) << type;
    const bool planted = std::ranges::any_of(golden().at("anomalies"), [&](const json& each) {
      const std::string said = type == "MULTIPLE_REASONS" ? "Multiple errors" : type;
      return planted_type(each) == type && each.at("anomalies").get<std::string>().find(said) != said.npos;
    });
    const std::string test = rows.at(type)[2];
    EXPECT_EQ(test, planted ? "`Anomaly.IsTfdvs/" + type + "`" : "-");
    if (planted) {
      EXPECT_TRUE(exists(test.substr(1, test.size() - 2))) << test;
    }
  }
}

uint32_t checksum(const google::protobuf::Message& message) {
  const std::string text = metadata_bytes(message, MetadataForm::kText);
  return crc32_of(text.data(), text.size());
}

TEST(AnomalyShared, TaxisSchemasAndAnomaliesAreTfdvs) {
  const std::string folder = shared_data("tfmd/");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  std::map<std::string, tfmd::DatasetFeatureStatisticsList> parts;
  for (const char* part : {"train", "eval"})
    read_metadata(cat(folder, "taxi-", part, "-FeatureStats.pb"), parts[part]);
  for (const std::string part : {"train", "eval"}) {
    const std::string other = part == "train" ? "eval" : "train";
    const tfmd::Schema schema = infer_schema(parts[part]);
    EXPECT_EQ(checksum(schema), golden().at("shared").at(cat("schema of ", part))) << schema.DebugString();
    tfmd::Anomalies anomalies = anomalies_of(validate(schema, {&all_examples(parts[other])}), schema);
    EXPECT_FALSE(anomalies.anomaly_info().empty());
    anomalies.clear_baseline_schema();
    EXPECT_EQ(checksum(anomalies), golden().at("shared").at(cat("anomalies of ", other)))
        << anomalies.DebugString();
  }
}

TEST(AnomalyShared, DriftAndSkewOfTaxisTwoPartsAreTfdvs) {
  const std::string folder = shared_data("tfmd/");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  for (json each : golden().at("distances")) {
    for (const char* key : {"statistics", "previous", "serving"})
      each[key] =
          posix_env().read_file(cat(folder, "taxi-", each.at(key).get<std::string>(), "-FeatureStats.pb"));
    expect_tfdvs(each);
  }
}

const char* const kSchema =
    R"(feature { name: "age" type: INT int_domain { max: 90 } presence { min_fraction: 1 } }
feature { name: "job" type: BYTES domain: "jobs" } feature { name: "paid" type: INT }
string_domain { name: "jobs" value: "clerk" } default_environment: "serving"
dataset_constraints { min_examples_count: 11 })";
const char* const kStatistics = R"(datasets { num_examples: 10
  features { name: "age" type: INT num_stats { common_stats { num_non_missing: 10 } min: 17 max: 99 } }
  features { name: "job" type: STRING string_stats { common_stats { num_non_missing: 10 tot_num_values: 10 }
    rank_histogram { buckets { label: "smith" sample_count: 10 } } } }
  features { name: "new" type: INT num_stats { common_stats { num_non_missing: 10 } max: 5 } } })";

TEST(Anomalies, SayWhatWasObservedTheLimitAndTheFix) {
  const auto schema = parsed<tfmd::Schema>(kSchema);
  const auto list = parsed<tfmd::DatasetFeatureStatisticsList>(kStatistics);
  const Validation found = validate(schema, {&all_examples(list)});
  ASSERT_EQ(found.features.size(), 3u);
  const FeatureAnomaly& age = found.features[0];
  EXPECT_EQ(age.reasons[0].observed, "99");
  EXPECT_EQ(age.reasons[0].limit, "<= 90");
  ASSERT_EQ(age.fix.size(), 1u);
  EXPECT_EQ(age.fix[0].removed, std::vector<std::string>{"    max: 90"});
  EXPECT_EQ(age.fix[0].added, std::vector<std::string>{"    max: 99"});
  EXPECT_EQ(found.features[1].reasons[0].observed, "smith (~100%)");
  EXPECT_EQ(found.dataset.value().reasons[0].limit, "11 or more");
  EXPECT_TRUE(found.has_errors());
}

TEST(Anomalies, FixesAreOfTheFeaturesAskedForAndKeepTheReason) {
  const auto schema = parsed<tfmd::Schema>(kSchema);
  const auto list = parsed<tfmd::DatasetFeatureStatisticsList>(kStatistics);
  const ValidateInputs inputs = {&all_examples(list)};
  const tfmd::Schema one = fixed_schema(schema, inputs, {{"age"}}, false, "older people came");
  EXPECT_EQ(one.feature(0).int_domain().max(), 99);
  EXPECT_EQ(one.feature(0).annotation().comment(0), "INT_TYPE_BIG_INT: older people came");
  EXPECT_EQ(one.feature_size(), 3);
  EXPECT_EQ(one.string_domain(0).value_size(), 1);
  EXPECT_EQ(one.dataset_constraints().min_examples_count(), 11);
  const tfmd::Schema all = fixed_schema(schema, inputs, {{"age"}, {"job"}, {"new"}}, true, "more");
  EXPECT_EQ(all.feature(3).annotation().comment(0), "SCHEMA_NEW_COLUMN: more");
  EXPECT_EQ(all.annotation().comment(0), "DATASET_LOW_NUM_EXAMPLES: more");
  EXPECT_TRUE(validate(all, inputs).features.empty());
  EXPECT_FALSE(validate(all, inputs).has_errors());
}

TEST(Anomalies, CanBeWarnings) {
  const auto schema = parsed<tfmd::Schema>("feature { name: \"age\" type: INT }");
  const auto list = parsed<tfmd::DatasetFeatureStatisticsList>(kStatistics);
  const Validation found = validate(
      schema, {.statistics = &all_examples(list), .severities = {{Info::SCHEMA_NEW_COLUMN, Info::WARNING}}});
  ASSERT_EQ(found.features.size(), 2u);
  EXPECT_EQ(found.features[0].severity, Info::WARNING);
  EXPECT_FALSE(found.has_errors());
}

// In whatever order they are found.
TEST(Anomalies, AFeatureIsAsBadAsTheWorstOfItsReasons) {
  const auto schema = parsed<tfmd::Schema>(R"(feature { name: "x" type: INT presence { min_fraction: 1 }
    int_domain { min: 1 max: 5 } })");
  const auto list = parsed<tfmd::DatasetFeatureStatisticsList>(
      R"(datasets { num_examples: 10 features { name: "x" type: INT num_stats {
      common_stats { num_non_missing: 8 num_missing: 2 min_num_values: 1 max_num_values: 1 tot_num_values: 8 }
      mean: 5 std_dev: 2.68 min: 0 max: 9 } } })");
  const Validation all = validate(schema, {.statistics = &all_examples(list)});
  ASSERT_EQ(all.features.size(), 1u);
  const auto& reasons = all.features[0].reasons;
  std::set<Info::Type> types;
  for (const AnomalyReason& reason : reasons) types.insert(reason.type);
  ASSERT_GE(types.size(), 3u);
  std::map<Info::Type, Info::Severity> warnings;
  for (const AnomalyReason& reason : reasons) warnings[reason.type] = Info::WARNING;
  EXPECT_FALSE(validate(schema, {.statistics = &all_examples(list), .severities = warnings}).has_errors());
  for (const AnomalyReason& reason : reasons) {
    auto but_one = warnings;
    but_one.erase(reason.type);
    const Validation found = validate(schema, {.statistics = &all_examples(list), .severities = but_one});
    EXPECT_EQ(found.features[0].severity, Info::ERROR) << reason.brief;
    EXPECT_TRUE(found.has_errors()) << reason.brief;
  }
}

TEST(Anomalies, MeansDeviationsAndZerosHaveLimitsInTags) {
  const auto schema = [](const std::string& tags) {
    return parsed<tfmd::Schema>(cat("feature { name: \"x\" type: INT annotation { ", tags, " } }"));
  };
  // Of 2, 4, 4, 4, 5, 5, 7, 9 the mean is 5 and the deviation 2; with two zeros they are 4 and 2.68.
  const std::string numbers =
      R"(datasets { num_examples: 10 weighted_num_examples: 8 features { name: "x" type: INT
    num_stats { common_stats { num_non_missing: 10 tot_num_values: 10 WEIGHTS } mean: 4 std_dev: 2.68
    num_zeros: 2 max: 9 weighted_numeric_stats { mean: 5 std_dev: 2 } } } })";
  const auto with = [&](const std::string& weights) {
    std::string text = numbers;
    text.replace(text.find("WEIGHTS"), 7, weights);
    return parsed<tfmd::DatasetFeatureStatisticsList>(text);
  };
  const auto plain = with(""),
             weighted = with("weighted_common_stats { num_non_missing: 8 tot_num_values: 8 }");
  const auto said = [&](const std::string& tag, const tfmd::DatasetFeatureStatisticsList& list) {
    const Validation found = validate(schema(cat("tag: \"espalier.", tag, "\"")), {&all_examples(list)});
    return found.features.empty()
               ? std::string()
               : cat(found.features[0].reasons[0].brief, ": ", found.features[0].reasons[0].observed, ", ",
                     found.features[0].reasons[0].limit);
  };
  EXPECT_EQ(said("min_mean=4", plain), "");
  EXPECT_EQ(said("max_mean=4", plain), "");
  EXPECT_EQ(said("min_mean=4.5", plain), "Mean too small: 4, >= 4.5");
  EXPECT_EQ(said("min_mean=4.5", weighted), "");
  EXPECT_EQ(said("max_mean=4.5", weighted), "Mean too large: 5, <= 4.5");
  EXPECT_EQ(said("max_deviation=2.5", plain), "Standard deviation too large: 2.68, <= 2.5");
  EXPECT_EQ(said("max_deviation=2.5", weighted), "");
  EXPECT_EQ(said("max_zeros=0.2", plain), "");
  EXPECT_EQ(said("max_zeros=0.1", plain), "Share of zeros too large: 0.2, <= 0.1");
  EXPECT_EQ(said("min_zeros=0.3", plain), "Share of zeros too small: 0.2, >= 0.3");
  // The fix is the figure of the data.
  const tfmd::Schema tight = schema("tag: \"mine\" tag: \"espalier.max_deviation=2.5\"");
  const ValidateInputs inputs = {&all_examples(plain)};
  const tfmd::Schema fixed = fixed_schema(tight, inputs, {{"x"}}, false, "");
  EXPECT_EQ(fixed.feature(0).annotation().tag(1), "espalier.max_deviation=2.68");
  EXPECT_TRUE(validate(fixed, inputs).features.empty());
  EXPECT_EQ(anomalies_of(validate(tight, inputs), tight).anomaly_info().at("x").reason(0).type(),
            Info::CUSTOM_VALIDATION);
  EXPECT_THROW(validate(schema("tag: \"espalier.max_mean=high\""), inputs), FormatError);
}

TEST(Anomalies, EnvironmentsAreThoseOfTheSchema) {
  const auto schema = parsed<tfmd::Schema>(kSchema);
  const auto list = parsed<tfmd::DatasetFeatureStatisticsList>(kStatistics);
  EXPECT_NO_THROW(validate(schema, {.statistics = &all_examples(list), .environment = "serving"}));
  EXPECT_THROW(validate(schema, {.statistics = &all_examples(list), .environment = "testing"}), ValueError);
}

// TensorFlow Data Validation ends on these.
TEST(Anomalies, WhatNoStatisticsHaveIsNoReasonToEnd) {
  const auto schema = parsed<tfmd::Schema>(
      "feature { name: \"s\" type: STRUCT } feature { name: \"x\" type: FLOAT drift_comparator { "
      "jensen_shannon_divergence { threshold: 0.1 } } int_domain { min: 0 } }");
  const char* const text =
      "datasets { num_examples: 1 weighted_num_examples: 1e300 features { path { step: \"away\" step: \"y\" "
      "} "
      "num_stats { min: nan max: 1e300 common_stats { num_non_missing: 18446744073709551615 } } } features { "
      "path { "
      "step: \"x\" } type: FLOAT num_stats { common_stats { num_non_missing: 1 } histograms { buckets { "
      "low_value: 3 "
      "high_value: 1 sample_count: 1 } buckets { low_value: nan } } } } features { path { step: \"c\" } "
      "custom_stats "
      "{ name: \"missing_value\" num: 1e300 } } }";
  const auto list = parsed<tfmd::DatasetFeatureStatisticsList>(text);
  const tfmd::DatasetFeatureStatistics* data = &all_examples(list);
  const Validation found = validate(schema, {data, data, data, data});
  EXPECT_EQ(found.features.size(), 2u);
  const tfmd::Schema fixed = fixed_schema(schema, {data, data, data, data}, {{"away", "y"}}, true, "");
  EXPECT_EQ(fixed.feature(2).struct_domain().feature(0).name(), "y");
}

}  // namespace
}  // namespace espalier
