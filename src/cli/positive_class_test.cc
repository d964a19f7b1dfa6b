// Which of two classes rates count: what says it, and that nothing derives it anew from a file.
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/philox.h"
#include "cli/verb_test.h"
#include "tables/scores.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kRecall = "[[gates]]\nmetric = \"recall\"\nmin = 0\n";

class PositiveClassVerbs : public testing::Test {
 protected:
  const std::string folder =
      fresh_folder(cat("positive-", testing::UnitTest::GetInstance()->current_test_info()->name()));

  std::string path(const std::string& name) const { return folder + "/" + name; }
  std::string file(const std::string& name, const std::string& text) const {
    return write_file(path(name), text);
  }
  // 400 rows, so many percent of which are of the first class, the likelier the larger x is.
  std::string rows(const std::string& name, int percent, const std::string& positive,
                   const std::string& negative) const {
    Philox random(5);
    std::string out = "x,y\n";
    for (int i = 0; i < 400; ++i) {
      const bool is = i % 100 < percent;
      out += cat((is ? 0.6 : 0.0) + static_cast<double>(random.below(1000)) / 1000, ",",
                 is ? positive : negative, "\n");
    }
    return file(name, out);
  }
  Outcome train(const std::string& data, const std::string& model, const std::string& more = "") const {
    const Outcome out = call_command(cat(
        "train --data ", data, " --label y --seed 1 --epochs 2 --hidden 4 --model ", path(model), " ", more));
    return out;
  }
  Outcome check(const std::string& model, const std::string& data, const std::string& gates,
                const std::string& more = "") const {
    return call_command(
        cat("check ", path(model), " ", data, " --gates ", gates, " --all-rows --today 2030-05-01 ", more));
  }
};

void expect_refused(const Outcome& said, const std::vector<std::string>& parts) {
  EXPECT_EQ(said.code, 2) << said.output << said.error;
  for (const std::string& part : parts)
    EXPECT_NE(said.error.find(part), std::string::npos) << part << " in " << said.error;
}

// Other words for the same rows: what gates call positive is an error or a line in bold, never another class.
TEST_F(PositiveClassVerbs, SlowRenamedClassesAreNeverCountedOtherwiseInSilence) {
  for (const int percent : {50, 57, 43}) {
    const std::string yes = rows("yes.csv", percent, "yes", "no"),
                      words = rows("words.csv", percent, "approved", "declined");
    const std::string gates = path(cat("gates", percent, ".toml")), recall = file("recall.toml", kRecall);
    std::filesystem::remove_all(path("m"));
    const Json first = Json::parse(train(yes, "m", "--json").output);
    EXPECT_EQ(first["positive"], "yes") << percent;
    EXPECT_EQ(first["positive_because"], "pair");
    EXPECT_EQ(call_command(cat("check ", path("m"), " ", yes, " --all-rows --init --out ", gates)).code, 0);
    EXPECT_NE(posix_env().read_file(gates).find("\npositive = \"yes\""), std::string::npos);
    EXPECT_EQ(Json::parse(check("m", yes, recall, "--json").output)["positive_because"], "model");

    std::filesystem::remove_all(path("m"));
    const Json second = Json::parse(train(words, "m", "--json").output);
    EXPECT_TRUE(second["positive"].is_null()) << percent;
    EXPECT_TRUE(second["positive_because"].is_null());
    const std::string both = "fix: --positive approved, or --positive declined";
    expect_refused(check("m", words, gates),
                   {"[gates.positive]", "the gates say \"yes\"", "approved and declined"});
    expect_refused(check("m", words, recall), {"[positive.unknown]", "gate \"true_positive_rate\"", both});
    expect_refused(call_command(cat("check ", path("m"), " ", words, " --all-rows --init")), {both});
    expect_refused(call_command(cat("evaluate ", path("m"), " ", words, " --threshold 0.3")), {both});
    expect_refused(call_command(cat("predict ", path("m"), " ", words, " --threshold 0.3")), {both});
    expect_refused(train(words, "other", "--threshold 0.3"), {both});
    // What is the same of either class is checked.
    const Json accuracy = Json::parse(
        check("m", words, file("accuracy.toml", "[[gates]]\nmetric = \"accuracy\"\nmin = 0\n"), "--json")
            .output);
    EXPECT_EQ(accuracy["verdict"], "pass");
    EXPECT_TRUE(accuracy["positive"].is_null());
    const Json named = Json::parse(check("m", words, recall, "--json --positive approved").output);
    EXPECT_EQ(named["positive"], "approved");
    EXPECT_EQ(named["positive_because"], "flag");
  }
  EXPECT_NE(
      train(path("words.csv"), "m")
          .output.find("\nnothing says which class of y is positive, approved or "
                       "declined: --positive approved, or --positive declined; slices, gates and thresholds "
                       "count from one of them\n"),
      std::string::npos);
  const std::string line = positive_line({}, "y", {"a", "b"}, {.colors = true});
  EXPECT_EQ(
      line,
      Terminal{.colors = true}.paint(Ink::kBold, espalier::text_of(PositiveClass(), "y", {"a", "b"})) + "\n");
  EXPECT_NE(line.find('\x1b'), std::string::npos) << "in bold";
}

