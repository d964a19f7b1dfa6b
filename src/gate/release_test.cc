#include "espalier/release.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "base/philox.h"
#include "base/rule_of_test.h"
#include "base/scratch_test.h"

namespace espalier {
namespace {

// 20 rows of women, of whose 10 positives 6 are found, and 20 of men, of whose 10 positives 9 are.
struct People {
  BinaryScores scores;
  std::string text = "sex,age\n";

  explicit People(int times = 1) {
    for (int i = 0; i < 40 * times; ++i) {
      const bool woman = i % 40 < 20, positive = i % 20 < 10;
      const int place = i % 10;
      const bool said = positive ? place < (woman ? 6 : 9) : place < 2;
      scores.scores.push_back(said ? 0.75 : 0.25);
      scores.labels.push_back(positive);
      text += cat(woman ? "Female," : "Male,", 20 + i % 40, "\n");
    }
  }
  CsvTable table() const { return parse_csv(text); }
};

TEST(EvaluateScores, FiguresAreCounted) {
  const People people;
  const Evaluation evaluation = evaluate_scores(people.scores, {.columns = people.table(),
                                                                .slices = {"sex", "sex*old"},
                                                                .conditions = {{"old", "age >= 40"}},
                                                                .thresholds = {0.2, 0.5},
                                                                .min_slice = 10});
  EXPECT_EQ(evaluation.slices(), (std::vector<std::string>{"overall", "sex=Female", "sex=Male",
                                                           "sex=Female, old=no", "sex=Male, old=yes"}));
  const EvaluatedFigure women = evaluation.figure("recall", "sex=Female", 0.5);
  EXPECT_EQ(women.value, 0.6);
  EXPECT_EQ(women.rows, 10);
  // Wilson's interval of 6 of 10.
  const double z = 1.959963984540054, n = 10, p = 0.6, middle = (p + z * z / (2 * n)) / (1 + z * z / n),
               half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  EXPECT_NEAR(women.low.value(), middle - half, 1e-12);
  EXPECT_NEAR(women.high.value(), middle + half, 1e-12);
  EXPECT_EQ(evaluation.figure("true_positive_rate", "sex=Male", 0.5).value, 0.9);
  EXPECT_EQ(evaluation.figure("recall", "sex=Female").value, 1) << "at the first threshold";
  EXPECT_EQ(evaluation.figure("accuracy", "overall", 0.5).value, (6 + 8 + 9 + 8) / 40.);
  EXPECT_NE(evaluation.text().find("equal opportunity"), std::string::npos) << evaluation.text();
  EXPECT_EQ(evaluation.json().front(), '{');
  EXPECT_NE(evaluation.csv().find("sex=Female"), std::string::npos);

  try {
    evaluation.figure("recal");
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.rule(), "evaluate.metric");
    EXPECT_EQ(error.fix(), "did you mean \"recall\"?");
    EXPECT_EQ(error.message().find("ndcg"), std::string::npos) << error.message();
  }
  EXPECT_EQ(rule_of([&] { evaluation.figure("rmse"); }), "evaluate.metric");
  EXPECT_EQ(rule_of([&] { evaluation.figure("recall", "sex=F"); }), "evaluate.slice");
  EXPECT_EQ(rule_of([&] { evaluation.figure("recall", "overall", 0.3); }), "evaluate.threshold");
}

TEST(EvaluateScores, AnyTask) {
  const ClassScores classes{.classes = {"a", "b", "c"},
                            .labels = {0, 1, 2, 2},
                            .probabilities = {.6, .2, .2, .5, .3, .2, 0, .1, .9, .2, .4, .4}};
  // The first of the likeliest: a, a, c, b.
  EXPECT_EQ(evaluate_scores(classes).figure("accuracy").value, 0.5);
  EXPECT_EQ(evaluate_scores(classes).figure("recall[c]").value, 0.5);
  ClassScores said = classes;
  said.said = {0, 1, 2, 2};
  EXPECT_EQ(evaluate_scores(said).figure("accuracy").value, 1);
  const NumberScores numbers{.predictions = {1, 2, 4}, .truths = {1, 3, 1}, .weights = {1, 1, 2}};
  EXPECT_EQ(evaluate_scores(numbers).figure("mae").value, (0 + 1 + 2 * 3) / 4.);
  const QueryScores queries{.scores = {2, 1, 5}, .gains = {0, 1, 1}, .queries = {0, 0, 1}};
  EXPECT_NEAR(evaluate_scores(queries).figure("ndcg").value.value(), (1 / std::log2(3) + 1) / 2, 1e-12);
}

// A model of several classes has no thresholds: each figure stands there once for each slice.
TEST(EvaluateScores, ATableOfFiguresNeedsNoThreshold) {
  const ClassScores scores{.classes = {"a", "b", "c"}, .labels = {0, 1, 2, 2}, .said = {0, 0, 2, 1}};
  const Evaluation evaluation = evaluate_scores(
      scores, {.columns = parse_csv("side\nleft\nright\nleft\nright\n", {.header = CsvHeader::kYes}),
               .slices = {"side"}});
  const CsvTable table = parse_csv(evaluation.csv(), {.header = CsvHeader::kYes});
  std::map<std::string, int> lines;
  std::map<std::string, std::string> accuracies;
  for (int64_t row = 0; row < table.rows(); ++row) {
    const auto cell = [&](const char* name) { return std::string(table.cell(row, table.column(name))); };
    ++lines[cell("metric")];
    EXPECT_EQ(cell("threshold"), "") << cell("metric");
    if (cell("metric") == "accuracy") accuracies[cell("slice")] = cat(cell("value"), " of ", cell("counted"));
  }
  EXPECT_EQ(accuracies, (std::map<std::string, std::string>{
                            {"overall", "0.5 of 4"}, {"side=left", "1 of 2"}, {"side=right", "0 of 2"}}));
  for (const std::string& name : evaluation.metrics()) {
    if (name != "rows" && name != "positives") {
      EXPECT_EQ(lines[name], 3) << name;
    }
  }
}

TEST(EvaluateScores, WhatDoesNotFitIsRefused) {
  const People people;
  const auto rule = [&](const EvaluationOptions& options) {
    return rule_of([&] { evaluate_scores(people.scores, options); });
  };
  EXPECT_EQ(rule({.columns = parse_csv("sex\na\nb\n")}), "evaluate.rows");
  EXPECT_EQ(rule({.slices = {"sex"}}), "evaluate.slice");
  EXPECT_EQ(rule({.columns = people.table(), .slices = {"sx"}}), "csv.column");
  EXPECT_EQ(rule({.columns = people.table(), .conditions = {{"old", "age >"}}}), "expression.syntax");
  EXPECT_EQ(rule({.columns = people.table(), .conditions = {{"sex", "age > 3"}}}), "evaluate.slice");
  EXPECT_EQ(rule({.columns = people.table(), .buckets = {{"age", {45, 25}}}}), "evaluate.bucket");
  EXPECT_EQ(rule({.bootstrap = -1}), "evaluate.interval");
  BinaryScores bad = people.scores;
  bad.labels[3] = 7;
  EXPECT_EQ(rule_of([&] { evaluate_scores(bad); }), "evaluate.label");
  EXPECT_EQ(rule_of([&] {
              evaluate_scores(NumberScores{.predictions = {1, 2}, .truths = {1}});
            }),
            "evaluate.rows");
  EXPECT_EQ(rule_of([&] {
              evaluate_scores(ClassScores{.classes = {"a", "b"}, .labels = {0, 1}, .probabilities = {1, 0}});
            }),
            "evaluate.rows");
  EXPECT_EQ(rule_of([&] {
              evaluate_scores(ClassScores{.classes = {"a", "b"}, .labels = {0}, .probabilities = {.2, .1}});
            }),
            "evaluate.probability");
}

const std::string kOpportunity =
    "[[gates]]\ncriterion = 'equal_opportunity'\nbetween = 'sex'\nmax = 0.1\nname = 'found alike'\n";

TEST(ReleaseGates, SayWhetherAReleasePasses) {
  const People people(20);
  const ReleaseGates gates = ReleaseGates::parse(kOpportunity);
  const ReleaseVerdict verdict = gates.judge(people.scores, {.columns = people.table()});
  EXPECT_EQ(verdict.ruling(), Ruling::kBlocked);
  EXPECT_EQ(verdict.exit_code(), 1);
  EXPECT_TRUE(
      verdict.sentence().starts_with("Blocked: true positive rate for sex=Female is 0.60 against 0.90"))
      << verdict.sentence();
  EXPECT_TRUE(verdict.text().starts_with(verdict.sentence()));
  EXPECT_NE(verdict.junit().find("<failure"), std::string::npos);
  EXPECT_NE(verdict.prometheus().find("# TYPE"), std::string::npos);
  const std::string page = verdict.page("the model of May");
  EXPECT_NE(page.find("the model of May"), std::string::npos);
  EXPECT_EQ(page.find("next: "), std::string::npos) << "no command is known";

  // Among the young, places 0 to 5 of each ten, all are found: without one who is not there is no gap.
  const ReleaseGates young =
      ReleaseGates::parse("where = 'age < 26 or age between 40 and 45'\n" + kOpportunity);
  EXPECT_EQ(young.judge(people.scores, {.columns = people.table()}).ruling(), Ruling::kPass);
  EXPECT_EQ(rule_of([&] {
              ReleaseGates::parse("where = 'age > 99'\n" + kOpportunity)
                  .judge(people.scores, {.columns = people.table()});
            }),
            "where.rows");
  EXPECT_EQ(rule_of([&] { gates.judge(people.scores, {.columns = parse_csv("age\n1\n")}); }),
            "evaluate.rows");
  EXPECT_EQ(rule_of([&] { gates.judge(people.scores); }), "evaluate.slice");
  EXPECT_EQ(rule_of([] { ReleaseGates::parse("[[gates]]\nmetric = 'acuracy'\nmin = 0\n"); }), "gates.choice");
  EXPECT_EQ(rule_of([] { ReleaseGates::load("no such file.toml"); }), "file.read");
}

TEST(ReleaseGates, ABaselineIsOfTheRowsOfTheColumns) {
  const People people, more(2);
  const ReleaseGates change =
      ReleaseGates::parse("[[gates]]\nmetric = 'recall'\nchange = 'absolute'\nmin = -0.01\n");
  EXPECT_EQ(change.judge(people.scores, {.columns = people.table(), .baseline = people.scores}).exit_code(),
            0);
  EXPECT_EQ(
      rule_of([&] { change.judge(people.scores, {.columns = people.table(), .baseline = more.scores}); }),
      "evaluate.rows");
}

// All of a release: its figures, too.
TEST(ReleaseGates, IntervalsHaveTheLevelOfTheFile) {
  const People people(20);
  // Wilson's intervals of 120 of 200, at two levels.
  for (const auto& [head, z] : {std::pair{"", 1.959963984540054}, {"level = 0.8\n", 1.2815515655446004}}) {
    const ReleaseVerdict verdict =
        ReleaseGates::parse(head + kOpportunity).judge(people.scores, {.columns = people.table()});
    const CsvTable figures = parse_csv(verdict.csv(), {.header = CsvHeader::kYes});
    const auto cell = [&](int64_t row, const char* column) {
      return std::string(figures.cell(row, figures.column(column)));
    };
    const double n = 200, p = 0.6, middle = (p + z * z / (2 * n)) / (1 + z * z / n),
                 half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    int seen = 0;
    for (int64_t row = 0; row < figures.rows(); ++row) {
      if (cell(row, "slice") != "sex=Female" || cell(row, "metric") != "true_positive_rate") continue;
      ++seen;
      EXPECT_NEAR(std::stod(cell(row, "low")), middle - half, 1e-6) << head;
      EXPECT_NEAR(std::stod(cell(row, "high")), middle + half, 1e-6) << head;
    }
    EXPECT_EQ(seen, 1) << verdict.csv();
  }
}

TEST(ReleaseGates, WhatIsNotGivenLeavesThemUndecided) {
  const People people(20);
  const ReleaseGates change =
      ReleaseGates::parse("[[gates]]\nmetric = 'recall'\nchange = 'absolute'\nmin = -0.01\n");
  EXPECT_EQ(change.judge(people.scores).exit_code(), 3);
  People better(20);
  for (size_t i = 0; i < better.scores.scores.size(); ++i)
    better.scores.scores[i] = better.scores.labels[i] ? 0.75 : 0.25;
  EXPECT_EQ(change.judge(people.scores, {.baseline = better.scores}).exit_code(), 1);
  EXPECT_EQ(change.judge(better.scores, {.baseline = people.scores}).exit_code(), 0);

  const ReleaseGates drift = ReleaseGates::parse("[[gates]]\ndata = 'drift'\nmax = 0\n");
  EXPECT_EQ(drift.judge(people.scores, {.columns = people.table()}).exit_code(), 3);
  EXPECT_EQ(
      drift.judge(people.scores, {.columns = people.table(), .training = People(30).table()}).exit_code(), 0);
  std::string older = "sex,age\n";
  for (int i = 0; i < 900; ++i) older += cat(i % 2 ? "Male," : "Female,", 30 + i % 45, "\n");
  const ReleaseVerdict drifted =
      drift.judge(people.scores, {.columns = people.table(), .training = parse_csv(older)});
  EXPECT_EQ(drifted.exit_code(), 1);
  EXPECT_NE(drifted.sentence().find("age"), std::string::npos) << drifted.sentence();
  EXPECT_NE(drifted.page("p").find("training"), std::string::npos);
}

// The new rows write another word than the training rows where a town is not known.
TEST(ReleaseGates, OnDataTakeTheWordsForMissingThatAreGiven) {
  const People people(20);
  const auto towns = [](const char* unknown) {
    std::string text = "town\n";
    for (int i = 0; i < 800; ++i) text += cat(i % 10 < 3 ? unknown : i % 3 ? "Oslo" : "Bonn", "\n");
    return parse_csv(text, {.header = CsvHeader::kYes});
  };
  const CsvTable before = towns("unknown"), now = towns("nowhere");
  for (const char* data : {"drift", "schema"}) {
    const ReleaseGates gates = ReleaseGates::parse(cat("[[gates]]\ndata = '", data, "'\nmax = 0\n"));
    const auto code = [&](const std::vector<std::string>& missing) {
      return gates.judge(people.scores, {.columns = now, .training = before, .missing = missing}).exit_code();
    };
    EXPECT_EQ(code({"", "unknown", "nowhere"}), 0) << data;
    EXPECT_EQ(code({""}), 1) << data;
  }
}

TEST(ReleaseGates, CountFromTheClassThatScoresAreOf) {
  const std::string gate = "[[gates]]\nmetric = 'recall'\nmin = 0\n";
  People people, before;
  const auto judge = [&](const std::string& head, const ReleaseOptions& options = {}) {
    return ReleaseGates::parse(head + gate).judge(people.scores, options).json();
  };
  EXPECT_NE(judge("").find("\"positive\": null"), std::string::npos) << "nobody says it";
  for (const char* head : {"positive = 'yes'\n", "# Positive is paid=yes.\n"}) {
    EXPECT_NE(judge(head).find("\"positive\": \"yes\",\n  \"positive_because\": \"gates\""),
              std::string::npos)
        << "the gates alone";
    before.scores.positive = "no";
    EXPECT_EQ(rule_of([&] { judge(head, {.baseline = before.scores}); }), "positive.differs");
  }
  people.scores.positive = "paid=yes";
  EXPECT_NE(judge("positive = 'yes'\n").find("\"positive\": \"yes\",\n  \"positive_because\": \"gates\""),
            std::string::npos);
  EXPECT_NE(judge("").find("\"positive_because\": \"scores\""), std::string::npos);
  EXPECT_EQ(rule_of([&] { judge("positive = 'no'\n"); }), "gates.positive");
  EXPECT_EQ(rule_of([&] { judge("# Positive is paid=no.\n"); }), "gates.positive");
  before.scores.positive = "no";
  EXPECT_EQ(rule_of([&] { judge("", {.baseline = before.scores}); }), "positive.differs");
  before.scores.positive = "yes";
  EXPECT_NE(judge("", {.baseline = before.scores}), "");
  const NumberScores numbers{.predictions = {1, 2}, .truths = {1, 3}};
  EXPECT_EQ(rule_of([&] { ReleaseGates::parse("positive = 1\n" + gate).judge(numbers); }), "gates.positive");
}

TEST(ReleaseGates, WaiversAreHeldAgainstTheDay) {
  using namespace std::chrono_literals;
  const People people(20);
  const ReleaseGates gates = ReleaseGates::parse(
      kOpportunity + "[[waivers]]\ngate = 'found alike'\nname = 'A'\nreason = 'B'\nexpires = 2031-06-30\n");
  const auto code = [&](std::chrono::year_month_day today) {
    return gates.judge(people.scores, {.columns = people.table(), .today = today}).exit_code();
  };
  EXPECT_EQ(code(2031y / 6 / 30), 0);
  EXPECT_EQ(code(2031y / 7 / 1), 1);
}

}  // namespace
}  // namespace espalier
