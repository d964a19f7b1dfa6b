#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli/verb_test.h"
#include "espalier/error.h"
#include "validate/metadata_files.h"

namespace espalier::cli {
namespace {

const char* const kDataValidateSchema =
    R"(feature { name: "age" type: INT int_domain { max: 90 } presence { min_fraction: 1.0 } }
feature { name: "job" type: BYTES domain: "jobs" drift_comparator { infinity_norm { threshold: 0.1 } } }
string_domain { name: "jobs" value: "clerk" value: "smith" } default_environment: "training"
)";

std::string statistics(int most, const std::string& job) {
  return cat(R"(datasets { num_examples: 10 features { name: "age" type: INT num_stats { common_stats {
    num_non_missing: 10 tot_num_values: 10 min_num_values: 1 max_num_values: 1 } min: 17 max: )",
             most,
             R"( } } features { name: "job" type: STRING string_stats { common_stats { num_non_missing: 10
    tot_num_values: 10 min_num_values: 1 max_num_values: 1 } unique: 1 rank_histogram { buckets { label: ")",
             job, R"(" sample_count: 10 } } } } })");
}

class DataValidate : public testing::Test {
 protected:
  // A call of `espalier data validate` on these statistics, in the test's folder.
  Outcome call(const std::string& given, const std::string& flags = "") {
    write_file(folder_ + "/data.pbtxt", given);
    return call_command(cat("data validate ", folder_, "/data.pbtxt --schema ", schema_, " ", flags));
  }
  std::string folder_ =
      fresh_folder(cat("data-validate-", testing::UnitTest::GetInstance()->current_test_info()->name()));
  std::string schema_ = write_file(folder_ + "/schema.pbtxt", kDataValidateSchema);
};

TEST_F(DataValidate, OfDataThatFitsSaysSoAndEndsWell) {
  const Outcome outcome = call(statistics(50, "clerk"));
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_TRUE(outcome.output.starts_with("No anomalies: 2 features, 10 rows.\n")) << outcome.output;
}

TEST_F(DataValidate, SaysFirstWhatIsNotAsItShouldBe) {
  const Outcome outcome = call(statistics(99, "baker"));
  EXPECT_EQ(outcome.code, 1) << outcome.error;
  const std::string wanted = cat(
      "2 things are not as the schema says: age (Out-of-range values: 99); job (Unexpected string values: "
      "baker "
      "(~100%)); of 2 features, 10 rows.\n"
      "\n"
      "feature  severity  anomaly                             observed       limit                 fix\n"
      "-------  --------  ----------------------------------  -------------  --------------------  "
      "------------------\n"
      "age      ERROR     INT_TYPE_BIG_INT                    99             <= 90                 max: 90 "
      "-> "
      "max: 99\n"
      "job      ERROR     ENUM_TYPE_UNEXPECTED_STRING_VALUES  baker (~100%)  values of the domain  +value: "
      "\"baker\"\n"
      "next: ",
      build_folder(), "/espalier data validate ", folder_, "/data.pbtxt --schema ", schema_,
      " --apply-fix schema-fixed.pbtxt\n");
  EXPECT_EQ(outcome.output, wanted);
}

// One mistyped cell is no reason to take its column out of the schema.
TEST_F(DataValidate, LeadsToNoFixThatGivesUpAColumnForItsCells) {
  const auto table = [&](const char* name, const char* age, const char* job) {
    std::string text = "age,job\n";
    for (int i = 0; i < 40; ++i)
      text += cat(i == 5 ? age : i % 2 ? "30" : "41", ",", i == 7 ? job : i % 2 ? "clerk" : "smith", "\n");
    return write_file(folder_ + "/" + name, text);
  };
  const auto validated = [&](const std::string& file) {
    return call_command(cat("data validate ", file, " --schema ", schema_)).output;
  };
  const std::string typo = validated(table("typo.csv", "4o", "clerk"));
  EXPECT_NE(
      typo.find("\nThe fix of age takes it out of the schema: where cells are mistyped, mend them in the "
                "file.\nnext: "),
      std::string::npos)
      << typo;
  EXPECT_EQ(typo.find("--apply-fix"), std::string::npos) << typo;
  const std::string both = validated(table("both.csv", "4o", "baker"));
  EXPECT_TRUE(both.ends_with(" --apply-fix schema-fixed.pbtxt --feature job\n")) << both;
  const std::string job = validated(table("job.csv", "30", "baker"));
  EXPECT_EQ(job.find("takes it out"), std::string::npos) << job;
  EXPECT_TRUE(job.ends_with(" --apply-fix schema-fixed.pbtxt\n")) << job;
}

