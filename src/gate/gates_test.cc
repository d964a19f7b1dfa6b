#include "gate/gates.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "evaluate/random_rows_test.h"
#include "gate/verdict.h"

namespace espalier {
namespace {

TEST(Gates, AreReadAsWritten) {
  const Gates gates = read_gates(R"toml(
level = 0.9
threshold = 0.3
[[gates]]
metric = "recall"
slice = "sex=Female, age=[25,45)"
min = 0.6
decide = "proven-over"
severity = "warn"
least_rows = 30
[[gates]]
name = "odds"
criterion = "equalized_odds"
between = "sex*age"
max = 0.1
threshold = 0.7
thin = "left-out"
least_rows = 5
[[gates]]
metric = "auc"
change = "relative"
min = -0.01
max = 2
[[waivers]]
gate = "odds"
name = "A. Person"
reason = "the data is old"
expires = 2031-12-31
)toml",
                                 "gates.toml");
  EXPECT_EQ(gates.level, 0.9);
  ASSERT_EQ(gates.gates.size(), 3u);
  const Gate &recall = gates.gates[0], &odds = gates.gates[1], &area = gates.gates[2];
  EXPECT_EQ(recall.name, "true_positive_rate for sex=Female, age=[25,45)");
  EXPECT_EQ(recall.metrics[0].name(), "true_positive_rate");
  EXPECT_EQ(recall.columns(), (std::vector<std::string>{"sex", "age"}));
  EXPECT_EQ(recall.where, Where::kSlice);
  EXPECT_EQ(recall.min, 0.6);
  EXPECT_EQ(recall.max, std::nullopt);
  EXPECT_EQ(recall.decide, Decide::kProvenOver);
  EXPECT_EQ(recall.severity, Severity::kWarn);
  EXPECT_EQ(recall.least_rows, 30);
  EXPECT_EQ(odds.name, "odds");
  EXPECT_EQ(odds.of, "equalised_odds");
  EXPECT_EQ(odds.metrics.size(), 2u);
  EXPECT_EQ(odds.where, Where::kBetween);
  EXPECT_EQ(odds.thin, Thin::kLeftOut);
  EXPECT_EQ(area.name, "auc against the baseline");
  EXPECT_EQ(area.change, Change::kRelative);
  EXPECT_EQ(area.severity, Severity::kError);
  EXPECT_EQ(gates.thresholds(), (std::vector<double>{0.3, 0.7}));
  EXPECT_EQ(gates.slicings(), (std::vector<std::vector<std::string>>{{"sex", "age"}}));
  ASSERT_EQ(gates.waivers.size(), 1u);
  EXPECT_EQ(gates.waivers[0].reason, "the data is old");
  EXPECT_EQ(gates.waivers[0].expires, std::chrono::year(2031) / 12 / 31);
}

TEST(Gates, TheKeyPositiveCountsMoreThanTheCommentOfEarlierVersions) {
  const std::string gate = "[[gates]]\nmetric = \"recall\"\nmin = 0\n";
  const auto positive = [&](const std::string& head, const std::string& label = "paid") {
    return read_gates(head + gate, "gates.toml").positive_of(label);
  };
  EXPECT_EQ(positive(""), "");
  EXPECT_EQ(positive("positive = \"yes\"\n"), "yes");
  EXPECT_EQ(positive("positive = 1\n"), "1");
  EXPECT_EQ(positive("positive = 1.0\n"), "1");
  EXPECT_EQ(positive("positive = true\n"), "true");
  const std::string old = "# Gates of a release.\r\n# Positive is paid=>50K=.\r\n";
  EXPECT_EQ(positive(old), ">50K=");
  EXPECT_EQ(positive(old, "a=b"), "") << "of another label";
  EXPECT_EQ(positive(old, ""), ">50K=") << "of a program that names none";
  EXPECT_EQ(positive("# Positive is a=b=yes.\n", "a=b"), "yes");
  EXPECT_EQ(positive(old + "positive = \"no\"\n"), "no");
  EXPECT_EQ(positive("# Positive is good.\n"), "");
  EXPECT_EQ(positive("level = 0.9\n# Positive is paid=yes.\n"), "") << "not above all keys";
  EXPECT_EQ(rule_of([&] { positive("positive = \"\"\n"); }), "gates.range");
  EXPECT_EQ(rule_of([&] { positive("positive = [1]\n"); }), "gates.type");
}

// The other class has 1 - p.
TEST(Gates, MetricsCountFromOneClassWhereTheOtherGivesAnotherFigure) {
  RandomRows rows = random_rows(400, 3);
  for (double& score : rows.scores) score = score * 0.98 + 0.0051;  // none at 0.5
  RandomRows other = rows;
  for (double& score : other.scores) score = 1 - score;
  for (uint8_t& label : other.labels) label = !label;
  const Assessment one = assess(rows.view(), {}), two = assess(other.view(), {});
  for (const std::string& name : slice_metrics(one)) {
    if (name == "calibration_error") continue;  // of parts whose edges have a side
    const SliceMetric metric(name);
    const auto a = metric(one.overall, 0).value, b = metric(two.overall, 0).value;
    ASSERT_TRUE(a && b) << name;
    EXPECT_EQ(counts_positives(metric, 0.5), std::abs(*a - *b) > 1e-9) << name << " " << *a << " " << *b;
    EXPECT_EQ(counts_positives(metric, 0.4), counts_positives(metric, 0.5) || metric.rate()) << name;
  }
}

TEST(Gates, MistakesNameTheirPlaceAndWhatIsKnown) {
  const std::string good = "[[gates]]\nmetric = \"accuracy\"\nmin = 0.5\n";
  const struct {
    std::string text;
    const char *rule, *place, *says;
  } cases[] = {
      {"", "gates.required", ", line 1, column 1", "at least one of [[gates]]"},
      {"level = 0.9\ngates = []", "gates.required", ", line 1, column 1", "at least one"},
      {"gates = 3", "gates.type", ", line 1, column 9", "[[gates]]"},
      {"gates = [3]", "gates.type", ", line 1, column 10", "gates[0] is a table"},
      {"[[gates]]\nmetric = accuracy", "gates.syntax", ", line 2, column 10", "put quotes around it"},
      {"[[gate]]\nmetric = \"accuracy\"", "gates.key", ", line 1, column 3", "did you mean \"gates\"?"},
      {"[[gates]]\nmetric = \"accuracy\"\nmaximum = 1", "gates.key", ", line 3, column 1", "key of gates[0]"},
      {good + "levle = 1", "gates.key", ", line 4, column 1", "unknown key of gates[0] \"levle\""},
      {"levle = 1\n" + good, "gates.key", ", line 1, column 1", "did you mean \"level\"?"},
      {"level = 1\n" + good, "gates.range", ", line 1, column 9", "between 0 and 1"},
      {"level = \"x\"\n" + good, "gates.type", ", line 1, column 9", "a number from 0 to 1"},
      {"threshold = 2\n" + good, "gates.range", ", line 1, column 13", "from 0 to 1, not 2"},
      {"least_rows = -1\n" + good, "gates.range", ", line 1, column 14", "at least 0, not -1"},
      {good + "least_rows = 1.5", "gates.type", ", line 4, column 14", "a whole number"},
      {"[[gates]]\nmin = 0.5", "gates.required", ", line 1, column 1", "needs a metric, a criterion or data"},
      {good + "criterion = \"equalised_odds\"", "gates.options", ", line 1, column 1", "not both"},
      {"[[gates]]\nmetric = \"acuracy\"\nmin = 0.5", "gates.choice", ", line 2, column 10",
       "did you mean \"accuracy\""},
      {"[[gates]]\ncriterion = \"four_fifths\"\nmin = 0.8", "gates.choice", ", line 2, column 13",
       "criterion = \"demographic_parity\", measure = \"ratio\", min = 0.8"},
      {"[[gates]]\ncriterion = \"equal_odds\"\nmax = 0.5", "gates.choice", ", line 2, column 13",
       "equalised_odds"},
      {"[[gates]]\nmetric = \"\"\nmin = 0.5", "gates.range", ", line 2, column 10", "not \"\""},
      {"[[gates]]\nmetric = 1\nmin = 0.5", "gates.type", ", line 2, column 10", "gates[0].metric is text"},
      {"[[gates]]\nmetric = \"accuracy\"", "gates.required", ", line 1, column 1", "needs a limit"},
      {"[[gates]]\nmetric = \"accuracy\"\nmin = 95", "gates.range", ", line 3, column 7",
       "from 0 to 1, not 95"},
      {"[[gates]]\nmetric = \"accuracy\"\nmin = 9007199254740993", "gates.range", ", line 3, column 7",
       "from 0 to 1"},
      {"[[gates]]\nmetric = \"log_loss\"\nmax = nan", "gates.range", ", line 3, column 7",
       "a number, not nan"},
      {"[[gates]]\nmetric = \"log_loss\"\nmax = inf", "gates.range", ", line 3, column 7", "not inf"},
      {good + "max = 0.4", "gates.options", ", line 3, column 7", "min 0.5 is above max 0.4"},
      {good + "max = \"0.6\"", "gates.type", ", line 4, column 7", "not a TOML string"},
      {good + "slice = \"sex=F\"\neach = \"sex\"", "gates.options", ", line 5, column 8",
       "one of slice, each, between"},
      {good + "slice = \"sex\"", "gates.slice", ", line 4, column 9", "each = \"sex\""},
      {good + "each = \"sex=F\"", "gates.slice", ", line 4, column 8", "slice = \"sex=F\""},
      {good + "each = \"sex*\"", "gates.slice", ", line 4, column 8", "lacks the name"},
      {good + "each = \"sex*sex\"", "gates.slice", ", line 4, column 8", "names a column twice"},
      {good + "measure = \"ratio\"", "gates.options", ", line 4, column 11", "between slices"},
      {"[[gates]]\ncriterion = \"equalised_odds\"\nmax = 0.1", "gates.required", ", line 1, column 1",
       "needs between"},
      {good + "between = \"sex\"", "gates.options", ", line 3, column 7", "it has a max, not a min"},
      {"[[gates]]\ncriterion = \"demographic_parity\"\nbetween = \"sex\"\nmeasure = \"ratio\"\nmax = 0.8",
       "gates.options", ", line 5, column 7", "it has a min, not a max"},
      {good + "measure = \"ration\"", "gates.options", ", line 4, column 11", "no between"},
      {good + "decide = \"proven\"", "gates.choice", ", line 4, column 10",
       "known are estimate, proven-over"},
      {good + "severity = \"warning\"", "gates.choice", ", line 4, column 12", "known are error, warn"},
      {"[[gates]]\nmetric = \"f1\"\nmin = -0.1\ndecide = \"proven-over\"\nchange = \"absolute\"",
       "gates.options", ", line 4, column 10", "f1 has no interval"},
      {"[[gates]]\nmetric = \"f1\"\nmin = 0.5\ndecide = \"proven-over\"", "gates.options",
       ", line 4, column 10", "f1 has no interval"},
      {"[[gates]]\nmetric = \"accuracy\"\nbetween = \"sex\"\ngiven = \"job\"\nmeasure = \"ratio\"\nmin = "
       "0.5\n"
       "decide = \"proven-over\"",
       "gates.options", ", line 7, column 10", "a ratio of what is given has no interval"},
      {good + "against = \"sex\"", "gates.slice", ", line 4, column 11", "or \"overall\", not \"sex\""},
      {good + "against = \"=f\"", "gates.slice", ", line 4, column 11", "not \"=f\""},
      {good + "against = \"overall\"", "gates.options", ", line 4, column 11", "not against itself"},
      {good + "slice = \"a=b\"\nagainst = \"a=b\"", "gates.options", ", line 5, column 11", "against itself"},
      {good + "slice = \"a=b\"\nagainst = \"overall\"\ndecide = \"proven-over\"", "gates.options",
       ", line 6, column 10", "slices that may share rows"},
      {"[[gates]]\nmetric = \"accuracy\"\nbetween = \"sex\"\nagainst = \"sex=f\"\nmax = 0.1", "gates.options",
       ", line 4, column 11", "with each other"},
      {good + "given = \"job\"", "gates.options", ", line 4, column 9", "no between"},
      {"[[gates]]\nmetric = \"f1\"\nbetween = \"sex\"\ngiven = \"job\"\nmax = 0.1", "gates.options",
       ", line 4, column 9", "f1 is none"},
      {"[[gates]]\nmetric = \"recall\"\nbetween = \"sex\"\ngiven = \"job*sex\"\nmax = 0.1", "gates.slice",
       ", line 4, column 9", "names a column twice: \"job*sex\""},
      {"[[gates]]\nmetric = \"recall\"\nbetween = \"sex\"\ngiven = \"job*\"\nmax = 0.1", "gates.slice",
       ", line 4, column 9", "lacks the name of a column"},
      {good + "change = \"relativ\"", "gates.choice", ", line 4, column 10", "did you mean \"relative\"?"},
      {good + "thin = \"left-out\"", "gates.options", ", line 4, column 8", "of each slice or between"},
      {good + "each = \"sex\"\nthin = \"left-out\"", "gates.options", ", line 5, column 8", "there is none"},
      {good + good, "gates.name", ", line 4, column 1", "two gates are named \"accuracy\""},
      {good + "[[waivers]]\ngate = \"accuracy\"", "gates.required", ", line 4, column 1",
       "waivers[0] needs name"},
      {good + "[[waivers]]\ngate = \"acuracy\"\nname = \"a\"\nreason = \"b\"\nexpires = 2031-01-01",
       "gates.waiver", ", line 5, column 8", "did you mean \"accuracy\"?"},
      {good + "[[waivers]]\ngate = \"accuracy\"\nname = \"a\"\nreason = \"\"\nexpires = 2031-01-01",
       "gates.range", ", line 7, column 10", "reason"},
      {good + "[[waivers]]\ngate = \"accuracy\"\nname = \"a\"\nreason = \"b\"\nexpires = \"2031-01-01\"",
       "gates.type", ", line 8, column 11", "a date without quotes"},
      {good + "[[waivers]]\ngate = \"accuracy\"\nname = \"a\"\nreason = \"b\"\nexpires = 2031-02-30",
       "gates.syntax", ", line 8, column 21", "day"},
      {good + "[[waivers]]\ngate = \"accuracy\"\nname = \"a\"\nreason = \"b\"\nexpires = 2031-01-01\nslice = "
              "\"sex=F\"",
       "gates.waiver", ", line 9, column 9", "one of each slice"},
      {std::string((1 << 20) + 1, '\n'), "gates.size", "", "at most 1048576 bytes"},
  };
  for (const auto& wrong : cases) {
    try {
      read_gates(wrong.text, "gates.toml");
      ADD_FAILURE() << "accepted: " << wrong.text;
    } catch (const FormatError& error) {
      const std::string text = error.what();
      EXPECT_EQ(error.rule(), wrong.rule) << text;
      EXPECT_NE(text.find(cat("gates.toml", wrong.place, ": ")), std::string::npos) << wrong.text << "\n"
                                                                                    << text;
      EXPECT_NE(text.find(wrong.says), std::string::npos) << wrong.text << "\n" << text;
    }
  }
}

TEST(Gates, ConditionsAreReadAndTheirMistakesShowFileAndPlace) {
  const std::string gate = "[[gates]]\nmetric = \"auc\"\nslice = \"old=yes\"\nmin = 0.5\n";
  const Gates gates = read_gates(
      "where = 'sex = \"F\"'\n[slices]\nold = \"age >= 60\"\n\"long hours\" = \"hours > 50\"\n" + gate,
      "gates.toml");
  EXPECT_EQ(gates.where->canonical(), "sex = \"F\"");
  EXPECT_EQ(gates.slices.at("old").canonical(), "age >= 60");
  EXPECT_EQ(gates.slices.at("long hours").canonical(), "hours > 50");
  EXPECT_EQ(read_gates(gate, "gates.toml").where, std::nullopt);
  const auto mistake = [&](const std::string& keys) {
    try {
      read_gates(keys + "\n" + gate, "gates.toml");
    } catch (const FormatError& error) {
      return cat(error.rule(), ": ", error.message());
    }
    return std::string("read");
  };
  EXPECT_EQ(mistake("level = 0.9\n[slices]\nold = \"age >=\""),
            "expression.syntax: gates.toml, line 3, column 7: slices.old: a value is missing before the end\n"
            "    age >=\n"
            "          ^");
  EXPECT_EQ(read_gates("[answers]\nharm = \"a refusal\"\n" + gate, "gates.toml").answers.at("harm"),
            "a refusal");
  EXPECT_TRUE(mistake("[answers]\nharm = 3").starts_with("gates.type: gates.toml, line 2"));
  EXPECT_TRUE(mistake("where = 3").starts_with("gates.type: gates.toml, line 1"));
  EXPECT_TRUE(mistake("slices = 3").starts_with("gates.type: gates.toml, line 1"));
  EXPECT_TRUE(mistake("[slices]\nold = 3").starts_with("gates.type: gates.toml, line 2"));
  EXPECT_EQ(mistake("[slices]\n\"a*b\" = \"c > 1\"\n\"a=b\" = \"c > 1\""), "read");
}

TEST(Gates, EdgesOfNumbersAreReadWrittenAndTheirMistakesShowFileAndPlace) {
  const std::string gate = "[[gates]]\nmetric = \"auc\"\nmin = 0.5\n";
  const auto mistake = [&](const std::string& edges) {
    try {
      read_gates("[buckets]\n" + edges + "\n" + gate, "gates.toml");
    } catch (const FormatError& error) {
      return cat(error.rule(), ": ", error.message());
    }
    return std::string("read");
  };
  const Gates gates = read_gates("[buckets]\nage = [18, 2.5e1]\n\"a b\" = [-1]\n" + gate, "gates.toml");
  EXPECT_EQ(gates.buckets, (std::map<std::string, std::vector<double>>{{"a b", {-1}}, {"age", {18, 25}}}));
  EXPECT_EQ(mistake("age = [25, 18]"),
            "gates.range: gates.toml, line 2, column 12: buckets.age is a list of numbers that ascend, as "
            "[25, 45]");
  for (const char* wrong : {"age = [18, 18]", "age = [nan]", "age = [\"18\"]", "age = []"})
    EXPECT_TRUE(mistake(wrong).starts_with("gates.range: gates.toml, line 2")) << wrong;
  EXPECT_TRUE(mistake("age = 18").starts_with("gates.type: gates.toml, line 2"));
  EXPECT_EQ(mistake("\"a=b\" = [1]"), "read");
  const RandomRows rows = random_rows(100, 9, false);
  EXPECT_EQ(read_gates(gates_of(assess(rows.view(), {}), gates), "again").buckets, gates.buckets);
}

TEST(Gates, AreAskedAtTheThresholdsAndSlicesThatTheyName) {
  const Gates gates = read_gates(R"(
[[gates]]
metric = "accuracy"
each = "sex"
min = 0
[[gates]]
metric = "accuracy"
between = "sex"
max = 1
[[gates]]
metric = "accuracy"
slice = "race=b, c"
min = 0
threshold = 0.25
)",
                                 "gates.toml");
  EXPECT_EQ(gates.thresholds(), (std::vector<double>{0.25, 0.5}));
  EXPECT_EQ(gates.slicings(), (std::vector<std::vector<std::string>>{{"sex"}, {"race"}}));
}

