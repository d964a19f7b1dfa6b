// What a program asks of data is what the commands say of it.
#include <nlohmann/json.hpp>

#include "base/rule_of_test.h"
#include "cli/common.h"
#include "cli/verb_test.h"
#include "espalier/rows.h"
#include "espalier/validation.h"

namespace espalier::cli {
namespace {

struct ValidationApi : FolderTest {
  // `last` stands in the 50th row.
  std::string table(const std::string& name, const std::string& last = "69,clerk,") const {
    std::string text = "age,job,pay\n";
    for (int i = 0; i < 49; ++i)
      text += cat(20 + i, ",", i % 3 ? "smith" : "clerk", ",", i % 7 ? "" : "0.5", "\n");
    return write_file(cat(folder, "/", name), text + last + "\n");
  }
  std::string file(const std::string& name) const { return cat(folder, "/", name); }
};

TEST_F(ValidationApi, StatisticsAreThoseOfTheCommand) {
  const std::string data = table("train.csv");
  const DataStatistics statistics = DataStatistics::of_files({data});
  EXPECT_EQ(statistics.rows(), 50);
  statistics.save(file("api.pb"));
  ASSERT_EQ(call_command(cat("data stats ", data, " --out ", file("command.pb"))).code, 0);
  EXPECT_EQ(read_text(file("api.pb")), read_text(file("command.pb")));
  EXPECT_EQ(statistics.text(), DataStatistics::load(file("command.pb")).text());
  EXPECT_TRUE(call_command("data stats " + data).output.starts_with(statistics.text()));
  EXPECT_EQ(DataStatistics::of_table(read_csv(data)).text(), statistics.text());

  const std::vector<FeatureSummary> features = statistics.features();
  ASSERT_EQ(features.size(), 3u);
  EXPECT_EQ(features[0].name, "age");
  EXPECT_EQ(features[0].type, "INT");
  EXPECT_EQ(features[0].count, 50);
  EXPECT_DOUBLE_EQ(features[0].mean.value(), 44.5);
  EXPECT_DOUBLE_EQ(features[0].median.value(), 44.5);
  EXPECT_EQ(features[0].min, 20);
  EXPECT_EQ(features[0].max, 69);
  EXPECT_EQ(features[1].unique, 2);
  EXPECT_EQ(features[1].top.at(0), (std::pair<std::string, double>("smith", 32)));
  EXPECT_EQ(features[2].missing, 43);
  EXPECT_TRUE(features[2].exact);

  const DataStatistics weighted = DataStatistics::of_files({data, data}, {.weight = "age", .slice = "job"});
  EXPECT_EQ(weighted.rows(), 100);
  EXPECT_NE(weighted.text().find("job_clerk: 36 rows"), std::string::npos) << weighted.text();
}

TEST_F(ValidationApi, SchemasAreThoseOfTheCommand) {
  const std::string data = table("train.csv");
  const DataSchema schema = DataSchema::infer(DataStatistics::of_files({data}), {.most_values = 1});
  schema.save(file("api.pbtxt"));
  ASSERT_EQ(call_command(cat("data schema ", data, " --most-values 1 --out ", file("command.pbtxt"))).code,
            0);
  EXPECT_EQ(read_text(file("api.pbtxt")), read_text(file("command.pbtxt")));
  EXPECT_EQ(schema.proto_text(), read_text(file("api.pbtxt")));
  EXPECT_TRUE(
      call_command(cat("data schema ", file("api.pbtxt"), " --show")).output.starts_with(schema.text()));

  const DataSchema edited = schema.edited({.environments = {"serving"},
                                           .set = {"age.max=90"},
                                           .not_in = {"serving:pay"},
                                           .rules = {"age >= 18"}});
  ASSERT_EQ(
      call_command(cat("data schema ", file("api.pbtxt"),
                       " --environment serving --set age.max=90 --not-in serving:pay --rule 'age >= 18' "
                       "--out ",
                       file("edited.pbtxt")))
          .code,
      0);
  EXPECT_EQ(edited.proto_text(), read_text(file("edited.pbtxt")));
  EXPECT_EQ(DataSchema::load(file("edited.pbtxt")).text(), DataSchema::parse(edited.proto_text()).text());
  const std::vector<std::string_view> row = {"17", "clerk", ""};
  EXPECT_EQ(RowGuard::parse(edited.proto_text(), {"age", "job", "pay"}).judge(row).outcome,
            RowOutcome::kRefused);
}

TEST_F(ValidationApi, FindingsAreThoseOfTheCommand) {
  const std::string before = table("train.csv"), now = table("new.csv", "99,baker,");
  const DataStatistics train = DataStatistics::of_files({before}), fresh = DataStatistics::of_files({now});
  const DataSchema schema = DataSchema::infer(train).edited({.set = {"age.max=90", "job.drift=0.001"}});
  schema.save(file("schema.pbtxt"));
  const DataCheckOptions options{.previous = train, .warnings = {"INT_TYPE_BIG_INT"}};
  const DataFindings found = schema.check(fresh, options);
  const std::string command = cat("data validate ", now, " --schema ", file("schema.pbtxt"), " --previous ",
                                  before, " --warn INT_TYPE_BIG_INT");
  const Outcome said = call_command(command);
  EXPECT_EQ(said.code, 1);
  EXPECT_TRUE(said.output.starts_with(found.text())) << said.output << found.text();
  EXPECT_TRUE(found.text().starts_with(found.sentence() + "\n\n"));
  const auto whole = nlohmann::json::parse(call_command(command + " --json").output),
             own = nlohmann::json::parse(found.json());
  for (const auto& [key, value] : own.items()) EXPECT_EQ(whole.at(key), value) << key;
  EXPECT_EQ(call_command(cat(command, " --out ", file("command.pbtxt"))).code, 1);
  found.save(file("api.pbtxt"));
  EXPECT_EQ(read_text(file("api.pbtxt")), read_text(file("command.pbtxt")));

  const std::vector<DataAnomaly> anomalies = found.anomalies();
  ASSERT_EQ(anomalies.size(), 3u);
  EXPECT_EQ(anomalies[0].feature, "age");
  EXPECT_EQ(anomalies[0].type, "INT_TYPE_BIG_INT");
  EXPECT_FALSE(anomalies[0].error);
  EXPECT_EQ(anomalies[0].limit, "<= 90");
  EXPECT_EQ(anomalies[1].type, "ENUM_TYPE_UNEXPECTED_STRING_VALUES");
  EXPECT_TRUE(anomalies[1].error);
  EXPECT_TRUE(found.has_errors());

  const DataSchema fixed = schema.fixed(fresh, options, "a bakery opened");
  EXPECT_FALSE(fixed.check(fresh, options).has_errors()) << fixed.check(fresh, options).text();
  EXPECT_NE(fixed.proto_text().find("a bakery opened"), std::string::npos);
  EXPECT_FALSE(schema.check(train).has_errors());
}

TEST_F(ValidationApi, MistakesAreNamedWithTheUsersLine) {
  const std::string data = table("train.csv"), header = write_file(file("header.csv"), "age,job,pay\n");
  const DataStatistics train = DataStatistics::of_files({data}), none = DataStatistics::of_files({header});
  const DataSchema schema = DataSchema::infer(train);
  EXPECT_TRUE(schema.check(none).has_errors());
  const std::vector<std::pair<std::string, std::function<void()>>> mistakes = {
      {"stats.files", [&] { DataStatistics::of_files({}); }},
      {"file.read", [&] { DataStatistics::of_files({file("none.csv")}); }},
      {"file.read", [&] { DataSchema::load(file("none.pbtxt")); }},
      {"stats.weight", [&] { DataStatistics::of_files({data}, {.weight = "wage"}); }},
      {"data.rows", [&] { DataSchema::infer(none); }},
      {"metadata.name", [&] { schema.save(file("schema.txt")); }},
      {"data.warn", [&] { schema.check(train, {.warnings = {"SCHEMA_NEW_COLUM"}}); }},
      {"validate.environment", [&] { schema.check(train, {.environment = "serving"}); }},
      {"schema_edit.feature", [&] { schema.edited({.set = {"agee.max=3"}}); }},
      {"metadata.text", [&] { DataSchema::parse("feature {"); }},
  };
  for (const auto& [rule, mistake] : mistakes) {
    try {
      mistake();
      ADD_FAILURE() << rule << " is not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.rule(), rule) << error.what();
      EXPECT_NE(std::string(error.what()).find(" at validation_api_test.cc:"), std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace espalier::cli