TEST_F(DataValidate, MeasuresDriftWhetherItIsTooMuchOrNot) {
  const std::string before = write_file(folder_ + "/before.pbtxt", statistics(50, "smith"));
  const Outcome outcome = call(statistics(50, "clerk"), "--previous " + before);
  EXPECT_EQ(outcome.code, 1) << outcome.error;
  EXPECT_NE(outcome.output.find("\njob      previous       L_INFTY       1      0.1\n"), std::string::npos)
      << outcome.output;
  EXPECT_NE(call(statistics(50, "smith"), "--previous " + before).output.find("  L_INFTY       0  "),
            std::string::npos);
}

TEST_F(DataValidate, FixesIntoANewFileThatTheDataFits) {
  const std::string fixed = folder_ + "/fixed.pbtxt", given = statistics(99, "baker");
  Outcome outcome = call(given, cat("--apply-fix ", fixed, " --reason 'a bakery opened'"));
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  EXPECT_NE(outcome.output.find("\n-    max: 90\n+    max: 99\n"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find(fixed + ": the data fits it\n"), std::string::npos) << outcome.output;
  EXPECT_EQ(posix_env().read_file(schema_), kDataValidateSchema);
  EXPECT_NE(posix_env().read_file(fixed).find("ENUM_TYPE_UNEXPECTED_STRING_VALUES: a bakery opened"),
            std::string::npos);
  // One feature alone leaves the other.
  outcome = call(given, cat("--apply-fix ", fixed, " --feature age"));
  EXPECT_EQ(outcome.code, 1) << outcome.error;
  EXPECT_NE(outcome.output.find(": the data does not fit it yet\n"), std::string::npos) << outcome.output;
  tfmd::Schema schema;
  read_metadata(fixed, schema);
  EXPECT_EQ(schema.feature(0).int_domain().max(), 99);
  EXPECT_EQ(schema.string_domain(0).value_size(), 2);
}

TEST_F(DataValidate, WritesAnomaliesAndJson) {
  const std::string given = statistics(99, "clerk"), out = folder_ + "/anomalies.pbtxt";
  EXPECT_EQ(call(given, "--out " + out).code, 1);
  tfmd::Anomalies anomalies;
  read_metadata(out, anomalies);
  EXPECT_EQ(anomalies.anomaly_info().at("age").reason(0).type(), tfmd::AnomalyInfo::INT_TYPE_BIG_INT);
  EXPECT_EQ(anomalies.baseline().feature_size(), 2);
  const auto json = nlohmann::json::parse(call(given, "--json").output);
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_TRUE(json.at("errors").get<bool>());
  const auto& reason = json.at("anomalies").at(0).at("reasons").at(0);
  EXPECT_EQ(reason.at("description"), "Unexpectedly large value: 99.");
  EXPECT_EQ(reason.at("limit"), "<= 90");
  EXPECT_EQ(json.at("anomalies").at(0).at("fix").at(0).at("added").at(0), "    max: 99");
}

TEST_F(DataValidate, AsksRowsTheRules) {
  schema_ = write_file(folder_ + "/ruled.pbtxt",
                       cat(kDataValidateSchema,
                           "annotation { tag: 'espalier.rule=age >= 18 or job = \"clerk\"' "
                           "tag: 'espalier.warning=age < 60' tag: 'espalier.rule=pay > 0' }"));
  const std::string rows =
      write_file(folder_ + "/rows.csv", "age;job\n17;clerk\n17;smith\n70;smith\n?;smith\n");
  const std::string good = statistics(50, "clerk");
  const Outcome outcome = call(good, cat("--rows ", rows, " --missing '?'"));
  EXPECT_EQ(outcome.code, 1) << outcome.error;
  const std::string wanted =
      "Rule \"age >= 18 or job = \"clerk\"\" is broken by 1 row. No other anomalies: 2 features, 10 rows.\n"
      "\n"
      "rule                        severity  rows that break it  of  missing  first lines\n"
      "--------------------------  --------  ------------------  --  -------  -----------\n"
      "age >= 18 or job = \"clerk\"  ERROR                      1   4        1            3\n"
      "age < 60                    WARNING                    1   4        1            4\n";
  EXPECT_TRUE(outcome.output.starts_with(wanted)) << outcome.output;
  EXPECT_NE(outcome.error.find("\"pay > 0\" is not asked"), std::string::npos) << outcome.error;
  EXPECT_NE(outcome.output.find(cat(" data rows ", rows, " --where 'not (age >= 18 or job = \"clerk\")'\n")),
            std::string::npos)
      << outcome.output;
  const auto json = nlohmann::json::parse(call(good, cat("--json --rows ", rows, " --missing '?'")).output);
  EXPECT_EQ(json.at("rows").at("rules").at(0).at("broken"), 1);
  EXPECT_EQ(json.at("rows").at("rules").at(1).at("severity"), "WARNING");
  // Warnings alone end well; statistics alone have no rows to ask.
  write_file(folder_ + "/rows.csv", "age;job\n17;clerk\n70;smith\n");
  EXPECT_EQ(call(good, cat("--rows ", rows)).code, 0);
  const Outcome alone = call(good);
  EXPECT_EQ(alone.code, 0);
  EXPECT_NE(alone.error.find("3 rules are asked of rows: --rows FILE"), std::string::npos) << alone.error;
  // A table is asked itself.
  const Outcome table = call_command(cat("data validate ", rows, " --schema ", schema_));
  EXPECT_NE(table.output.find("\nage < 60                    WARNING"), std::string::npos) << table.output;
  const std::string lines = write_file(
      folder_ + "/rows.jsonl", "{\"age\": 17, \"job\": \"clerk\"}\n{\"age\": 70, \"job\": \"smith\"}\n");
  const Outcome of_json = call_command(cat("data validate ", lines, " --schema ", schema_));
  EXPECT_NE(of_json.output.find(
                "\nage < 60                    WARNING                    1   2        0            2"),
            std::string::npos)
      << of_json.output;
  // Of lists there are statistics, and no cells.
  write_file(lines, "{\"age\": [17, 18], \"job\": \"clerk\"}\n{\"age\": 70, \"job\": \"smith\"}\n");
  const Outcome of_lists = call_command(cat("data validate ", lines, " --schema ", schema_));
  EXPECT_EQ(of_lists.code, 0) << of_lists.output << of_lists.error;
  EXPECT_NE(of_lists.error.find("3 rules are asked of rows: --rows FILE"), std::string::npos)
      << of_lists.error;
}

TEST_F(DataValidate, ARuleThatCouldBeAskedOfNoRowIsUndecided) {
  const std::string rows = write_file(folder_ + "/rows.csv", "when,pay\n2024-06-01,\n2024-06-02,\n");
  const auto validated = [&](const std::string& tags, const std::string& flags = "") {
    write_file(folder_ + "/ruled.pbtxt",
               cat("feature { name: 'when' type: BYTES } feature { name: 'pay' type: FLOAT } annotation { ",
                   tags, " }"));
    return call_command(cat("data validate ", rows, " --schema ", folder_, "/ruled.pbtxt ", flags));
  };
  const std::string pay = "tag: 'espalier.rule=pay > 0' ";
  const Outcome missing = validated(pay);
  EXPECT_EQ(missing.code, 3) << missing.output << missing.error;
  const std::string wanted =
      "Undecided: the rule \"pay > 0\" is asked of 0 of 2 rows, because column \"pay\" is missing in 2 rows. "
      "No "
      "other anomalies: 2 features, 2 rows.\n"
      "\n"
      "rule     severity  rows that break it  of  missing  first lines\n"
      "-------  --------  ------------------  --  -------  -----------\n"
      "pay > 0  ERROR                      0   2        2\n"
      "\n"
      "Not compared:\n"
      "  the rule \"pay > 0\" is asked of 0 of 2 rows, because column \"pay\" is missing in 2 rows\n"
      "next: ";
  EXPECT_TRUE(missing.output.starts_with(wanted)) << missing.output;
  EXPECT_TRUE(missing.output.ends_with(cat(" data stats ", rows, "\n"))) << missing.output;
  const std::string date = "tag: 'espalier.rule=when >= \"first of June\"' ";
  const Outcome unknown = validated(date + pay);
  EXPECT_EQ(unknown.code, 3) << unknown.output << unknown.error;
  EXPECT_NE(unknown.output.find("has no form that is read as such; known are 2024-01-31"), std::string::npos);
  EXPECT_NE(unknown.output.find("; and 1 more. No other anomalies"), std::string::npos) << unknown.output;
  const auto json = nlohmann::json::parse(validated(date, "--json").output);
  EXPECT_EQ(json.at("undecided"), true);
  EXPECT_EQ(json.at("not_compared").size(), 1u);
  EXPECT_EQ(json.at("rows").at("rules").at(0).at("undecided"), true);
  // A row that breaks another rule, and an anomaly, win; a rule that warns is said alone.
  EXPECT_EQ(validated(cat(date, "tag: 'espalier.rule=when >= \"2024-06-02\"'")).code, 1);
  EXPECT_EQ(validated(cat(date, "} feature { name: 'job' presence { min_count: 1 }")).code, 1);
  const Outcome warned = validated("tag: 'espalier.warning=pay > 0'");
  EXPECT_EQ(warned.code, 0) << warned.output;
  EXPECT_NE(warned.output.find("Not compared:\n  the rule "), std::string::npos) << warned.output;
  // Of rows that are asked nothing is open; and dates in another form stay missing.
  EXPECT_EQ(validated("tag: 'espalier.rule=when >= \"2024-06-01\"'").code, 0);
  EXPECT_EQ(
      nlohmann::json::parse(validated("tag: 'espalier.rule=when != \"x\"'", "--json").output).at("undecided"),
      false);
}

TEST_F(DataValidate, NamesTheLinesOfBadCells) {
  const std::string rows =
      write_file(folder_ + "/rows.csv", "age,job\n17,clerk\nabout 40,clerk\n,smith\n91,smith\n30,smithe\n");
  const Outcome outcome = call_command(cat("data validate ", rows, " --schema ", schema_));
  EXPECT_EQ(outcome.code, 1) << outcome.error;
  EXPECT_NE(outcome.output.find("\n"
                                "column  cells                               rows  first lines\n"
                                "------  ----------------------------------  ----  -----------\n"
                                "age     missing                                1            4\n"
                                "age     no whole number                        1            3\n"
                                "age     above 90                               1            5\n"
                                "job     none of the 2 values of its domain     1            6\n"),
            std::string::npos)
      << outcome.output;
  const auto json =
      nlohmann::json::parse(call_command(cat("data validate ", rows, " --json --schema ", schema_)).output);
  EXPECT_EQ(json.at("cells").at(3).at("lines").at(0), 6);
  // What fits has none; a column that is not there has no cells.
  write_file(rows, "job\nclerk\n");
  EXPECT_EQ(call_command(cat("data validate ", rows, " --schema ", schema_)).output.find("first lines"),
            std::string::npos);
}

TEST_F(DataValidate, EndsWellWithWarningsAndBadlyWithoutData) {
  EXPECT_EQ(call(statistics(99, "clerk"), "--warn INT_TYPE_BIG_INT").code, 0);
  EXPECT_EQ(call("datasets { num_examples: 0 }").code, 1);
}

TEST_F(DataValidate, RefusesWrongUse) {
  const std::string good = statistics(50, "clerk");
  EXPECT_EQ(call(good, "--environment nowhere").code, 2);
  EXPECT_EQ(call(good, "--warn TOO_BIG").code, 2);
  EXPECT_EQ(call(good, "--feature age").code, 2);
  EXPECT_EQ(call(good, cat("--apply-fix ", schema_)).code, 2);
  EXPECT_EQ(call(good, cat("--out ", schema_)).code, 2);
  EXPECT_EQ(call(statistics(99, "clerk"), cat("--apply-fix ", folder_, "/f.pbtxt --feature job")).code, 2);
  EXPECT_EQ(call(good, cat("--apply-fix ", folder_, "/f.txt")).code, 2);
  EXPECT_EQ(call(kDataValidateSchema).code, 2);
  EXPECT_EQ(posix_env().read_file(schema_), kDataValidateSchema);
}

TEST(DataSchema, IsInferredFromStatisticsAndHoldsThem) {
  const std::string folder = fresh_folder("data-schema-inferred");
  const std::string data = write_file(folder + "/data.pbtxt", statistics(50, "clerk"));
  EXPECT_TRUE(is_next(call_verb(add_data, {"schema", data, "--out", folder + "/schema.pbtxt"})));
  tfmd::Schema schema;
  read_metadata(folder + "/schema.pbtxt", schema);
  EXPECT_EQ(schema.feature(0).shape().dim(0).size(), 1);
  EXPECT_EQ(schema.string_domain(0).value(0), "clerk");
  EXPECT_NO_THROW(call_verb(add_data, {"validate", data, "--schema", folder + "/schema.pbtxt"}));
  const std::string bare =
      call_verb(add_data, {"schema", data, "--most-values", "0", "--no-shapes", "--json"});
  const auto json = nlohmann::json::parse(bare).at("schema");
  EXPECT_FALSE(json.contains("string_domain"));
  EXPECT_EQ(json.at("feature").at(0).at("value_count").at("max"), 1);
}

// What --where refuses of this table is no rule of its schema.
TEST(DataSchema, RulesWithDatesThatTheTableIsNotComparedWithAreRefused) {
  const std::string folder = fresh_folder("data-schema-dates");
  const std::string rows = write_file(folder + "/rows.csv", "when,pay\n2024-06-01,1\n2024-06-02,2\nsoon,3\n");
  const auto refusal = [&](const std::vector<std::string>& words) -> std::string {
    try {
      call_verb(add_data, words);
      return "nothing";
    } catch (const ValueError& error) {
      return cat(error.rule(), ": ", error.message());
    }
  };
  const std::string bad = "when >= \"first of June\"";
  const std::string of_rule = refusal({"schema", rows, "--rule", bad, "--out", folder + "/schema.pbtxt"});
  EXPECT_TRUE(of_rule.starts_with("expression.date: column \"when\" is of dates, and \"first of June\""))
      << of_rule;
  EXPECT_NE(of_rule.find(cat("\n    ", bad, "\n")), std::string::npos) << of_rule;
  EXPECT_FALSE(posix_env().exists(folder + "/schema.pbtxt"));
  EXPECT_EQ(refusal({"schema", rows, "--warn-rule", bad}), of_rule);
  EXPECT_EQ(refusal({"schema", rows, "--rule", "when >= \"2024-06-01\"", "--out", folder + "/schema.pbtxt"}),
            "nothing");
  // Without the table nobody knows.
  EXPECT_EQ(refusal({"schema", folder + "/schema.pbtxt", "--rule", bad}), "nothing");
  write_file(rows, "when,pay\n2024-06-01,1\n2024-06-02,2\n");
  EXPECT_EQ(refusal({"rows", rows, "--where", bad}), of_rule);
}

TEST(DataSchema, IsEditedIntoANewFile) {
  const std::string folder = fresh_folder("data-schema-edited");
  const std::string schema = write_file(folder + "/schema.pbtxt", kDataValidateSchema),
                    out = folder + "/new.pbtxt";
  const std::string diff = call_verb(
      add_data, {"schema", schema, "--set", "job.min_domain_mass=0.9", "--set", "age.max=99", "--allow",
                 "job=Baker, A", "--environment", "serving", "--not-in", "serving:age", "--out", out});
  for (const char* line : {"\n-    max: 90\n+    max: 99\n", "\n+    min_domain_mass: 0.9\n",
                           "\n+  value: \"Baker, A\"\n", "\n+  not_in_environment: \"serving\"\n"})
    EXPECT_NE(diff.find(line), std::string::npos) << diff;
  EXPECT_EQ(posix_env().read_file(schema), kDataValidateSchema);
  EXPECT_EQ(call_verb(add_data, {"schema", out, "--set", "age.max=99", "--out", folder + "/same.pbtxt"}),
            cat("nothing changed\nnext: espalier data schema ", folder, "/same.pbtxt --show\n"));
  EXPECT_THROW(call_verb(add_data, {"schema", schema, "--set", "age.max=99", "--out", schema}), ValueError);
  EXPECT_THROW(call_verb(add_data, {"schema", schema, "--set", "aeg.max=99"}), ValueError);
}

}  // namespace
}  // namespace espalier::cli