TEST(Gates, WithinStrataAskForTheCross) {
  const Gates gates = read_gates(
      "[[gates]]\ncriterion = \"equal_opportunity\"\nbetween = \"sex\"\ngiven = \"job*age\"\nmax = 0.1\n",
      "gates.toml");
  EXPECT_EQ(gates.gates[0].given, (std::vector<std::string>{"job", "age"}));
  EXPECT_EQ(gates.gates[0].name, "equal_opportunity between sex within job*age");
  EXPECT_EQ(gates.slicings(), (std::vector<std::vector<std::string>>{{"sex", "job", "age"}}));
}

TEST(Gates, AgainstASliceAskForItToo) {
  const Gates gates = read_gates(
      "[[gates]]\nmetric = \"auc\"\neach = \"sex*age\"\nagainst = \"race=b, c\"\nmin = -0.1\n", "gates.toml");
  EXPECT_EQ(gates.gates[0].against, "race=\"b, c\"");
  EXPECT_EQ(gates.gates[0].name, "auc for each sex*age against race=\"b, c\"");
  EXPECT_FALSE(gates.gates[0].apart());
  EXPECT_EQ(gates.slicings(), (std::vector<std::vector<std::string>>{{"sex", "age"}, {"race"}}));
}

TEST(Gates, OnDataHaveAQuestionAndPerhapsALimit) {
  const Gates gates = read_gates(
      "[[gates]]\ndata = \"drift\"\nmax = 2\nseverity = \"warn\"\n[[gates]]\ndata = \"schema\"\n"
      "[[waivers]]\ngate = \"data: schema\"\nslice = \"age\"\nname = \"a\"\nreason = \"b\"\n"
      "expires = 2031-01-01\n",
      "gates.toml");
  EXPECT_TRUE(gates.ask_data());
  EXPECT_EQ(gates.gates[0].fault, FaultOf::kDrift);
  EXPECT_EQ(gates.gates[0].max, 2);
  EXPECT_EQ(gates.gates[0].severity, Severity::kWarn);
  EXPECT_EQ(gates.gates[1].max, 0);
  EXPECT_EQ(gates.gates[1].severity, Severity::kError);
  EXPECT_EQ(gates.gates[1].name, "data: schema");
  EXPECT_TRUE(gates.slicings().empty());
  EXPECT_FALSE(read_gates("[[gates]]\nmetric = \"auc\"\nmin = 0.5", "gates.toml").ask_data());
  EXPECT_EQ(rule_of([] { read_gates("[[gates]]\ndata = \"drifts\"", "g"); }), "gates.choice");
  const Gates of_age = read_gates("[[gates]]\ndata = \"drift\"\ncolumn = \"age\"", "g");
  EXPECT_EQ(of_age.gates[0].name, "data: drift of age");
  EXPECT_EQ(rule_of([&] { check_columns(of_age, {}, parse_csv("size,kind\n1,a\n2,b\n")); }), "csv.column");
  check_columns(of_age, {}, parse_csv("age,kind\n1,a\n2,b\n"));
  EXPECT_EQ(rule_of([] { read_gates("[[gates]]\nmetric = \"auc\"\nmin = 0.5\ncolumn = \"age\"", "g"); }),
            "gates.options");
  EXPECT_EQ(rule_of([] { read_gates("[[gates]]\ndata = \"drift\"\nmetric = \"auc\"", "g"); }),
            "gates.options");
  EXPECT_EQ(rule_of([] { read_gates("[[gates]]\ndata = \"drift\"\nmax = -1", "g"); }), "gates.range");
}

