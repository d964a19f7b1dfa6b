// -999 among measurements: said, with the flag, which mends it.
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

// v is 12 to 88 but for one in seven, which is -999 in two spellings; y says whether the true v is above 50.
struct MissingCode : FolderTest {
  std::string said;
  std::string readings() const {
    std::string out = "v,w,y\n";
    for (int i = 0; i < 350; ++i) {
      const int v = 12 + 37 * i % 77;
      out += cat(i % 7 == 3 ? (i % 2 ? "-999.0" : "-999") : cat(v), ",", i * i % 11, ",",
                 v > 50 ? "yes" : "no", "\n");
    }
    return file("readings.csv", out);
  }
  Json train(const std::string& data, Words more) {
    Words words = {"--data", data, "--label", "y", "--model", path("model"), "--epochs", "15", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return Json::parse(call_verb(add_train, words, "", &said));
  }
  static std::string finding(const Json& check, const std::string& column) {
    for (const Json& each : check["findings"]) {
      if (each["column"] == column)
        return cat(each["severity"].get<std::string>(), ": ", each["text"].get<std::string>());
    }
    return "";
  }
  static Json check(const std::string& words) {
    const Outcome out = call_command(cat("data check ", words, " --json"));
    EXPECT_NE(out.code, 2) << out.error;
    return Json::parse(out.output);
  }
};

TEST_F(MissingCode, IsSaidByTrainAndCheckAndTheFlagMakesItMissing) {
  const std::string file = readings();
  const Json plain = train(file, {});
  EXPECT_NE(said.find("  v: 14 % of the values are -999"), said.npos) << said;
  EXPECT_NE(said.find(", the others 12 to 88: a code for missing ones? (--missing -999"), said.npos) << said;
  EXPECT_EQ(finding(check(cat(file, " --label y")), "v").substr(0, 36),
            "note: column \"v\": 14 % of the values");
  const Json mended = train(file, {"--missing", "-999"});
  EXPECT_EQ(said.find("a code for missing"), said.npos) << said;
  EXPECT_NE(said.find("v: numeric, 12 to 88, missing in 14 %"), said.npos) << said;
  EXPECT_GT(mended["test"]["accuracy"], 0.88);
  EXPECT_EQ(finding(check(cat(file, " --label y --missing -999")), "v"), "");
  const Outcome stats = call_command(cat("data stats ", file, " --show --missing -999"));
  EXPECT_EQ(stats.output.find("-999"), stats.output.npos) << stats.output;
  const Outcome rows = call_command(cat("data rows ", file, " --where 'v is missing' --missing -999 --json"));
  EXPECT_EQ(Json::parse(rows.output)["where"]["kept"], 50);
  // The model remembers, whatever the spelling.
  const std::string both = "v,w\n-999,1\n-999.00,1\n";
  const Json predicted =
      Json::parse(call_verb(add_predict, {path("model"), "-", "--json"}, both, &said))["predictions"];
  EXPECT_EQ(predicted[0], predicted[1]);
  EXPECT_EQ(said.find("outside"), said.npos) << said;
}

TEST_F(MissingCode, OfANumberThatIsLearned) {
  std::string out = "x,y\n";
  for (int i = 0; i < 200; ++i) out += cat(i, ".5,", i % 10 == 3 ? "-9999" : cat(3 * i, ".25"), "\n");
  train(file("label.csv", out), {});
  EXPECT_NE(said.find("y: 10 % of the values are -9999, the others 0.25 to 597.25: a code"), said.npos)
      << said;
}

}  // namespace
}  // namespace espalier::cli