TEST_F(PositiveClassVerbs, OfOtherWordsTheRarerOneIsSaid) {
  const std::string words = rows("words.csv", 30, "approved", "declined");
  EXPECT_NE(train(words, "m").output.find("\npositive is y=approved: the rarer one, "), std::string::npos);
  EXPECT_NE(call_command(cat("evaluate ", path("m"), " ", words))
                .output.find("\npositive is y=approved: the model keeps it, the rarer one in training\n"),
            std::string::npos);
  // The share of the evaluated rows says nothing.
  const std::string many = rows("many.csv", 80, "approved", "declined");
  EXPECT_EQ(Json::parse(check("m", many, file("recall.toml", kRecall), "--json").output)["positive"],
            "approved");
  EXPECT_EQ(Json::parse(train(words, "n", "--json --positive declined").output)["positive_because"], "flag");
  expect_refused(train(words, "n", "--positive aproved"), {"approved"});
}

// Two models of the same rows and seed differ in what they call positive alone.
TEST_F(PositiveClassVerbs, WhatDisagreesIsRefusedWithACureThatTrainsNothing) {
  const std::string data = rows("rows.csv", 60, "yes", "no");
  const std::string gates =
      file("gates.toml", cat("# Gates.\n# Positive is y=yes.\nlevel = 0.95\n", kRecall));
  ASSERT_EQ(train(data, "yes").code, 0);
  ASSERT_EQ(train(data, "no", "--positive no").code, 0);
  ASSERT_EQ(train(data, "low", "--positive no --threshold 0.4").code, 0);
  EXPECT_EQ(Json::parse(check("yes", data, gates, "--json").output)["positive_because"], "gates");
  expect_refused(check("no", data, gates),
                 {"[positive.differs]", "the gates count from yes", "fix: --positive yes"});
  expect_refused(check("yes", data, gates, "--positive no"), {"[positive.differs]"});
  const Json of_yes = Json::parse(check("yes", data, gates, "--json").output),
             of_no = Json::parse(check("no", data, gates, "--json --positive yes").output);
  EXPECT_EQ(of_yes["gates"], of_no["gates"]) << "the other probability is scored";
  expect_refused(check("low", data, gates), {"[positive.threshold]", "0.4, is of no"});
  expect_refused(check("low", data, gates, "--positive yes"), {"[positive.threshold]"});

  // The baseline.
  const std::string change =
      file("change.toml", "[[gates]]\nmetric = \"recall\"\nchange = \"absolute\"\nmin = 0\n");
  const auto held = [&](const std::string& model, const std::string& before, const std::string& more = "") {
    return check(model, data, change, cat("--baseline ", path(before), " ", more));
  };
  EXPECT_EQ(held("yes", "yes").code, 0);
  expect_refused(held("yes", "no"), {"[positive.differs]", "the baseline", "fix: --positive yes"});
  const Outcome cured = held("yes", "no", "--positive yes --json");
  EXPECT_EQ(cured.code, 0) << cured.error;
  EXPECT_EQ(Json::parse(cured.output)["gates"][0]["findings"][0]["value"],
            Json::parse(held("yes", "yes", "--json").output)["gates"][0]["findings"][0]["value"]);
  expect_refused(held("yes", "low", "--positive yes"), {"[positive.threshold]", "the baseline"});
  expect_refused(call_command(cat("evaluate ", path("yes"), " ", data, " --baseline ", path("no"))),
                 {"[positive.differs]", "fix: --positive yes"});

  // The key, whatever stands in a comment; and a schema.
  const std::string key = file("key.toml", cat("# Positive is y=no.\npositive = \"yes\"\n", kRecall));
  EXPECT_EQ(Json::parse(check("yes", data, key, "--json").output)["positive"], "yes");
  const std::string schema = path("schema.pbtxt");
  ASSERT_EQ(call_command(cat("data schema ", data, " --set y.favourable=no --out ", schema)).code, 0);
  expect_refused(check("yes", data, key, cat("--schema ", schema)), {"[positive.differs]", "favourable"});
  expect_refused(call_command(cat("evaluate ", path("yes"), " ", data, " --positive yes --schema ", schema)),
                 {"[positive.differs]"});
  expect_refused(train(data, "of_schema", cat("--positive yes --schema ", schema)), {"[positive.differs]"});
  EXPECT_EQ(Json::parse(train(data, "of_schema", cat("--json --schema ", schema)).output)["positive_because"],
            "schema");
}

