// Gaps between slices among rows that are alike otherwise, from the text of a file.
#include <nlohmann/json.hpp>

#include "cli/verb_test.h"
#include "espalier/error.h"
#include "ir/golden_test.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

// The rows of tests/golden/conditional.py.
struct EvaluateGiven : testing::Test {
  Json golden = read_golden("conditional.json");
  std::string folder =
      fresh_folder(cat("given-", testing::UnitTest::GetInstance()->current_test_info()->name()));
  Words arguments;

  EvaluateGiven() {
    const Json& rows = golden["rows"];
    std::string text = "group,job,p,w,y\n";
    for (size_t i = 0; i < rows["group"].size(); ++i) {
      text += cat(rows["group"][i].get<std::string>(), ",", rows["job"][i].get<std::string>(), ",",
                  rows["said"][i].dump(), ",", rows["weight"][i].dump(), ",", i % 2, "\n");
    }
    arguments = {"--scores", write_file(folder + "/scores.csv", text), "--label", "y", "--score", "p"};
  }
  std::string text_of(const Words& more) const {
    Words all = arguments;
    all.insert(all.end(), more.begin(), more.end());
    std::string progress;
    return call_verb(add_evaluate, all, "", &progress);
  }
  Outcome check(const std::string& gate) const {
    std::string line = "check";
    for (const std::string& word : arguments) line += " " + word;
    return call_command(cat(line, " --gates ", write_file(folder + "/gates.toml", "[[gates]]\n" + gate)));
  }
};

TEST_F(EvaluateGiven, GapsWithinStrataAreFairlearns) {
  const Json said = Json::parse(text_of({"--weight", "w", "--slice", "group", "--given", "job", "--json"}));
  ASSERT_EQ(said["conditional"].size(), 1u);
  const Json &one = said["conditional"][0], &wanted = golden["weighted"];
  EXPECT_NEAR(one["difference"].get<double>(), wanted["all"].get<double>(), 1e-9);
  EXPECT_LT(one["interval"][0], one["interval"][1]);
  EXPECT_EQ(one["lowest"], "group=f");
  EXPECT_EQ(one["by"], Json{"group"});
  EXPECT_EQ(one["given"], Json{"job"});
  EXPECT_EQ(one["left_out"], Json{"job=guard"});
  ASSERT_EQ(one["strata"].size(), 3u);
  for (const Json& stratum : one["strata"]) {
    const std::string job = stratum["slice"].get<std::string>().substr(4);
    EXPECT_NEAR(stratum["difference"].get<double>(), wanted["within"][job].get<double>(), 1e-9) << job;
  }
  // The crosses are no slices that were asked for.
  EXPECT_EQ(said["slices"].size(), 3u);
}

TEST_F(EvaluateGiven, PeopleSeeEachStratumAndWhatIsLeftOut) {
  const std::string text = text_of({"--slice", "group", "--given", "job", "--reference-group", "group=m"});
  for (const char* part : {"\nselection rate by group within job ", "\nall of them ", "\njob=clerk ",
                           "left out, as not all slices have rows there: job=guard", "--given job"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

TEST_F(EvaluateGiven, WrongUseIsNamed) {
  const auto rule = [&](const Words& more) -> std::string {
    try {
      text_of(more);
    } catch (const Error& error) {
      return error.rule();
    } catch (const CLI::ParseError& error) {
      return error.get_name();
    }
    return "";
  };
  EXPECT_EQ(rule({"--given", "job"}), "RequiresError");
  EXPECT_EQ(rule({"--slice", "job", "--given", "job"}), "evaluate.given");
  EXPECT_EQ(rule({"--slice", "group", "--given", "nothing"}), "csv.column");
  EXPECT_EQ(rule({"--slice", "group", "--given", "job", "--task", "regression"}), "evaluate.task");
}

TEST_F(EvaluateGiven, GatesHoldWhatIsAlike) {
  const std::string between = "metric = \"selection_rate\"\nbetween = \"group\"\ngiven = \"job\"\n";
  const Outcome blocked = check(between + "max = 0.1\n");
  EXPECT_EQ(blocked.code, 1) << blocked.error;
  EXPECT_TRUE(blocked.output.starts_with("Blocked: selection rate within job for group=f is 0."))
      << blocked.output;
  EXPECT_NE(blocked.output.find("(gap 0.16, "), std::string::npos) << blocked.output;
  EXPECT_EQ(check(between + "max = 0.3\ndecide = \"proven-under\"\n").code, 0);
  EXPECT_EQ(check(between + "max = 0.16\ndecide = \"proven-under\"\n").code, 3);
  EXPECT_EQ(check(between + "measure = \"ratio\"\nmin = 0.1\n").code, 0);
  const Outcome thin = check(between + "max = 0.3\nleast_rows = 400\n");
  EXPECT_EQ(thin.code, 3);
  EXPECT_NE(thin.output.find("it counts fewer than 400 rows"), std::string::npos) << thin.output;
}

}  // namespace
}  // namespace espalier::cli