TEST(GatesOf, AreReadBackAndJudged) {
  const RandomRows rows = random_rows(2000, 9, false);
  CategoryColumn odd{"a \"b\"\n[[gates]]", {"x", "y\n[[gates]]", "\xff"}, {}}, sex{"sex", {"f", "m"}, {}};
  CategoryColumn signs{"a=b, *\n[[gates]]", {"x", "y, z=1"}, {}};
  for (size_t i = 0; i < rows.scores.size(); ++i) {
    odd.codes.push_back(i % 3);
    sex.codes.push_back(i % 2);
    signs.codes.push_back(i % 2);
  }
  const Assessment given = assess(rows.view(), {{&odd}, {&sex}, {&odd, &sex}, {&signs}},
                                  {.thresholds = {0.3, 0.5, 0.7}, .level = 0.9});
  const std::string text = gates_of(given);
  const Gates gates = read_gates(text, "gates.toml");
  EXPECT_EQ(gates.level, 0.9);
  EXPECT_EQ(gates.thresholds(), std::vector<double>{0.5});
  ASSERT_EQ(gates.gates.size(), 2u + 4 * 3);
  EXPECT_EQ(gates.slicings().size(), 4u);
  const Verdict verdict = judge(gates, given, nullptr, {});
  for (const GateResult& result : verdict.results) {
    for (const Finding& finding : result.findings)
      EXPECT_TRUE(finding.judged) << result.gate.name << finding.reason;
  }
  EXPECT_EQ(verdict.results[0].ruling, Ruling::kPass);
  EXPECT_EQ(verdict.results[1].ruling, Ruling::kPass);
  EXPECT_NE(text.find(cat("# Today pass: ", verdict.results[0].sentence, ".\n[[gates]]\nmetric = \"auc\"\n")),
            std::string::npos)
      << text;
  CategoryColumn bytes{"\xff", {"x", "y"}, signs.codes};
  EXPECT_EQ(rule_of([&] { gates_of(assess(rows.view(), {{&bytes}})); }), "toml.utf8");
}

