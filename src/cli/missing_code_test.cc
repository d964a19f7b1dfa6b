// -999 among measurements, and None among the classes of a label: said, with the flag, which mends it.
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "cli/verb_test.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

// v is 12 to 87 but for one in seven, which is -999 in two spellings; y says whether the true v is above 50.
struct MissingCode : FolderTest {
  std::string said;
  std::string readings() const {
    std::string out = "v,w,y\n";
    for (int i = 0; i < 350; ++i) {
      const int v = 12 + 37 * i % 77;
      out += cat(i % 7 == 3 ? (i % 4 == 3 ? "-999.0" : "-999") : cat(v), ",", i * i % 11, ",",
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
  EXPECT_NE(
      said.find(
          " % of the values are -999, the others 12 to 87: a code for missing ones? (--missing -999)\n"),
      said.npos)
      << said;
  EXPECT_EQ(finding(check(cat(file, " --label y")), "v").substr(0, 36),
            "note: column \"v\": 14 % of the values");
  const Json mended = train(file, {"--missing", "-999"});
  EXPECT_EQ(said.find("a code for missing"), said.npos) << said;
  EXPECT_NE(said.find("v: numeric, 12 to 87, missing in "), said.npos) << said;
  EXPECT_GT(mended["test"]["accuracy"], 0.88);
  EXPECT_EQ(finding(check(cat(file, " --label y --missing -999")), "v"), "");
  const Outcome stats = call_command(cat("data stats ", file, " --show --missing -999"));
  EXPECT_LT(stats.output.find("next: "), stats.output.find("-999")) << stats.output;
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

// v says it all: below 45 None, below 55 Mild, else Severe.
struct MissingLabel : MissingCode {
  std::string pains(const std::string& none, const std::string& name = "pains.csv") const {
    std::string out = "v,y\n";
    for (int i = 0; i < 300; ++i) {
      const int v = 30 + 37 * i % 55;
      out += cat(v, ".5,", v < 45 ? none : v < 55 ? "Mild" : "Severe", "\n");
    }
    return file(name, out);
  }
  int none() const {
    int out = 0;
    for (int i = 0; i < 300; ++i) out += 30 + 37 * i % 55 < 45;
    return out;
  }
};

constexpr const char* kNoneSaid = "28 % of the rows say None, which counts as missing; ";

TEST_F(MissingLabel, AWordThatCountsAsMissingIsNamedWithTheFlag) {
  const std::string file = pains("None");
  const std::string wanted = cat(kNoneSaid, "--not-missing None makes it a class");
  const Json two = train(file, {});
  ASSERT_EQ(two["warnings"].size(), 1u) << two["warnings"];
  EXPECT_EQ(two["warnings"][0], cat(none(), " rows have no value of \"y\" and are left out; ", wanted));
  EXPECT_EQ(finding(check(cat(file, " --label y")), "y"), cat("note: column \"y\": ", wanted));
  const Outcome evaluated = call_command(cat("evaluate ", path("model"), " ", file, " --all-rows"));
  EXPECT_NE(evaluated.error.find(cat("have no label and are passed over; ", kNoneSaid,
                                     "`espalier train` with --not-missing None makes it a class")),
            evaluated.error.npos)
      << evaluated.error;
  const Json three = train(file, {"--not-missing", "None"});
  EXPECT_EQ(three["warnings"], Json::array());
  EXPECT_NE(said.find("y: the label, 3 classes: Mild ("), said.npos) << said;
  EXPECT_EQ(finding(check(cat(file, " --label y --not-missing None")), "y"), "");
  EXPECT_EQ(call_command(cat("evaluate ", path("model"), " ", file, " --all-rows")).error.find("missing"),
            std::string::npos);
}

TEST_F(MissingLabel, OtherWordsAndNone) {
  train(pains("n/a"), {});
  EXPECT_NE(said.find("28 % of the rows say n/a, which counts as missing; --not-missing n/a makes"),
            said.npos)
      << said;
  train(pains("", "empty.csv"), {});
  EXPECT_NE(said.find("are left out\n"), said.npos) << said;
  train(pains("none", "small.csv"), {});
  EXPECT_EQ(said.find("left out"), said.npos) << "a class\n" << said;
  // Of numbers NA is no class.
  std::string numbers = "v,y\n";
  for (int i = 0; i < 300; ++i) numbers += cat(i, ".5,", i % 3 == 0 ? "NA" : i < 150 ? "0" : "1", "\n");
  const std::string file_of = file("numbers.csv", numbers);
  train(file_of, {});
  EXPECT_NE(said.find("100 rows have no value of \"y\" and are left out\n"), said.npos) << said;
  EXPECT_EQ(finding(check(cat(file_of, " --label y")), "y"), "");
}

TEST_F(MissingLabel, WhereOneClassIsLeftTheErrorSaysIt) {
  std::string out = "v,y\n";
  for (int i = 0; i < 100; ++i) out += cat(i, ".5,", i % 4 ? "Yes" : "None", "\n");
  const Outcome train =
      call_command(cat("train --data ", file("one.csv", out), " --label y --model ", path("model")));
  EXPECT_EQ(train.code, 2);
  EXPECT_NE(train.error.find("training rows are \"Yes\""), train.error.npos) << train.error;
  EXPECT_NE(train.error.find(
                "25 % of the rows say None, which counts as missing; --not-missing None makes it a class"),
            train.error.npos)
      << train.error;
}

TEST_F(MissingLabel, OfScoresToo) {
  std::string out = "y,score\n";
  for (int i = 0; i < 100; ++i)
    out += cat(i % 4 == 0 ? "None" : i % 4 == 1 ? "Mild" : "Severe", ",0.", 10 + i % 80, "\n");
  const Outcome scored = call_command(
      cat("evaluate --scores ", file("scores.csv", out), " --label y --score score --positive Severe"));
  EXPECT_NE(
      scored.error.find("25 rows have no value of \"y\" and are left out; 25 % of the rows say None, which "
                        "counts as missing; --not-missing None makes it a class"),
      scored.error.npos)
      << scored.error;
}

}  // namespace
}  // namespace espalier::cli