TEST_F(PositiveClassVerbs, TheKeyIsOfTwoClasses) {
  const std::string numbers = file("numbers.csv", "y,p\n1.5,1\n2.5,2\n4,4\n");
  const std::string kinds = file("kinds.csv", "y,p\na,a\nb,c\nc,c\n");
  const std::string gates = file("gates.toml", "positive = \"yes\"\n[[gates]]\nmetric = \"rows\"\nmin = 0\n");
  for (const std::string& of : {cat(numbers, " --task regression"), cat(kinds, " --task classes")}) {
    expect_refused(call_command(cat("check --scores ", of, " --label y --score p --gates ", gates)),
                   {"[gates.positive]", "gates.toml, line 1, column 12"});
  }
  // Of models too.
  std::string learned = "x,y\n", several = learned;
  for (int i = 0; i < 60; ++i) {
    learned += cat(i, ",", i * 37 % 61 + 0.25, "\n");
    several += cat(i, ",", i % 3 == 0 ? "a" : i % 3 == 1 ? "b" : "c", "\n");
  }
  for (const std::string& data : {file("learned.csv", learned), file("several.csv", several)}) {
    std::filesystem::remove_all(path("m"));
    ASSERT_EQ(train(data, "m").code, 0);
    expect_refused(check("m", data, gates), {"[gates.positive]", "gates.toml, line 1, column 12"});
  }
  // 1 and true are what tables call 1.0.
  const std::string rows = file("rows.csv", "y,p\n1.0,0.9\n0.0,0.2\n1.0,0.4\n");
  for (const char* positive : {"1", "1.0", "true", "\"1\""}) {
    const Outcome said = call_command(cat("check --scores ", rows, " --label y --score p --json --gates ",
                                          file("one.toml", cat("positive = ", positive, "\n", kRecall))));
    EXPECT_EQ(Json::parse(said.output)["gates"][0]["findings"][0]["value"], 0.5) << positive << said.error;
  }
}

