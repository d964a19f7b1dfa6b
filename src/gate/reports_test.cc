#include "gate/reports.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/json.h"
#include "espalier/csv.h"
#include "evaluate/random_rows_test.h"
#include "gate/figures_test.h"

namespace espalier {
namespace {

const char* const kGates = R"toml(
[[gates]]
metric = "accuracy"
min = 0.5
[[gates]]
name = "<\"a\" & b>"
metric = "accuracy"
each = "g"
min = 0.65
[[gates]]
metric = "recall"
between = "g"
max = 0.1
severity = "warn"
[[gates]]
metric = "auc"
min = 0.5
[[gates]]
name = "waived"
metric = "recall"
max = 0.1
[[waivers]]
gate = "waived"
name = "A. Person"
reason = "r < 1"
expires = 2030-12-31
)toml";

Verdict verdict_of(const std::string& second = "b") {
  const Assessment given = assessment_of("g", {{"a", 40, 10, 40, 10}, {second, 20, 30, 20, 30}});
  return judge(read_gates(kGates, "gates.toml"), given, nullptr, std::chrono::year(2030) / 6 / 15);
}

TEST(GateReports, TextLinesUp) {
  EXPECT_EQ(text_report(verdict_of(), {}),
            R"(Blocked: accuracy for g=b is 0.40 (95 % interval 0.31 to 0.50, limit at least 0.65; 100 rows).

gate                          slice      number  95 % interval  limit          rows  verdict
----------------------------  ---------  ------  -------------  -------------  ----  --------------
accuracy                      overall      0.60  0.53 to 0.67   at least 0.5    200  pass
<"a" & b>                     g=b          0.40  0.31 to 0.50   at least 0.65   100  blocked
true_positive_rate between g  g=b / g=a    0.40  0.21 to 0.55   at most 0.1      50  blocked, warns
auc                           overall         -  -              at least 0.5    200  undecided
waived                        overall      0.60  0.50 to 0.69   at most 0.1     100  waived

Warning: true positive rate for g=b is 0.40 against 0.80 (gap 0.40, 95 % interval 0.21 to 0.55, limit 0.1; 50 positives).
Undecided: AUC cannot be judged: it is undefined.
Waiver: "waived" is waived by A. Person until 2030-12-31: r < 1.
)");
}

TEST(GateReports, TextHasALineForEachNumberThatDoesNotPass) {
  const Gates gates = read_gates("[[gates]]\nmetric = \"accuracy\"\neach = \"g\"\nmin = 0.5", "");
  const Assessment given =
      assessment_of("g", {{"a", 40, 10, 40, 10}, {"b", 20, 30, 20, 30}, {"c", 10, 40, 20, 30}});
  const std::string text = text_report(judge(gates, given, nullptr, {}), {});
  EXPECT_NE(text.find("\naccuracy for each g  g=c"), std::string::npos) << text;
  EXPECT_NE(text.find("\n                     g=b"), std::string::npos) << text;
  EXPECT_EQ(text.find("g=a"), std::string::npos) << text;
}

TEST(GateReports, TextSaysWhatIsLeftOut) {
  const Gates gates = read_gates(
      "[[gates]]\nmetric = \"accuracy\"\neach = \"g\"\nmin = 0\nleast_rows = 20\nthin = \"left-out\"", "");
  const Assessment given = assessment_of("g", {{"a", 40, 10, 40, 10}, {"b", 1, 1, 1, 1}});
  const std::string text = text_report(judge(gates, given, nullptr, {}), {});
  EXPECT_NE(
      text.find(
          "\nLeft out: 1 slice that counts fewer than least_rows = 20 rows, of \"accuracy for each g\".\n"),
      std::string::npos)
      << text;
  const Gates rates = read_gates(
      "[[gates]]\ncriterion = \"equalized_odds\"\nbetween = \"g\"\nmax = 1\nleast_rows = 5\n"
      "thin = \"left-out\"",
      "");
  const std::string of_rates = text_report(judge(rates, given, nullptr, {}), {});
  EXPECT_NE(of_rates.find("Left out: 1 slice that counts fewer than least_rows = 5 negatives or positives"),
            std::string::npos)
      << of_rates;
}

TEST(GateReports, TextShowsNothingThatATerminalObeys) {
  const std::string text = text_report(verdict_of("\x1b]0;x\n"), {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("accuracy for g=?]0;x\\n is"), std::string::npos) << text;
}

TEST(GateReports, JsonHoldsTheVerdict) {
  const nlohmann::ordered_json json = parse_json(json_report(verdict_of()));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["verdict"], "blocked");
  EXPECT_EQ(json["date"], "2030-06-15");
  EXPECT_EQ(json["level"], 0.95);
  EXPECT_EQ(json["counts"].dump(), R"({"pass":2,"undecided":1,"blocked":2,"warnings":1,"waived":1})");
  ASSERT_EQ(json["gates"].size(), 5u);
  const auto& gap = json["gates"][2];
  EXPECT_EQ(gap["of"], "true_positive_rate");
  EXPECT_EQ(gap["where"], "between");
  EXPECT_EQ(gap["slice"], "g");
  EXPECT_EQ(gap["severity"], "warn");
  EXPECT_EQ(gap["max"], 0.1);
  EXPECT_TRUE(gap["min"].is_null());
  const auto& finding = gap["findings"][0];
  EXPECT_EQ(finding["slice"], "g=b");
  EXPECT_EQ(finding["other"], "g=a");
  EXPECT_EQ(finding["formula"], "TP / (TP + FN)");
  EXPECT_EQ(finding["value"], 0.4);
  EXPECT_EQ(finding["other_value"], 0.8);
  EXPECT_DOUBLE_EQ(finding["judged"], 0.4);
  EXPECT_EQ(finding["interval"].size(), 2u);
  EXPECT_EQ(finding["rows"], 50);
  EXPECT_EQ(finding["counted"], "positives");
  EXPECT_TRUE(json["gates"][3]["findings"][0]["judged"].is_null());
  EXPECT_EQ(json["gates"][3]["findings"][0]["reason"], "it is undefined");
  EXPECT_EQ(json["gates"][4]["verdict"], "pass");
  EXPECT_EQ(json["gates"][4]["findings"][0]["verdict"], "blocked");
  EXPECT_EQ(json["gates"][4]["findings"][0]["waiver"]["expires"], "2030-12-31");
  // Latin-1.
  EXPECT_EQ(parse_json(json_report(verdict_of("\xe9")))["gates"][1]["findings"][0]["slice"], "g=\xc3\xa9");
}

// All but the sentence and what was found.
TEST(GateReports, JsonSaysOfEachGateWhatItIs) {
  const Assessment given =
      assessment_of("g", {{"a", 40, 10, 40, 10}, {"b", 20, 30, 20, 30}, {"c", 1, 1, 1, 1}});
  const struct {
    const char *keys, *json;
  } cases[] = {
      {"metric = \"accuracy\"\nmin = 0.5\nmax = 0.9",
       R"({"name":"accuracy","verdict":"pass","severity":"error","of":"accuracy","where":"overall","slice":null,)"
       R"("against":null,"given":null,"measure":"difference","change":"none","min":0.5,"max":0.9,)"
       R"("decide":"estimate","threshold":0.5,"least_rows":0,"left_out":0,"expired_waivers":[]})"},
      {"name = \"x\"\nmetric = \"recall\"\nslice = \"g=b\"\nagainst = \"g=a\"\nmin = -0.1\ndecide = "
       "\"proven-over\"\nseverity = \"warn\"",
       R"({"name":"x","verdict":"blocked","severity":"warn","of":"true_positive_rate","where":"slice",)"
       R"("slice":"g=b","against":"g=a","given":null,"measure":"difference","change":"none","min":-0.1,)"
       R"("max":null,"decide":"proven-over","threshold":0.5,"least_rows":0,"left_out":0,"expired_waivers":[]})"},
      {"name = \"y\"\nmetric = \"accuracy\"\neach = \"g\"\nmax = 0.9\ndecide = \"proven-under\"\n"
       "least_rows = 30\nthin = \"left-out\"",
       R"({"name":"y","verdict":"pass","severity":"error","of":"accuracy","where":"each","slice":"g",)"
       R"("against":null,"given":null,"measure":"difference","change":"none","min":null,"max":0.9,)"
       R"("decide":"proven-under","threshold":0.5,"least_rows":30,"left_out":1,"expired_waivers":[]})"},
      {"metric = \"recall\"\nbetween = \"g\"\nmeasure = \"ratio\"\nchange = \"relative\"\nmin = -0.5\n"
       "threshold = 0.25",
       R"({"name":"true_positive_rate ratio between g against the baseline","verdict":"undecided",)"
       R"("severity":"error","of":"true_positive_rate","where":"between","slice":"g","against":null,"given":null,)"
       R"("measure":"ratio","change":"relative","min":-0.5,"max":null,"decide":"estimate","threshold":0.25,)"
       R"("least_rows":0,"left_out":0,"expired_waivers":[]})"},
      {"criterion = \"equal_opportunity\"\nbetween = \"sex\"\ngiven = \"job*age\"\nchange = "
       "\"absolute\"\nmax = 0.1",
       R"({"name":"equal_opportunity between sex within job*age against the baseline","verdict":"undecided",)"
       R"("severity":"error","of":"equal_opportunity","where":"between","slice":"sex","against":null,)"
       R"("given":["job","age"],"measure":"difference","change":"absolute","min":null,"max":0.1,)"
       R"("decide":"estimate","threshold":0.5,"least_rows":0,"left_out":0,"expired_waivers":[]})"},
      {"data = \"drift\"\nmax = 2",
       R"({"name":"data: drift","verdict":"undecided","severity":"error","of":"drift","where":"data","slice":null,)"
       R"("against":null,"given":null,"measure":"difference","change":"none","min":null,"max":2.0,)"
       R"("decide":"estimate","threshold":0.5,"least_rows":0,"left_out":0,"expired_waivers":[]})"},
      {"name = \"z\"\nmetric = \"accuracy\"\neach = \"g\"\nmin = 0\n[[waivers]]\ngate = \"z\"\nslice = "
       "\"g=a\"\nname = \"n\"\nreason = \"r\"\nexpires = 2030-06-14",
       R"({"name":"z","verdict":"blocked","severity":"error","of":"accuracy","where":"each","slice":"g",)"
       R"("against":null,"given":null,"measure":"difference","change":"none","min":0.0,"max":null,)"
       R"("decide":"estimate","threshold":0.5,"least_rows":0,"left_out":0,)"
       R"("expired_waivers":[{"slice":"g=a","name":"n","reason":"r","expires":"2030-06-14"}]})"},
  };
  for (const auto& each : cases) {
    const Gates gates = read_gates(cat("[[gates]]\n", each.keys), "gates.toml");
    nlohmann::ordered_json found =
        json_of(judge(gates, given, nullptr, std::chrono::year(2030) / 6 / 15))["gates"][0];
    found.erase("sentence");
    found.erase("findings");
    EXPECT_EQ(found.dump(), each.json) << each.keys;
  }
}

TEST(GateReports, JunitHasACaseForEachGate) {
  EXPECT_EQ(junit_report(verdict_of("b\x01\n\xef\xbf\xbe")), R"xml(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="espalier check" tests="5" failures="1" errors="1" skipped="1">
  <testsuite name="gates" tests="5" failures="1" errors="1" skipped="1" timestamp="2030-06-15T00:00:00">
    <testcase classname="gates" name="accuracy"/>
    <testcase classname="gates" name="&lt;&quot;a&quot; &amp; b&gt;">
      <failure type="blocked" message="accuracy for g=b?\n? is 0.40 (95 % interval 0.31 to 0.50, limit at least 0.65; 100 rows)"/>
    </testcase>
    <testcase classname="gates" name="true_positive_rate between g">
      <system-out>blocked, a warning: true positive rate for g=b?\n? is 0.40 against 0.80 (gap 0.40, 95 % interval 0.21 to 0.55, limit 0.1; 50 positives)</system-out>
    </testcase>
    <testcase classname="gates" name="auc">
      <error type="undecided" message="AUC cannot be judged: it is undefined"/>
    </testcase>
    <testcase classname="gates" name="waived">
      <skipped message="waived by A. Person until 2030-12-31: r &lt; 1"/>
    </testcase>
  </testsuite>
</testsuites>
)xml");
  ;
}

TEST(GateReports, JunitHoldsNoCharacterThatXmlLacks) {
  const Gates gates =
      read_gates("[[gates]]\nname = \"a\\u0001\\n\"\nmetric = \"accuracy\"\nmin = 0", "gates.toml");
  const std::string text = junit_report(judge(gates, assessment_of("g", {{"a", 1, 1, 1, 1}}), nullptr, {}));
  EXPECT_NE(text.find("name=\"a?&#10;\"/>"), std::string::npos) << text;
}

TEST(GateReports, PrometheusHasAGaugeForEachNumber) {
  const std::string text = prometheus_report(verdict_of("b\n\\\""));
  for (const char* line :
       {"# TYPE espalier_check gauge\nespalier_check 1\n",
        "\nespalier_gate{gate=\"accuracy\",severity=\"error\"} 0\n",
        "\nespalier_gate{gate=\"auc\",severity=\"error\"} 3\n",
        "\nespalier_gate{gate=\"<\\\"a\\\" & b>\",severity=\"error\"} 1\n",
        "\nespalier_gate_limit{gate=\"accuracy\",limit=\"min\"} 0.5\n",
        "\nespalier_gate_number{gate=\"accuracy\",metric=\"accuracy\",slice=\"overall\",other=\"\"} 0.6\n",
        "\nespalier_gate_rows{gate=\"true_positive_rate between "
        "g\",metric=\"true_positive_rate\",slice=\"g=b\\n\\\\\\\"\",other=\"g=a\"} 50\n",
        "\nespalier_gate_rows{gate=\"auc\",metric=\"auc\",slice=\"overall\",other=\"\"} 200\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  EXPECT_EQ(text.find("espalier_gate_number{gate=\"auc\""), std::string::npos);
}

TEST(GateReports, SlicesAreATable) {
  const RandomRows rows = random_rows(100, 5);
  CategoryColumn column{"g", {"a", "b, \"c\""}, {}};
  for (size_t i = 0; i < rows.scores.size(); ++i) column.codes.push_back(i % 2);
  const Assessment given = assess(rows.view(), {{&column}}, {.thresholds = {0.25, 0.5}});
  const CsvTable table = parse_csv(slices_csv(given), {.header = CsvHeader::kYes});
  size_t accuracies = 0, areas = 0;
  for (int64_t i = 0; i < table.rows(); ++i) {
    const auto cell = [&](const char* name) { return std::string(table.cell(i, table.column(name))); };
    areas += cell("metric") == "auc";
    if (cell("metric") != "accuracy") continue;
    const SliceFigures& slice = accuracies < 2 ? given.overall : given.by[0].slices[accuracies / 2 - 1];
    const Figure figure = SliceMetric("accuracy")(slice, accuracies % 2);
    EXPECT_EQ(cell("slice"), slice.slice.name);
    EXPECT_EQ(cell("slicing"), accuracies < 2 ? "" : "g");
    EXPECT_EQ(cell("threshold"), accuracies % 2 ? "0.5" : "0.25");
    EXPECT_EQ(table.number(i, table.column("value")), figure.value);
    EXPECT_EQ(table.number(i, table.column("low")), figure.interval->low);
    EXPECT_EQ(cell("counted"), cat(figure.rows));
    ++accuracies;
  }
  EXPECT_EQ(accuracies, 6u);
  EXPECT_EQ(areas, 3u);
}

}  // namespace
}  // namespace espalier
