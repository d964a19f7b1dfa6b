#include "validate/infer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "espalier/error.h"
#include "ir/golden_test.h"

namespace espalier {
namespace {

tfmd::DatasetFeatureStatisticsList statistics_of(const std::string& text) {
  tfmd::DatasetFeatureStatisticsList list;
  parse_metadata(text, list);
  return list;
}

std::string inferred(const std::string& statistics, const InferOptions& options = {}) {
  return metadata_bytes(infer_schema(statistics_of(statistics), options), MetadataForm::kText);
}

TEST(InferGoldens, SchemasAreTfdvs) {
  const nlohmann::json golden = read_golden("tfdv_anomalies.json");
  for (const nlohmann::json& each : golden.at("schemas")) {
    const InferOptions options{each.value("max_string_domain_size", 100),
                               each.value("infer_feature_shape", true)};
    EXPECT_EQ(inferred(each.at("statistics"), options), each.at("schema").get<std::string>())
        << options.most_values << options.shapes;
  }
}

TEST(Infer, NamesWithPointsAreWithinStructsOnly) {
  const char* const text =
      "datasets { num_examples: 1 features { name: \"trip\" type: %s struct_stats { common_stats { "
      "num_non_missing: 1 } } } features { name: \"trip.day\" num_stats { common_stats { num_non_missing: 1 "
      "} } "
      "} features { name: \"tripod\" num_stats { common_stats { num_non_missing: 1 } } } }";
  const auto features = [&](const char* type) {
    std::string all = text;
    return infer_schema(statistics_of(all.replace(all.find("%s"), 2, type)));
  };
  EXPECT_EQ(features("STRUCT").feature_size(), 2);
  EXPECT_EQ(features("STRUCT").feature(0).struct_domain().feature(0).name(), "day");
  EXPECT_EQ(features("INT").feature_size(), 3);
}

TEST(Infer, RefusesStatisticsThatAreNotOfOneDataSet) {
  const auto rule = [](const char* text) {
    try {
      inferred(text);
    } catch (const FormatError& error) {
      return error.rule();
    }
    return std::string("none");
  };
  EXPECT_EQ(rule(""), "statistics.slices");
  EXPECT_EQ(rule("datasets { name: \"a\" } datasets { name: \"b\" }"), "statistics.slices");
  EXPECT_EQ(rule("datasets { name: \"a\" } datasets { name: \"All Examples\" }"), "none");
  EXPECT_EQ(rule("datasets { features { name: \"a\" num_stats {} } features { path { step: \"b\" } num_stats "
                 "{} } }"),
            "statistics.names");
  EXPECT_EQ(rule("datasets { features { name: \"a\" num_stats {} } features { name: \"a\" num_stats {} } }"),
            "statistics.twice");
  EXPECT_EQ(rule("datasets { features { path {} num_stats {} } }"), "statistics.twice");
}

}  // namespace
}  // namespace espalier