TEST_F(PositiveClassVerbs, FlagsWithoutAMeaningAreRefused) {
  const std::string data = rows("rows.csv", 60, "yes", "no"), gates = file("gates.toml", kRecall);
  ASSERT_EQ(train(data, "m").code, 0);
  const std::string on = cat(path("m"), " ", data);
  for (const char* flag :
       {"--score x", "--label y", "--weight x", "--task regression", "--missing none", "--not-missing NA"}) {
    const std::string name = std::string(flag).substr(0, std::string(flag).find(' '));
    expect_refused(check("m", data, gates, flag), {"[check.flags]", name});
    expect_refused(call_command(cat("evaluate ", on, " ", flag)), {"[evaluate.flags]", name});
  }
  // --query makes a ranking, which has no threshold and no positive class.
  expect_refused(call_command(cat("evaluate ", on, " --query x --threshold 0.3")),
                 {"--query", "--threshold"});
  expect_refused(
      call_command(cat("evaluate --scores ", data, " --label y --score x --query x --positive yes")),
      {"--query", "--positive"});
  const Outcome ranked = check("m", data, gates, "--query x");
  EXPECT_EQ(ranked.code, 3) << ranked.output << ranked.error;
  EXPECT_NE(ranked.output.find("these rows have no such figure"), std::string::npos) << ranked.output;
  for (const char* task : {"--task regression", "--task classes", "--query x"}) {
    expect_refused(call_command(cat("check --scores ", data, " --label y --score x --positive yes ", task,
                                    " --gates ", gates)),
                   {"--positive"});
  }
  expect_refused(
      call_command(cat("check --scores ", data, " --label y --score x --all-rows --gates ", gates)),
      {"--all-rows"});
  expect_refused(call_command(cat("evaluate --scores ", data, " --label y --score x --all-rows")),
                 {"--all-rows"});
  expect_refused(call_command(cat("check --init --from eval.pbtxt --slice x")), {"--slice"});
  const std::string answers = file("answers.toml", "aim = \"representation\"\n");
  for (const char* flag : {"--score x", "--label y", "--weight x", "--delimiter ';'"})
    expect_refused(call_command(cat("fairness choose --slice x --answers ", answers, " ", flag)), {"--data"});
  expect_refused(call_command(cat("predict ", on, " --positive yes")), {"--threshold"});
  const std::string number = file("number.csv",
                                  "x,y\n1,2.5\n2,3.5\n3,4.75\n4,5\n5,6.5\n6,7.25\n7,8\n8,9.5\n9,10\n"
                                  "10,11.5\n11,12\n12,13.5\n13,14\n14,15\n");
  expect_refused(train(number, "numbers", "--positive yes"), {"[table.positive]", "is a number"});
}

// Scores find four of five of "yes" and, of 1 - p, nine of ten of "no".
TEST_F(PositiveClassVerbs, SlowABaselineOfScoresIsOfTheClassOfItsOwnPair) {
  const std::string data = rows("rows.csv", 60, "yes", "no");
  ASSERT_EQ(train(data, "no", "--positive no").code, 0);
  ASSERT_EQ(train(data, "yes").code, 0);
  const auto scored = [&](const std::string& name, const std::string& yes, const std::string& no) {
    std::string out = "y,p\n";
    for (int i = 0; i < 50; ++i) out += cat(yes, i % 5 ? ",0.9\n" : ",0.1\n");
    for (int i = 0; i < 50; ++i) out += cat(no, i % 10 ? ",0.2\n" : ",0.8\n");
    return file(name, out);
  };
  const std::string before = scored("before.csv", "yes", "no"),
                    words = scored("words.csv", "approved", "declined");
  const std::string change = "[[gates]]\nmetric = \"recall\"\nchange = \"absolute\"\nmin = -1\n";
  const std::string of_no = file("of_no.toml", "positive = \"no\"\n" + change),
                    any = file("any.toml", change);
  const auto found = [](const Outcome& said) {
    EXPECT_EQ(said.code, 0) << said.error;
    return Json::parse(said.output)["gates"][0]["findings"][0];
  };
  const std::string flags = " --label y --score p ";
  for (const std::string& gates : {of_no, any}) {
    const Outcome refused = check("no", data, gates, cat("--baseline ", before, flags));
    expect_refused(refused, {"[positive.differs]", "before.csv are of yes", "fix: --positive no"});
    const Outcome cured = check("no", data, gates, cat("--positive no --json --baseline ", before, flags));
    EXPECT_EQ(found(cured)["baseline"], 0.9);
    EXPECT_EQ(Json::parse(cured.output)["baseline_scores_of"], "yes");
    EXPECT_NE(cured.error.find("1 - score is counted"), std::string::npos) << cured.error;
  }
  const Outcome same = check("yes", data, any, cat("--json --baseline ", before, flags));
  EXPECT_EQ(found(same)["baseline"], 0.8);
  EXPECT_FALSE(Json::parse(same.output).contains("baseline_scores_of"));

  // Words of no pair say nothing, and neither does the model.
  const std::string other = rows("other.csv", 30, "approved", "declined");
  ASSERT_EQ(train(other, "rarer").code, 0);
  const std::string both = "fix: --positive approved, or --positive declined";
  expect_refused(check("rarer", other, any, cat("--baseline ", words, flags)), {"words.csv", both});
  const Outcome named =
      check("rarer", other, any, cat("--positive approved --json --baseline ", words, flags));
  EXPECT_EQ(found(named)["baseline"], 0.8);

  // Checked scores of a pair are of its positive one, whatever gates count.
  const std::string checked = cat("check --scores ", before, flags, "--json --gates ");
  const std::string floor = file("floor.toml", cat("positive = \"no\"\n", kRecall));
  expect_refused(
      call_command(checked + floor),
      {"[positive.differs]", "before.csv are of yes",
       "fix: --positive no where scores are its probability, else positive = \"yes\" in the gates"});
  // Of 50 "no" five have 0.5 or more.
  EXPECT_NEAR(found(call_command(cat(checked, floor, " --positive no")))["value"].get<double>(), 0.1, 1e-12);
  EXPECT_NEAR(
      found(call_command(cat(checked, file("floor.toml", cat("positive = \"yes\"\n", kRecall)))))["value"]
          .get<double>(),
      0.8, 1e-12);
}

