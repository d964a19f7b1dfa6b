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
