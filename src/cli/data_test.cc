#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli/verb_test.h"
#include "espalier/error.h"
#include "gate/data_tables.h"
#include "tests/shared_data.h"

namespace espalier::cli {
namespace {

const char* const kSchema = R"(feature { name: "age" type: INT presence { min_fraction: 1.0 min_count: 1 }
  shape {} int_domain { min: 17 max: 90 } }
feature { name: "job" type: BYTES presence { min_fraction: 0.9 min_count: 100 } value_count { min: 1 max: 3 }
  domain: "job" drift_comparator { infinity_norm { threshold: 0.01 } } }
feature { name: "paid" type: BYTES bool_domain { true_value: "yes" false_value: "no" } not_in_environment: "serving"
  lifecycle_stage: BETA value_count { min: 1 } }
feature { name: "trip" type: STRUCT struct_domain { feature { name: "fare" type: FLOAT float_domain { min: 0.5
  disallow_nan: true } shape { dim { size: 2 } dim { size: 3 } } } } }
string_domain { name: "job" value: "clerk" value: "smith" }
)";

const char* const kStatistics = R"(datasets { name: "train" num_examples: 1000
  features { path { step: "age" } num_stats { common_stats { num_non_missing: 990 num_missing: 10 }
    mean: 38.581647 std_dev: 13.64 num_zeros: 2 min: 17 median: 37 max: 17031081000 } }
  features { name: "job" type: STRING string_stats { common_stats { num_non_missing: 1000 } unique: 2
    top_values { value: "clerk" frequency: 700 } avg_length: 5.5 } }
  features { name: "raw" type: BYTES bytes_stats { common_stats { num_missing: 3 } unique: 7 } } }
)";

TEST(DataSchema, IsATable) {
  const std::string table =
      "feature    type    presence             valency    domain                       notes\n"
      "---------  ------  -------------------  ---------  ---------------------------  "
      "------------------------\n"
      "age        INT     required             1          17 to 90\n"
      "job        BYTES   in 90.0 %, 100 rows  1 to 3     job: 2 values: clerk, smith  drift L-infinity <= "
      "0.01\n"
      "paid       BYTES   optional             1 or more  yes or no                    BETA; not in serving\n"
      "trip       STRUCT  optional             any        1 feature\n"
      "trip.fare  FLOAT   optional             [2,3]      0.5 or more, no nan\n"
      "next: espalier data validate --help\n";
  EXPECT_EQ(call_verb(add_data, {"schema", "-", "--show"}, kSchema), table);
  EXPECT_EQ(call_verb(add_data, {"schema", "-"}, "feature { name: \"x\\007\" domain: \"away\" }"),
            "feature  type  presence  valency  domain\n"
            "-------  ----  --------  -------  -----------------------\n"
            "x?          -  optional  any      away: not in the schema\n"
            "next: espalier data validate --help\n");
}

TEST(DataStats, AreTables) {
  EXPECT_EQ(call_verb(add_data, {"stats", "-"}, kStatistics),
            "train: 1000 rows, 3 features\n"
            "\n"
            "feature  count  missing     mean  deviation  zeros  min  median          max\n"
            "-------  -----  -------  -------  ---------  -----  ---  ------  -----------\n"
            "age        990       10  38.5816      13.64      2   17      37  17031081000\n"
            "\n"
            "feature  type    count  missing  unique  top    times  mean bytes\n"
            "-------  ------  -----  -------  ------  -----  -----  ----------\n"
            "job      STRING   1000        0       2  clerk    700         5.5\n"
            "raw      BYTES       0        3       7  -          -           0\n"
            "next: espalier data stats --help\n");
}

TEST(DataVerb, ConvertsBetweenTextAndBytes) {
  const std::string folder = fresh_folder("data-verb"), text = folder + "/schema.pbtxt";
  write_file(text, kSchema);
  EXPECT_TRUE(is_next(call_verb(add_data, {"schema", text, "--out", folder + "/schema.pb"})));
  EXPECT_TRUE(
      is_next(call_verb(add_data, {"schema", folder + "/schema.pb", "--out", folder + "/again.pbtxt"})));
  tfmd::Schema first, second;
  read_metadata(text, first);
  read_metadata(folder + "/schema.pb", second);
  EXPECT_EQ(metadata_bytes(first, MetadataForm::kText), posix_env().read_file(folder + "/again.pbtxt"));
  EXPECT_EQ(metadata_bytes(first, MetadataForm::kBinary), posix_env().read_file(folder + "/schema.pb"));
  // What is read is not written over, and the name must say how to write.
  EXPECT_THROW(call_verb(add_data, {"schema", text, "--out", text}), ValueError);
  EXPECT_THROW(call_verb(add_data, {"schema", text, "--out", folder + "/schema.csv"}), ValueError);
}

TEST(DataVerb, JsonHasTheFields) {
  const auto schema = nlohmann::json::parse(call_verb(add_data, {"schema", "-", "--json"}, kSchema));
  EXPECT_EQ(schema.at("verb"), "data schema");
  EXPECT_EQ(schema.at("schema").at("feature").at(0).at("int_domain").at("max"), 90);
  const auto stats = nlohmann::json::parse(call_verb(add_data, {"stats", "-", "--json"}, kStatistics));
  EXPECT_EQ(stats.at("stats").at("datasets").at(0).at("features").at(0).at("num_stats").at("num_zeros"), 2);
}

TEST(DataVerb, RefusesWhatHoldsNothingOrSomethingElse) {
  EXPECT_THROW(call_verb(add_data, {"schema", "-"}, ""), FormatError);
  EXPECT_THROW(call_verb(add_data, {"schema", "-"}, "data_missing: true"), FormatError);
  EXPECT_THROW(call_verb(add_data, {"stats", "-"}, ""), FormatError);
  EXPECT_THROW(call_verb(add_data, {"stats", "/nowhere/x.pb"}), IoError);
  EXPECT_THROW(call_verb(add_data, {}), CLI::RequiredError);
}

TEST(DataVerb, TaxisSchemaAndStatisticsAreShown) {
  const std::string folder = shared_data("tfmd/");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const std::string schema = call_verb(add_data, {"schema", folder + "taxi-schema.pbtxt", "--show"});
  EXPECT_NE(schema.find("\nfare "), std::string::npos) << schema;
  EXPECT_NE(schema.find("\nnext: "), std::string::npos) << schema;
  const std::string stats = call_verb(add_data, {"stats", folder + "taxi-train-FeatureStats.pb", "--show"});
  EXPECT_TRUE(stats.starts_with("10036 rows, 18 features\n\nfeature ")) << stats;
}

}  // namespace
}  // namespace espalier::cli