TEST_F(PositiveClassVerbs, PredictHearsTheSchemaToo) {
  const std::string data = rows("rows.csv", 60, "yes", "no"), schema = path("schema.pbtxt");
  ASSERT_EQ(train(data, "m").code, 0);
  ASSERT_EQ(call_command(cat("data schema ", data, " --set y.favourable=no --out ", schema)).code, 0);
  const std::string predict =
      cat("predict ", path("m"), " ", data, " --threshold 0.3 --json --schema ", schema);
  const Json said = Json::parse(call_command(predict).output);
  EXPECT_EQ(said["positive"], "no");
  EXPECT_EQ(said["positive_because"], "schema");
  EXPECT_EQ(
      said["predictions"],
      Json::parse(call_command(cat("predict ", path("m"), " ", data, " --threshold 0.3 --json --positive no"))
                      .output)["predictions"]);
  expect_refused(call_command(predict + " --positive yes"), {"[positive.differs]", "fix: --positive no"});
}

// 1 and true, 0 and false are one label in whatever a table writes them.
TEST_F(PositiveClassVerbs, ModelsTakeTheSamePairInOtherWords) {
  const std::string digits = rows("digits.csv", 60, "1", "0"), words = rows("words.csv", 60, "true", "false"),
                    points = rows("points.csv", 60, "1.0", "0.0"), codes = rows("codes.csv", 60, "01", "00");
  std::string lines;
  for (const char* row : {"{\"x\": 1.1, \"y\": true}\n", "{\"x\": 0.1, \"y\": false}\n"}) lines += row;
  const std::string booleans = file("booleans.jsonl", lines);
  ASSERT_EQ(train(digits, "digits").code, 0);
  ASSERT_EQ(train(words, "words").code, 0);
  const auto evaluated = [&](const std::string& model, const std::string& data,
                             const std::string& more = "") {
    const Outcome said = call_command(cat("evaluate ", path(model), " ", data, " --all-rows --json ", more));
    EXPECT_EQ(said.code, 0) << said.error;
    return Json::parse(said.output);
  };
  for (const char* model : {"digits", "words"}) {
    const Json own = evaluated(model, digits);
    for (const std::string& data : {words, points}) {
      const Json other = evaluated(model, data);
      for (const char* key : {"accuracy", "auc", "log_loss"})
        EXPECT_EQ(other[key], own[key]) << model << data << key;
    }
    evaluated(model, booleans);
  }
  expect_refused(call_command(cat("evaluate ", path("words"), " ", codes, " --all-rows")),
                 {"[columns.label]"});
  for (const auto& [now, before] : {std::pair("digits", "words"), std::pair("words", "digits")}) {
    const Json against = evaluated(now, digits, cat("--baseline ", path(before)))["baseline"];
    EXPECT_EQ(against, evaluated(now, digits, cat("--baseline ", path(now)))["baseline"])
        << "of the same rows and seed";
    const std::string gates =
        file("change.toml", "[[gates]]\nmetric = \"recall\"\nchange = \"absolute\"\nmin = 0\nmax = 0\n");
    EXPECT_EQ(check(now, digits, gates, cat("--baseline ", path(before))).code, 0);
  }
}

