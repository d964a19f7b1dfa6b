// Rows and slices by condition, from a file of scores: they are those of a file that was parted by hand.
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/philox.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/error.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

struct Where : FolderTest {
  // Ages 20 to 79, and one in ten unknown. `keeps`: which rows there are.
  template <class Keeps>
  std::string rows(const std::string& name, Keeps keeps) const {
    Philox random(11);
    std::string out = "y,p,g,age,senior\n";
    for (int i = 0; i < 1000; ++i) {
      const auto below = [&](uint64_t most) { return static_cast<int64_t>(random.below(most)); };
      const int64_t age = 20 + below(60), score = below(100);
      const bool known = below(10) > 0, label = below(100) < score, a = below(2);
      if (!keeps(known, age, a)) continue;
      out += cat(int{label}, ",0.", score < 10 ? "0" : "", score, ",", a ? "a" : "b", ",",
                 known ? std::to_string(age) : "?", ",",
                 !known      ? "?"
                 : age >= 60 ? "yes"
                             : "no",
                 "\n");
    }
    return file(name, out);
  }
  std::string all() const {
    return rows("all.csv", [](auto...) { return true; });
  }
  static std::string evaluated(const std::string& scores, const Words& more) {
    Words arguments = {"--scores", scores, "--label", "y", "--score", "p"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return call_verb(add_evaluate, arguments);
  }
  static Json json(const std::string& scores, Words more) {
    more.push_back("--json");
    return Json::parse(evaluated(scores, more));
  }
  static Outcome check(const std::string& scores, const std::string& more) {
    return call_command(cat("check --scores ", scores, " --label y --score p ", more));
  }
};

TEST_F(Where, RowsAreThoseOfAFileOfTheKeptOnes) {
  int64_t missing = 0;
  const std::string kept = rows("kept.csv", [&](bool known, int64_t age, bool a) {
    missing += !known && a;
    return known && age >= 40 && a;
  });
  const Json said = json(all(), {"--where", "age>=40 and g = 'a'", "--slice", "g"});
  const Json wanted = json(kept, {"--slice", "g"});
  EXPECT_EQ(said["overall"], wanted["overall"]);
  EXPECT_EQ(said["slices"], wanted["slices"]);
  EXPECT_EQ(said["where"], (Json{{"condition", "age >= 40 and g = \"a\""},
                                 {"rows", 1000},
                                 {"kept", wanted["overall"]["rows"]},
                                 {"missing", missing}}));
  EXPECT_GT(missing, 10);
}

TEST_F(Where, PeopleAreToldHowManyRowsWereKept) {
  const std::string scores = file("few.csv", "y,p,age\n1,0.9,50\n0,0.2,60\n0,0.1,20\n1,0.3,?\n0,0.4,?\n");
  const std::string text = evaluated(scores, {"--where", "age > 40"});
  EXPECT_TRUE(
      text.starts_with("where age > 40: 2 of 5 rows, without 2 of which the condition is missing\n"
                       "2 rows, of which 1 are 1;"))
      << text;
  EXPECT_NE(text.find("--where 'age > 40'"), std::string::npos) << text;
}

TEST_F(Where, WhatKeepsNoRowOrFitsNoneIsRefused) {
  const std::string scores = all();
  const auto rule = [&](const std::string& where) {
    return rule_of([&] { evaluated(scores, {"--where", where}); });
  };
  EXPECT_EQ(rule("age > 200"), "where.rows");
  EXPECT_EQ(rule("aeg > 20"), "expression.column");
  EXPECT_EQ(rule("age = \"old\""), "expression.type");
  EXPECT_EQ(rule("age >"), "expression.syntax");
}

TEST_F(Where, LabelsOfOneKindAreLeftByAConditionAndStayWhatTheyWere) {
  const std::string scores = file("kinds.csv", "y,p,g\nyes,0.9,a\nyes,0.2,a\nno,0.1,b\n");
  const Json said = json(scores, {"--where", "g = \"a\""});
  EXPECT_EQ(said["positive"], "yes");
  EXPECT_EQ(said["overall"]["metrics"]["positives"]["value"], 2);
}

// A condition makes the slices that a column of its answers makes.
TEST_F(Where, SlicesOfAConditionAreThoseOfAColumnOfItsAnswers) {
  const std::string scores = all();
  for (const char* missing : {"slice", "leave-out"}) {
    const Json of_column =
        json(scores, {"--cross", "senior*g", "--slice", "senior", "--missing-group", missing});
    const Json of_condition = json(scores, {"--slice-where", "old: age >= 60", "--slice", "old", "--cross",
                                            "old*g", "--missing-group", missing});
    std::map<std::string, Json> wanted;
    for (const Json& slice : of_column["slices"]) {
      std::string name = slice["slice"];
      wanted[name.replace(0, 6, "old")] = slice["at"];
    }
    EXPECT_EQ(wanted.size(), std::string_view(missing) == "slice" ? 9u : 6u);
    ASSERT_EQ(of_condition["slices"].size(), wanted.size());
    for (const Json& slice : of_condition["slices"])
      EXPECT_EQ(slice["at"], wanted.at(slice["slice"])) << slice["slice"];
    EXPECT_EQ(of_condition["conditions"], Json({{"old", "age >= 60"}}));
  }
  EXPECT_EQ(json(scores, {"--slice-where", "old: age >= 60", "--slice-where", "a: g = \"a\""})["gaps"].size(),
            2u);
  for (const char* wrong : {"age >= 60", ": age >= 60", "a*b: age >= 60", "g: age >= 60"}) {
    EXPECT_EQ(rule_of([&] { evaluated(scores, {"--slice-where", wrong}); }), "evaluate.slice") << wrong;
  }
}

TEST_F(Where, GatesNameRowsAndSlicesByConditionAndFlagsDoTheSame) {
  const std::string scores = all();
  const std::string gate = "[[gates]]\nname = \"old\"\nmetric = \"rows\"\nslice = \"old=yes\"\nmin = 1\n";
  const std::string file_of_all = file(
      "all.toml", cat("where = 'g = \"a\" and age is not missing'\n[slices]\nold = \"age >= 60\"\n", gate));
  const std::string file_of_gate = file("gate.toml", gate);
  int64_t old = 0, kept = 0;
  rows("counted.csv", [&](bool known, int64_t age, bool a) {
    kept += known && a;
    old += known && a && age >= 60;
    return false;
  });
  const Outcome by_file = check(scores, cat("--json --gates ", file_of_all));
  ASSERT_EQ(by_file.code, 0) << by_file.error;
  const Json said = Json::parse(by_file.output);
  EXPECT_EQ(said["gates"][0]["findings"][0]["judged"], old);
  EXPECT_EQ(said["where"]["kept"], kept);
  const Outcome by_flags = check(scores, cat("--json --gates ", file_of_gate,
                                             " --slice-where 'old: age >= 60' "
                                             "--where 'g = \"a\"'"));
  EXPECT_EQ(Json::parse(by_flags.output)["gates"][0]["findings"][0]["judged"], old) << by_flags.error;
  const Outcome both =
      check(scores, cat("--gates ", file_of_all, " --where 'age >= 70' --html ", path("page.html")));
  EXPECT_EQ(both.code, 0) << both.error;
  EXPECT_NE(both.output.find("where age >= 70 and g = \"a\" and age is not missing: "), std::string::npos)
      << both.output;
  EXPECT_NE(posix_env().read_file(path("page.html")).find("where age &gt;= 70"), std::string::npos);
  const Outcome twice = check(scores, cat("--gates ", file_of_all, " --slice-where 'old: age >= 60'"));
  EXPECT_EQ(twice.code, 2);
  EXPECT_NE(twice.error.find("check.slices"), std::string::npos) << twice.error;
}

TEST_F(Where, FirstGatesKeepTheConditionsTheyWereWrittenWith) {
  const std::string scores = all(), gates = path("first.toml");
  const Outcome init =
      check(scores, cat("--init --where 'age is not missing' --slice-where 'old: age >= 60' --out ", gates));
  ASSERT_EQ(init.code, 0) << init.error;
  EXPECT_EQ(init.output.find("--where"), std::string::npos) << init.output;
  const Outcome said = check(scores, "--gates " + gates);
  EXPECT_NE(said.code, 2) << said.error;
  EXPECT_NE(said.output.find("where age is not missing: "), std::string::npos) << said.output;
  EXPECT_EQ(said.output.find("were not assessed"), std::string::npos) << said.output;
}

}  // namespace
}  // namespace espalier::cli
