// A schema of one's own in `check` and `data check`: comparators, rules, environments decide verdicts.
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;

// `a` of 200 rows are of group "a"; ages from 20 on.
std::string scored_people(int a, bool labelled = true) {
  std::string out = labelled ? "y,p,g,age\n" : "p,g,age\n";
  for (int i = 0; i < 200; ++i)
    out += cat(labelled ? cat(i % 2, ",") : "", i % 3 ? 0.75 : 0.25, ",", i < a ? "a" : "b", ",", 20 + i % 50,
               "\n");
  return out;
}

const std::string kRest = "feature { name: \"p\" type: FLOAT } feature { name: \"age\" type: INT } ";
const std::string kLabel = "feature { name: \"y\" type: INT } ";
const std::string kDrift =
    "feature { name: \"g\" type: BYTES drift_comparator { infinity_norm { threshold: 0.2 } } } ";

struct CheckSchema : FolderTest {
  Outcome check(const std::string& now, const std::string& schema, const std::string& more = "") const {
    return call_command(cat("check --scores ", file("now.csv", now), " --label y --score p --train ",
                            file("train.csv", scored_people(100)), " --gates ",
                            file("gates.toml", "[[gates]]\ndata = \"schema\"\n"), " --schema ",
                            file("schema.pbtxt", schema), " ", more));
  }
  Outcome data_check(const std::string& now, const std::string& schema, const std::string& more = "") const {
    return call_command(cat("data check ", file("train.csv", scored_people(100)), " ", file("now.csv", now),
                            " --schema ", file("schema.pbtxt", schema), " ", more));
  }
};

TEST_F(CheckSchema, ComparatorsDecide) {
  const std::string schema = kRest + kLabel + kDrift;
  EXPECT_EQ(check(scored_people(130), schema).code, 0);
  const Outcome drifted = check(scored_people(150), schema);
  EXPECT_EQ(drifted.code, 1) << drifted.output << drifted.error;
  EXPECT_NE(drifted.output.find("Linfty distance between current and previous: 0.25, at most 0.2"),
            std::string::npos)
      << drifted.output;
}

TEST_F(CheckSchema, RulesDecide) {
  const auto rule = [](const std::string& tag) {
    return cat(kRest, kLabel, "feature { name: \"g\" type: BYTES } annotation { tag: \"espalier.", tag,
               "\" }");
  };
  EXPECT_EQ(check(scored_people(100), rule("rule=age >= 20")).code, 0);
  const Outcome young = check(scored_people(100), rule("rule=age >= 21"));
  EXPECT_EQ(young.code, 1) << young.output << young.error;
  EXPECT_NE(young.output.find("4 of 200 rows break the rule \"age >= 21\""), std::string::npos)
      << young.output;
  EXPECT_EQ(check(scored_people(100), rule("warning=age >= 21")).code, 0);
  const Outcome data = data_check(scored_people(100), rule("rule=age >= 21"), "--json");
  EXPECT_EQ(data.code, 1) << data.error;
  EXPECT_EQ(Json::parse(data.output)["findings"][0]["text"], "4 of 200 rows break the rule \"age >= 21\"");
}