// Saying that nothing is positive is right nearly always.
TEST(GatesOf, AskWhetherWhatIsRareIsFound) {
  RandomRows rows = random_rows(2000, 9, false);
  const auto asked = [&](const char* metric) {
    return gates_of(assess(rows.view(), {})).find(cat("metric = \"", metric, "\"")) != std::string::npos;
  };
  EXPECT_FALSE(asked("true_positive_rate") || asked("true_negative_rate")) << "a third is positive";
  for (size_t i = 0; i < rows.labels.size(); ++i) rows.labels[i] = i % 20 == 0;
  EXPECT_TRUE(asked("true_positive_rate") && !asked("true_negative_rate"));
  for (uint8_t& label : rows.labels) label = !label;
  EXPECT_TRUE(!asked("true_positive_rate") && asked("true_negative_rate"));
}

TEST(Gates, AFirstFileHasNoGateThatCannotFail) {
  // Of 1,000 positives among 20,000 rows 20 are found.
  std::vector<double> scores(20000, 0.25);
  std::vector<uint8_t> labels(20000);
  std::fill_n(labels.begin(), 1000, 1);
  std::fill_n(scores.begin(), 20, 0.75);
  const std::string text = gates_of(assess(ScoredRows(scores, labels), {}));
  EXPECT_NE(text.find("metric = \"true_positive_rate\"\nmin = 0.016\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace espalier
