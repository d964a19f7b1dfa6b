// Slices of rows that a model has scored, from a file or by a model at hand.
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/philox.h"
#include "base/rule_of_test.h"
#include "base/shortest.h"
#include "cli/verb_test.h"
#include "espalier/csv.h"
#include "espalier/error.h"
#include "evaluate/golden_rows_test.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

struct EvaluateScores : FolderTest {
  std::string progress;

  std::string file(const std::string& text) const { return write_file(folder + "/scores.csv", text); }
  std::string text_of(const std::string& path, const Words& more) {
    Words arguments = {"--scores", path, "--label", "y", "--score", "p"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return call_verb(add_evaluate, arguments, "", &progress);
  }
  Json json(const std::string& path, Words more) {
    more.push_back("--json");
    return Json::parse(text_of(path, more));
  }
  // The message of what is refused.
  std::string refusal(const std::string& text, const Words& more = {}) {
    try {
      text_of(file(text), more);
    } catch (const Error& error) {
      return cat(error.rule(), ": ", error.message(), error.fix().empty() ? "" : " / ", error.fix());
    }
    return "accepted";
  }
};

std::string golden_csv(const GoldenRows& data) {
  std::string text = "y,p,weight,group,age\n";
  const auto ages = data.column<double>("age");
  for (size_t i = 0; i < data.scores.size(); ++i) {
    text +=
        cat(static_cast<int>(data.labels[i]), ",", shortest(data.scores[i]), ",", shortest(data.weights[i]),
            ",", data.group.values[data.group.codes[i]], ",", shortest(ages[i]), "\n");
  }
  return text;
}

// The errors of a model gather where its probabilities are near the threshold, whoever they are of.
TEST_F(EvaluateScores, WorstSlicesAreNotOfWhatPredictWrote) {
  Philox random(3);
  std::string text = "y,p,probability of no,prediction,g\n";
  for (int i = 0; i < 2000; ++i) {
    const double p = static_cast<double>(random.below(1000)) / 1000;
    const bool yes = static_cast<double>(random.below(1000)) / 1000 < p;
    text += cat(yes ? 1 : 0, ",", p, ",", 1 - p, ",", p >= 0.5 ? "yes" : "no", ",",
                random.below(2) ? "a" : "b", "\n");
  }
  const std::string said = text_of(file(text), {"--worst"});
  EXPECT_EQ(said.find("probability of"), std::string::npos) << said;
  EXPECT_EQ(said.find("prediction="), std::string::npos) << said;
}

// From the text of a file to Fairlearn's own figures of the same rows.
TEST_F(EvaluateScores, RatesOfGroupsAreFairlearns) {
  const GoldenRows data;
  const std::string path = file(golden_csv(data));
  size_t compared = 0;
  for (const Json& golden : data.golden.at("fairlearn")) {
    Words flags = {"--slice", "group", "--min-slice", "0"};
    if (golden.at("weights") == "weighted") flags.insert(flags.end(), {"--weight", "weight"});
    if (golden.at("strict").get<bool>()) flags.insert(flags.end(), {"--at-threshold", "above"});
    const Json said = json(path, flags);
    EXPECT_EQ(said["positive"], "1");
    for (const auto& [name, of_groups] : golden.at("by_group").items()) {
      for (const Json& slice : said["slices"]) {
        const std::string group = slice["values"][0];
        const size_t place =
            static_cast<size_t>(std::ranges::find(data.group.values, group) - data.group.values.begin());
        const Json value = slice["at"][0]["rates"][name]["value"];
        // Fairlearn's 0 / 0 is 0, and ours is none.
        if (value.is_null()) {
          EXPECT_EQ(of_groups[place], 0) << name << " of " << group;
        } else {
          EXPECT_NEAR(value.get<double>(), of_groups[place].get<double>(), 1e-12) << name << " of " << group;
          ++compared;
        }
      }
      EXPECT_NEAR(said["overall"]["at"][0]["rates"][name]["value"].get<double>(),
                  golden.at("overall").at(name).get<double>(), 1e-12)
          << name;
    }
    for (const Json& gap : golden.at("gaps")) {
      if (gap.at("criterion") != "demographic_parity" || gap.at("method") != "between_groups") continue;
      const Json& criterion = said["gaps"][0]["criteria"]["demographic_parity"];
      EXPECT_NEAR(criterion[gap.at("measure").get<std::string>()].get<double>(),
                  gap.at("value").get<double>(), 1e-12);
    }
  }
  EXPECT_GT(compared, 100u);
}

TEST_F(EvaluateScores, CrossesAndBucketsPartTheRows) {
  const GoldenRows data;
  const Json said = json(file(golden_csv(data)), {"--cross", "group*age", "--bucket", "age=25,45"});
  int64_t rows = 0;
  for (const Json& slice : said["slices"]) rows += slice["rows"].get<int64_t>();
  EXPECT_EQ(rows, 300);
  EXPECT_EQ(said["slices"][0]["by"], Json({"group", "age"}));
  EXPECT_EQ(said["slices"][0]["values"][1], "(-inf,25)");
  const Json alone = json(file(golden_csv(data)), {"--bucket", "age=25,45"});
  EXPECT_EQ(alone["slices"].size(), 3u);
}

TEST_F(EvaluateScores, CalibrationErrorsAndAreasAgainstTheRestAreScikitLearns) {
  const GoldenRows data;
  const std::string path = file(golden_csv(data));
  const Words flags = {"--slice", "group", "--weight", "weight"};
  const Json expected = read_golden("subgroups.json")["weighted"];
  EXPECT_FALSE(json(path, flags)["overall"]["metrics"].contains("bpsn_auc")) << "nobody asked";
  Words asked = flags;
  asked.insert(asked.end(), {"--metric", "bpsn_auc,subgroup_auc,ece"});
  const Json said = json(path, asked);
  for (const char* metric : {"calibration_error", "bpsn_auc", "bnsp_auc"}) {
    for (const Json& slice : said["slices"]) {
      const auto place =
          static_cast<size_t>(std::ranges::find(data.group.values, slice["values"][0].get<std::string>()) -
                              data.group.values.begin());
      const Json& wanted = expected[metric][metric == std::string("calibration_error") ? place + 1 : place];
      const Json& got = slice["metrics"][metric]["value"];
      ASSERT_EQ(got.is_null(), wanted.is_null()) << metric << " of " << slice["slice"];
      if (!got.is_null()) {
        EXPECT_NEAR(got.get<double>(), wanted.get<double>(), 1e-9) << metric;
      }
    }
  }
  const std::string gates = write_file(folder + "/gates.toml",
                                       "[[gates]]\nmetric = \"bpsn_auc\"\nslice = \"group=tiny\"\nmin = 0.9\n"
                                       "[[gates]]\nmetric = \"ece\"\nmax = 0.01\ndecide = \"proven-over\"\n");
  const Outcome outcome = call_command(cat("check --scores ", path, " --label y --score p --gates ", gates));
  EXPECT_EQ(outcome.code, 1) << outcome.output << outcome.error;
  EXPECT_TRUE(outcome.output.starts_with("Blocked: bpsn auc for group=tiny is 0.58")) << outcome.output;
}

// A group whose rates are known: half of its positives are found, none of its negatives is said to be one.
constexpr const char* kTwoGroups =
    "y,p,g\nyes,0.9,a\nyes,0.2,a\nno,0.1,a\nno,0.3,a\nyes,0.8,b\nyes,0.7,b\nno,0.6,b\nno,0.4,b\nno,0.5,\n";

TEST_F(EvaluateScores, PeopleSeeFiguresGapsAndWhatComesNext) {
  const std::string path = file(kTwoGroups);
  EXPECT_NE(text_of(path, {}).find("next: espalier evaluate --scores "), std::string::npos);
  const std::string text = text_of(path, {"--slice", "g", "--min-slice", "0"});
  EXPECT_TRUE(text.starts_with(
      "9 rows, of which 4 are yes; threshold 0.5: a score from it on says positive, which is y=yes\n"))
      << text;
  EXPECT_NE(text.find("\ng=a             4          2    0.7500    0.2500  0.5000  0.0000  0.7500\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\ng=(missing)     1          0    0.0000    1.0000       -  1.0000       -\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("0/0 for (missing)"), std::string::npos) << text;
  EXPECT_NE(text.find("--slice g --min-slice 0 --metric true_positive_rate\n"), std::string::npos) << text;
  const std::string drawn =
      text_of(path, {"--slice", "g", "--metric", "recall", "--missing-group", "leave-out"});
  EXPECT_NE(drawn.find("thin: too few rows to say much"), std::string::npos) << drawn;
  EXPECT_NE(drawn.find(" rows  recall  95 % interval "), std::string::npos) << drawn;
  EXPECT_EQ(drawn.find("(missing)"), std::string::npos) << drawn;
}

// Amounts with a unit and a decimal comma are parted as the numbers that they are.
TEST_F(EvaluateScores, BucketsPartAmounts) {
  const auto slices = [&](const char* low, const char* high, const char* none) {
    std::string table = "y;p;paid\n";
    for (int i = 0; i < 12; ++i)
      table += cat(i % 2, ";0.", 1 + i % 9, ";", i % 4 == 3 ? none : i % 3 == 0 ? low : high, "\n");
    const Json all = json(file(table), {"--bucket", "paid=1000", "--slice", "paid", "--min-slice", "0"});
    Json out = Json::array();
    for (const Json& slice : all["slices"]) out.push_back({slice["slice"], slice["rows"]});
    return out;
  };
  const Json plain = slices("10.5", "1200.5", "");
  EXPECT_EQ(plain.size(), 3u) << plain;
  EXPECT_EQ(slices("€ 10,50", "€ 1.200,50", ""), plain);
}

// What is said of several thresholds is what is said of each alone.
TEST_F(EvaluateScores, SeveralThresholdsAreComparedAndEachIsWhatItIsAlone) {
  const std::string path = file(kTwoGroups);
  const Json all = json(path, {"--threshold", "0.7,0.25,0.5,0.5", "--slice", "g"});
  size_t place = 0;
  for (const char* threshold : {"0.25", "0.5", "0.7"}) {
    const Json one = json(path, {"--threshold", threshold, "--slice", "g"});
    EXPECT_EQ(all["overall"]["at"][place], one["overall"]["at"][0]);
    for (size_t i = 0; i < one["slices"].size(); ++i)
      EXPECT_EQ(all["slices"][i]["at"][place], one["slices"][i]["at"][0]);
    EXPECT_EQ(all["gaps"][place], one["gaps"][0]);
    ++place;
  }
  EXPECT_EQ(all["overall"]["at"].size(), 3u);
  const std::string text = text_of(path, {"--threshold", "0.3,0.5"});
  EXPECT_TRUE(
      text.starts_with("9 rows, of which 4 are yes\n"
                       "threshold  accuracy  selected     tpr     fpr  precision      f1\n"
                       "---------  --------  --------  ------  ------  ---------  ------\n"
                       "      0.3    0.4444    0.7778  0.7500  0.8000     0.4286  0.5455\n"
                       "      0.5    0.6667    0.5556  0.7500  0.4000     0.6000  0.6667\n"
                       "positive is y=yes: yes and no are a known pair\nnext: "))
      << text;
  EXPECT_NE(text.find(" --threshold 0.3,0.5"), std::string::npos) << text;
  EXPECT_NE(text_of(path, {"--threshold", "0.3,0.5", "--slice", "g"}).find("\n\nthreshold 0.5: a score"),
            std::string::npos);
  for (const char* wrong : {"0.3,", "1.5", "nan", "x"})
    EXPECT_THROW(text_of(path, {"--threshold", wrong}), CLI::ValidationError) << wrong;
  const Outcome comma = call_command(cat("evaluate --scores ", path, " --label y --score p --threshold 0,3"));
  EXPECT_EQ(comma.code, 2);
  EXPECT_NE(
      comma.error.find("\"3\" is no number from 0 to 1: commas part several, the decimal sign is a point"),
      std::string::npos)
      << comma.error;
}

TEST_F(EvaluateScores, AReferenceGroupGivesGapsTheirSign) {
  const std::string path = file(kTwoGroups);
  const auto gap = [&](const char* group) {
    const Json said = json(path, {"--slice", "g", "--min-slice", "0", "--missing-group", "leave-out",
                                  "--reference-group", group});
    EXPECT_EQ(said["gaps"][0]["reference"], group);
    return said["gaps"][0]["criteria"]["equal_opportunity"]["difference"].get<double>();
  };
  EXPECT_DOUBLE_EQ(gap("g=a"), 0.5);
  EXPECT_DOUBLE_EQ(gap("g=b"), -0.5);
  EXPECT_EQ(rule_of([&] {
              text_of(path, {"--slice", "g", "--reference-group", "g=c"});
            }),
            "evaluate.reference");
  EXPECT_EQ(rule_of([&] {
              text_of(path, {"--slice", "g", "--reference-group", "h=a"});
            }),
            "evaluate.reference");
}

// One mistyped number keeps no table from a verdict: its row is of the slice of missing cells.
TEST_F(EvaluateScores, ACellThatIsNoNumberIsInNoBucketAndSaidSo) {
  std::string table = "y,p,age\n";
  for (int i = 0; i < 40; ++i)
    table += cat(i % 2, ",0.", 1 + i % 9, ",", i == 3 ? std::string("4o") : cat(i), "\n");
  const Json said = json(file(table), {"--bucket", "age=20"});
  EXPECT_EQ(said["warnings"],
            Json({"column \"age\": 1 cell is no number, and counts as missing where rows are "
                  "parted by it, in line 5"}));
  std::map<std::string, int> rows;
  for (const Json& slice : said["slices"]) rows[slice["slice"]] = slice["rows"];
  EXPECT_EQ(rows["age=(missing)"], 1) << said["slices"];
  EXPECT_EQ(rows["age=[20,inf)"], 20) << said["slices"];
}

TEST_F(EvaluateScores, RowsOfNoUseAreNamedWithTheirLine) {
  EXPECT_EQ(refusal("y,p\n1,0.5\n0,1.5\n"),
            "scores.score: scores.csv, line 3: a score is a probability from 0 to 1, got \"1.5\" / "
            "--task regression, where scores are no probabilities");
  EXPECT_EQ(refusal("y,p\n1,0.5\n0,\n"),
            "scores.score: scores.csv, line 3: a score is a probability from 0 to 1, got \"\" / "
            "--where 'p is not missing'");
  EXPECT_EQ(refusal("y,p\n1,nan\n0,1\n"),
            "scores.score: scores.csv, line 2: a score is a probability from 0 to 1, got \"nan\" / "
            "--where 'p is not missing'");
  const std::pair<const char*, const char*> weights[] = {{"-1", "w between 0 and 1e9"},
                                                         {"nan", "w is not missing"},
                                                         {"inf", "w != \"inf\""},
                                                         {"heavy", "w != \"heavy\""},
                                                         {"1e308", "w between 0 and 1e9"}};
  for (const auto& [weight, condition] : weights) {
    EXPECT_EQ(refusal(cat("y,p,w\n1,0.5,1\n0,0.1,", weight, "\n"), {"--weight", "w"}),
              cat("scores.weight: scores.csv, line 3: a weight is a number from 0 to 1e9, got \"", weight,
                  "\" / --where '", condition, "'"));
  }
  EXPECT_EQ(refusal("y,p,w\n1,0.5,0\n0,0.1,0\n", {"--weight", "w"}),
            "scores.weight: scores.csv: every row has the weight 0 in column \"w\", and nothing is left to "
            "evaluate");
  EXPECT_EQ(refusal("y,p\ngood,0.5\ngood,0.6\n"),
            "scores.label: scores.csv: every row of column \"y\" is \"good\", and nothing says whether high "
            "scores stand for it / --positive good, or --positive with the label that no row has");
  EXPECT_EQ(
      refusal("y,p\n1,0.5\n2,0.6\n3,0.1\n"),
      "scores.label: scores.csv: labels are of two kinds, and column \"y\" has 3: \"1\", \"2\", \"3\" / "
      "--task classes, or --task regression where it holds numbers");
  EXPECT_EQ(refusal("y,p\nbad,0.5\ngood,0.6\ngood,0.1\n"),
            "scores.label: scores.csv: column \"y\" holds \"bad\" and \"good\", and which of them do high "
            "scores stand for? / "
            "--positive bad, or --positive good");
  EXPECT_TRUE(refusal("y,p\n<=50K,0.5\n>50K,0.6\n>50K,0.1\n")
                  .ends_with(" / --positive '<=50K', or --positive '>50K'"));
  EXPECT_TRUE(
      refusal("y,p\nno,0.5\nunsure,0.6\nunsure,0.1\n").ends_with(" / --positive no, or --positive unsure"));
  EXPECT_EQ(refusal("y,p\n?,0.5\n,0.6\n"), "scores.label: scores.csv: no row has a label");
  EXPECT_EQ(refusal("y,q\n1,0.5\n0,0.6\n").substr(0, 11), "csv.column:");
  EXPECT_EQ(refusal("y,p,a\n1,0.5,1\n0,0.6,x\n", {"--bucket", "a=1,2"}).substr(0, 24),
            "evaluate.bucket: line 3:");
  EXPECT_EQ(refusal("y,p,a\n1,0.5,1\n0,0.6,2\n", {"--bucket", "a=2,1"}).substr(0, 16), "evaluate.bucket:");
  EXPECT_EQ(
      refusal("y,p,a\n1,0.5,1\n0,0.6,2\n", {"--bucket", "a=10.000"}),
      "evaluate.bucket: --bucket: \"10.000\" may be 10000 or 10 / the decimal sign is a point; nothing parts "
      "thousands");
  EXPECT_EQ(refusal("y,p,a\n1,0.5,1\n0,0.6,2\n", {"--bucket", "age"}).substr(0, 15), "evaluate.slice:");
  EXPECT_EQ(refusal("y,p,a\n1,0.5,1\n0,0.6,2\n", {"--slice", "a", "--metric", "recal"}).substr(0, 16),
            "evaluate.metric:");
}

TEST_F(EvaluateScores, RowsWithoutALabelAreLeftOutAloud) {
  const Json said = json(file("y,p\n1,0.5\n0,0.6\n?,nonsense\n"), {});
  EXPECT_EQ(said["overall"]["rows"], 2);
  EXPECT_EQ(said["warnings"], Json({"1 row has no value of \"y\" and is left out"}));
}

TEST_F(EvaluateScores, AColumnOfManyNumbersIsForBuckets) {
  std::string text = "y,p,age\n";
  for (int i = 0; i < 400; ++i) text += cat(i % 2, ",0.5,", i % 100, "\n");
  EXPECT_EQ(
      refusal(text, {"--slice", "age"}),
      "evaluate.slice: column \"age\" has 100 values: slices are by at most 50 / --bucket age=25,50,75");
  // Of fewer values each is a slice of its own, with a word of buckets; none where edges or words part rows.
  text = "y,p,age,few,word\n";
  for (int i = 0; i < 400; ++i) text += cat(i % 2, ",0.5,", i % 20, ",", i % 12, ",w", i % 20, "\n");
  const std::string path = file(text);
  EXPECT_EQ(
      json(path, {"--slice", "age,few,word"})["warnings"],
      Json({"column \"age\" is parted by each of its 20 numbers: --bucket age=5,10,15 makes quarters of "
            "them"}));
  EXPECT_EQ(json(path, {"--bucket", "age=5,10,15"})["warnings"], Json::array());
}

TEST_F(EvaluateScores, LabelsThatEndInADotAreThoseWithoutIt) {
  std::string rows;
  for (int i = 0; i < 40; ++i) rows += cat(i % 2 ? "yes" : "no", i < 20 ? "." : "", ",0.", 1 + i % 9, "\n");
  const std::string path = file("y,p\n" + rows);
  EXPECT_EQ(refusal("y,p\n" + rows).substr(0, 13), "scores.label:");
  const Json said = json(path, {"--strip-label-dots"});
  EXPECT_EQ(said["positive"], "yes");
  EXPECT_NE(text_of(path, {"--strip-label-dots"}).find(" --strip-label-dots"), std::string::npos) << "next";
}

TEST_F(EvaluateScores, WrongUseIsNamed) {
  const std::string path = file(kTwoGroups);
  EXPECT_THROW(call_verb(add_evaluate, {}), CLI::RequiredError);
  EXPECT_THROW(call_verb(add_evaluate, {"--scores", path, "--label", "y"}), CLI::RequiredError);
  EXPECT_THROW(call_verb(add_evaluate, {"model", "--scores", path, "--label", "y", "--score", "p"}),
               CLI::ExcludesError);
  EXPECT_EQ(rule_of([&] { call_verb(add_evaluate, {"model", path, "--label", "y"}); }), "evaluate.flags");
}

// What evaluate says of a model's slices is what it says of the scores that predict writes.
TEST_F(EvaluateScores, AModelsSlicesAreThoseOfItsScores) {
  Philox random(5);
  std::string text = "size,colour,kind\n";
  for (int i = 0; i < 600; ++i) {
    const int64_t size = random.below(100);
    const bool red = random.below(2);
    text += cat(size, ",", red ? "red" : "blue", ",",
                size + random.below(40) > (red ? 50 : 80) ? "big" : "small", "\n");
  }
  const std::string data = write_file(folder + "/kinds.csv", text), model = folder + "/model";
  call_verb(add_train,
            {"--data", data, "--label", "kind", "--model", model, "--epochs", "3", "--positive", "big"});
  EXPECT_THROW(call_verb(add_evaluate, {model, data, "--metric", "recall"}), CLI::RequiresError);
  EXPECT_THROW(call_verb(add_evaluate, {model, data, "--reference-group", "colour=red"}), CLI::RequiresError);
  const Json of_model =
      Json::parse(call_verb(add_evaluate, {model, data, "--all-rows", "--slice", "colour", "--json"}));
  const Json said = Json::parse(call_verb(add_predict, {model, data, "--all", "--json"}));
  const std::string positive = of_model["positive"];
  const size_t place = said["classes"][1] == positive ? 1 : 0;
  std::string scores = "y,p,colour\n";
  const CsvTable table = parse_csv(text);
  for (int64_t row = 0; row < table.rows(); ++row) {
    scores +=
        cat(table.cell(row, 2), ",",
            shortest(said["predictions"][static_cast<size_t>(row)]["probabilities"][place].get<double>()),
            ",", table.cell(row, 1), "\n");
  }
  const Json of_scores = json(file(scores), {"--positive", positive, "--slice", "colour"});
  ASSERT_EQ(of_model["slices"].size(), 2u);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(of_model["slices"][i]["at"], of_scores["slices"][i]["at"]);
  EXPECT_EQ(of_model["gaps"], of_scores["gaps"]);
  const Words several = {model, data, "--all-rows", "--threshold", "0.2,0.6", "--json"};
  const Json at = Json::parse(call_verb(add_evaluate, several))["overall"]["at"];
  EXPECT_EQ(at, json(file(scores), {"--positive", positive, "--threshold", "0.2,0.6"})["overall"]["at"]);
}

}  // namespace
}  // namespace espalier::cli