// A rule that no row could be asked is no pass, and none of a gate of one column.
TEST_F(CheckSchema, RulesThatCouldBeAskedOfNoRowAreUndecided) {
  const auto rule = [](const std::string& tag) {
    return cat(kRest, kLabel, "feature { name: \"g\" type: BYTES } feature { name: \"at\" type: BYTES } ",
               "annotation { tag: 'espalier.", tag, "' }");
  };
  const auto dated = [](const std::string& rows) {
    std::string out;
    for (size_t begin = 0; begin < rows.size();) {
      const size_t end = rows.find('\n', begin);
      out += cat(rows.substr(begin, end - begin), begin == 0 ? ",at\n" : ",2024-06-01\n");
      begin = end + 1;
    }
    return out;
  };
  const std::string now = dated(scored_people(100)), bad = "rule=at >= \"first of June\"";
  file("train.csv", now);
  const std::string of_data =
      cat("data check ", file("train-dated.csv", now), " ", file("now.csv", now), " --schema ");
  const Outcome open = call_command(cat(of_data, file("open.pbtxt", rule(bad))));
  EXPECT_EQ(open.code, 3) << open.output << open.error;
  EXPECT_TRUE(
      open.output.starts_with("Undecided: schema of the data: the rule \"at >= \"first of June\"\" is "
                              "asked of 0 of 200 rows, because column \"at\" is of dates"))
      << open.output;
  EXPECT_NE(open.output.find(cat(" data validate ", path("now.csv"), " --schema ", path("open.pbtxt"), "\n")),
            std::string::npos)
      << open.output;
  const Json json = Json::parse(call_command(cat(of_data, file("open.pbtxt", rule(bad)), " --json")).output);
  EXPECT_EQ(json["undecided"], true);
  EXPECT_TRUE(std::ranges::any_of(json["not_compared"], [](const Json& each) {
    return std::string(each["why"]).starts_with("schema: the rule ");
  })) << json;
  // What is read is asked, and a rule that only warns is said.
  EXPECT_EQ(call_command(cat(of_data, file("open.pbtxt", rule("rule=at >= \"2024-06-01\"")))).code, 0);
  const Outcome warned =
      call_command(cat(of_data, file("open.pbtxt", rule("warning=at >= \"first of June\""))));
  EXPECT_EQ(warned.code, 0) << warned.output;
  EXPECT_NE(warned.output.find("Not compared:\n  schema: the rule "), std::string::npos) << warned.output;
  // Gates: of the whole table it is open, of a column it is not asked.
  const auto gated = [&](const std::string& tag, const std::string& more) {
    return call_command(cat("check --scores ", path("now.csv"), " --label y --score p --train ",
                            path("train-dated.csv"), " --gates ",
                            file("gates.toml", cat("[[gates]]\ndata = \"schema\"\n", more)), " --schema ",
                            file("open.pbtxt", rule(tag))));
  };
  EXPECT_EQ(gated(bad, "").code, 3) << gated(bad, "").output;
  EXPECT_EQ(gated("warning=at >= \"first of June\"", "").code, 0);
  EXPECT_EQ(gated(bad, "column = \"age\"\n").code, 0) << gated(bad, "column = \"age\"\n").error;
}

TEST_F(CheckSchema, EnvironmentsSayWhatIsAsked) {
  const std::string schema = cat(kRest,
                                 "feature { name: \"g\" type: BYTES } "
                                 "feature { name: \"y\" type: INT not_in_environment: \"SERVING\" "
                                 "presence { min_count: 1 } } "
                                 "default_environment: \"TRAINING\" default_environment: \"SERVING\"");
  const Outcome lacks = data_check(scored_people(100, false), schema);
  EXPECT_EQ(lacks.code, 1) << lacks.output << lacks.error;
  EXPECT_NE(lacks.output.find("column \"y\": column dropped"), std::string::npos) << lacks.output;
  const Outcome served = data_check(scored_people(100, false), schema, "--environment SERVING");
  EXPECT_EQ(served.code, 0) << served.output << served.error;
  // The next line asks the same of the same rows.
  const Outcome judged = check(scored_people(100), schema, "--environment TRAINING");
  EXPECT_EQ(judged.code, 0) << judged.output << judged.error;
  EXPECT_NE(judged.output.find(" --environment TRAINING"), std::string::npos) << judged.output;
  EXPECT_EQ(check(scored_people(100), schema, "--environment TESTING").code, 2);
  EXPECT_EQ(call_command("data check a.csv b.csv --environment SERVING").code, 2) << "it needs --schema";
}

}  // namespace
}  // namespace espalier::cli