// By the definitions of log loss and Brier's score.
TEST_F(PositiveClassVerbs, LabelsOfOneKindAreEvaluatedByWhatIsDefined) {
  struct Case {
    const char *label, *more, *positive;
    bool is;
  };
  for (const auto& [label, more, positive, is] :
       {Case{"1", "", "1", true}, Case{"0", "", "1", false}, Case{"no", "", "yes", false},
        Case{"no", "--positive yes", "yes", false},
        Case{"declined", "--positive approved", "approved", false},
        Case{"approved", "--positive approved", "approved", true}}) {
    const std::string rows =
        file("rows.csv", cat("y,p\n", label, ",0.9\n", label, ",0.2\n", label, ",0.6\n"));
    const std::string of = cat(" --scores ", rows, " --label y --score p ", more);
    const Outcome said = call_command(cat("evaluate", of, " --json"));
    ASSERT_EQ(said.code, 0) << label << said.error;
    const Json out = Json::parse(said.output), &all = out["overall"];
    double loss = 0, brier = 0;
    for (const double p : {0.9, 0.2, 0.6}) {
      loss -= std::log(is ? p : 1 - p) / 3;
      brier += std::pow(p - is, 2) / 3;
    }
    EXPECT_EQ(out["positive"], positive);
    EXPECT_NEAR(all["metrics"]["log_loss"]["value"].get<double>(), loss, 1e-12);
    EXPECT_NEAR(all["metrics"]["brier_score"]["value"].get<double>(), brier, 1e-12);
    EXPECT_NEAR(all["at"][0]["rates"]["accuracy"]["value"].get<double>(), is ? 2. / 3 : 1. / 3, 1e-12);
    EXPECT_TRUE(all["metrics"]["auc"]["value"].is_null());
    ASSERT_EQ(out["warnings"].size(), 1u);
    const auto check = [&](const std::string& gates) {
      return call_command(cat("check", of, " --gates ", file("gates.toml", gates))).code;
    };
    EXPECT_EQ(check("[[gates]]\nmetric = \"accuracy\"\nmin = 0.3\n"), 0) << label;
    EXPECT_EQ(check("[[gates]]\nmetric = \"auc\"\nmin = 0.3\n"), 3) << label;
    EXPECT_EQ(check(cat("positive = \"", positive, "\"\n[[gates]]\nmetric = \"auc\"\nmin = 0.3\n")), 3)
        << label;
  }
  // Of a model, too.
  const std::string data = rows("data.csv", 60, "yes", "no"), day = rows("day.csv", 0, "yes", "no");
  ASSERT_EQ(train(data, "m").code, 0);
  const std::string gates = file("gates.toml",
                                 "positive = \"yes\"\n[[gates]]\nmetric = \"auc\"\nmin = 0.1\n"
                                 "[[gates]]\nmetric = \"accuracy\"\nmin = 0\n");
  EXPECT_EQ(check("m", day, gates).code, 3);
  const Json found = Json::parse(check("m", day, gates, "--json").output);
  EXPECT_EQ(found["counts"],
            (Json{{"pass", 1}, {"undecided", 1}, {"blocked", 0}, {"warnings", 0}, {"waived", 0}}));
}

}  // namespace
}  // namespace espalier::cli
