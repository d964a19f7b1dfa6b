// From questions to a gate that check reads.
#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/rule_of_test.h"
#include "cli/verb_test.h"
#include "espalier/error.h"
#include "gate/gates.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

struct FairnessChoose : FolderTest {
  static std::string choose(Words words, const std::string& input = "", std::string* asked = nullptr) {
    words.insert(words.begin(), "choose");
    return call_verb(add_fairness, words, input, asked);
  }
  // Of 1,000 rows a group: a tenth of a and half of b are positive; two in three of these are found, and one
  // in five of the others is said to be one.
  std::string scores() const {
    std::string out = "y,p,g\n";
    for (const auto& [group, positives] : {std::pair{"a", 100}, std::pair{"b", 500}}) {
      for (int i = 0; i < 1000; ++i) {
        const bool positive = i < positives, said = positive ? i % 3 : i % 5 == 0;
        out += cat(int{positive}, ",", said ? "0.75" : "0.25", ",", group, "\n");
      }
    }
    return file("scores.csv", out);
  }
  Words of_scores() const { return {"--data", scores(), "--label", "y", "--score", "p", "--slice", "g"}; }
};

constexpr const char* kPunitive =
    "harm = \"a person is refused\"\nworry = \"errors\"\nlabels = \"trustworthy\"\naction = \"punitive\"\n"
    "hurt = \"acted-upon\"\n";

TEST_F(FairnessChoose, AsksUntilAMetricFollowsAndTakesNumbersOrWords) {
  std::string asked;
  const std::string said =
      choose({"--slice", "sex"}, "people\nthe council\n2\n1\nassistive\n2\nin-need\n", &asked);
  EXPECT_NE(asked.find("metric: false_negative_rate, FN / (TP + FN)\n"), std::string::npos) << asked;
  for (const char* part :
       {"Who could be harmed", "What can go wrong?\n  1  selection: ", "\n  2  assistive: "})
    EXPECT_NE(asked.find(part), std::string::npos) << part << " in " << asked;
  EXPECT_EQ(asked.find("name the groups"), std::string::npos) << "--slice says it";
  const Gates gates = read_gates(said, "gates");
  ASSERT_EQ(gates.gates.size(), 1u);
  EXPECT_EQ(gates.gates[0].of, "false_negative_rate");
  EXPECT_EQ(gates.gates[0].slice, "sex");
  EXPECT_EQ(gates.gates[0].max, 0.1);
  EXPECT_EQ(gates.answers.at("harm"), "people");
  EXPECT_EQ(gates.answers.at("need"), "in-need");
  EXPECT_EQ(gates.answers.at("groups"), "sex");
  EXPECT_EQ(rule_of([] {
              choose({"--slice", "sex"}, "people\nall\n2\n");
            }),
            "fairness.answer")
      << "the input ended";
  EXPECT_EQ(rule_of([] { choose({"--slice", "sex"}, "people\nall\nno idea\n"); }), "fairness.answer");
}

TEST_F(FairnessChoose, TheFileOfGatesIsAcceptedByCheckAndKeepsTheAnswers) {
  const std::string answers = file("answers.toml", kPunitive), gates = path("gates.toml");
  Words words = of_scores();
  words.insert(words.end(), {"--answers", answers, "--out", gates, "--max", "0.3"});
  const std::string said = choose(words);
  EXPECT_NE(said.find(cat("--gates ", gates, "\n")), std::string::npos) << said;
  // Precisions of a and b: 66 / 246 and 333 / 433.
  const Outcome checked =
      call_command(cat("check --scores ", path("scores.csv"), " --label y --score p --gates ", gates));
  EXPECT_EQ(checked.code, 1) << checked.output << checked.error;
  EXPECT_TRUE(checked.output.starts_with("Blocked: false discovery rate")) << checked.output;
  // A file of gates answers as a file of answers does.
  words[words.size() - 5] = gates;
  words[words.size() - 3] = path("again.toml");
  choose(words);
  EXPECT_EQ(posix_env().read_file(path("again.toml")), posix_env().read_file(gates));
}

TEST_F(FairnessChoose, DifferentBaseRatesHaveAPrice) {
  Words words = of_scores();
  words.insert(words.end(), {"--answers", file("answers.toml", kPunitive), "--json"});
  const Json said = Json::parse(choose(words));
  EXPECT_EQ(said["metric"], "false_discovery_rate");
  const Json& price = said["prices"][0];
  EXPECT_EQ(price["conflict"], true);
  EXPECT_EQ(price["what_follows"], "false positive rate");
  // Of all rows: 399 of 600 positives are found, and 280 of 1,400 others are said to be positive.
  const double ppv = 399.0 / (399 + 280), tpr = 399.0 / 600;
  for (const Json& group : price["groups"]) {
    const double p = group["group"] == "g=a" ? 0.1 : 0.5;
    EXPECT_DOUBLE_EQ(group["base_rate"].get<double>(), p);
    EXPECT_NEAR(group["follows"].get<double>(), p / (1 - p) * (1 - ppv) / ppv * tpr, 1e-12);
  }
  EXPECT_TRUE(price["measured"].get<bool>());
  const Json unmeasured = Json::parse(choose({"--data", path("scores.csv"), "--label", "y", "--slice", "g",
                                              "--answers", path("answers.toml"), "--json"}));
  EXPECT_FALSE(unmeasured["prices"][0]["measured"].get<bool>());
  EXPECT_DOUBLE_EQ(unmeasured["prices"][0]["groups"][1]["follows"].get<double>(), 0.2);
}

TEST_F(FairnessChoose, EqualBaseRatesHaveNone) {
  std::string text = "y,p,g\n";
  for (int i = 0; i < 400; ++i) text += cat(i % 4 == 0, ",0.", i % 9, ",", i % 8 < 4 ? "a" : "b", "\n");
  const Json said =
      Json::parse(choose({"--data", file("even.csv", text), "--label", "y", "--score", "p", "--slice", "g",
                          "--answers", file("answers.toml", kPunitive), "--json"}));
  EXPECT_EQ(said["prices"][0]["conflict"], false);
}

TEST_F(FairnessChoose, WrongAnswersAreNamed) {
  const auto refusal = [&](const std::string& answers, const Words& more = {"--slice", "sex"}) {
    Words words = {"--answers", file("answers.toml", answers)};
    words.insert(words.end(), more.begin(), more.end());
    try {
      choose(words);
    } catch (const Error& error) {
      return cat(error.rule(), ": ", error.message());
    }
    return std::string("accepted");
  };
  EXPECT_TRUE(
      refusal("worry = \"errors\"\n").starts_with("fairness.answer: answers.toml lacks an answer to labels"));
  EXPECT_TRUE(refusal("worry = \"erors\"\n").starts_with("fairness.answer: unknown answer to worry"));
  EXPECT_TRUE(refusal("worri = \"errors\"\n").starts_with("answers.key: answers.toml, line 1"));
  EXPECT_TRUE(refusal("worry = 1\n").starts_with("answers.type: answers.toml, line 1"));
  EXPECT_TRUE(refusal("worry = \"selection\"\n", {}).starts_with("fairness.groups: "));
  EXPECT_EQ(refusal("worry = \"selection\"\ngroups = \"sex, race\"\n", {}), "accepted");
  EXPECT_EQ(refusal("worry = \"selection\"\n", {"--slice", "sex=a"}),
            "fairness.groups: groups are columns, all of whose values are compared, got \"sex=a\"");
}

}  // namespace
}  // namespace espalier::cli
