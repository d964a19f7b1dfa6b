// The words of findings for numbers, limits, dates and waivers.
#include "gate/sentence.h"

#include <gtest/gtest.h>

#include "base/format.h"

namespace espalier {
namespace {

using std::chrono::year;

TEST(GateSentence, HasDatesLevelsAndLimits) {
  EXPECT_EQ(date_text(year(2031) / 12 / 31), "2031-12-31");
  EXPECT_EQ(date_text(year(987) / 6 / 5), "0987-06-05");
  EXPECT_EQ(percent_text(0.95), "95 %");
  EXPECT_EQ(percent_text(0.999), "99.9 %");
  EXPECT_EQ(percent_text(0.29), "29 %") << "and not 28.999999999999996";
  EXPECT_EQ(percent_text(0.123456), "12.3456 %");
  Gate gate;
  gate.min = 0.25;
  EXPECT_EQ(limit_text(gate), "at least 0.25");
  gate.max = 1;
  EXPECT_EQ(limit_text(gate), "0.25 to 1");
  gate.min.reset();
  EXPECT_EQ(limit_text(gate), "at most 1");
}

// As many digits as show on which side of the limits each number lies: two to six.
TEST(GateSentence, NumbersShowTheirSideOfTheLimits) {
  const auto text = [](double number, std::optional<double> min, std::optional<double> max,
                       std::optional<Interval> interval = {}) {
    Gate gate;
    gate.min = min, gate.max = max;
    Finding finding;
    finding.judged = number, finding.interval = interval;
    return number_text(gate, finding, number);
  };
  EXPECT_EQ(text(0.4, 0.5, {}), "0.40");
  EXPECT_EQ(text(0.5, 0.5, 0.5), "0.50");
  EXPECT_EQ(text(0.5 + 1e-13, {}, 0.5), "0.50") << "of rounding alone";
  EXPECT_EQ(text(0.496, 0.5, {}), "0.496");
  EXPECT_EQ(text(0.504, 0.5, {}), "0.504");
  EXPECT_EQ(text(0.4996, {}, 0.5), "0.4996");
  EXPECT_EQ(text(0.50004, 0, 0.5), "0.50004");
  EXPECT_EQ(text(0.499996, 0.5, 1), "0.499996");
  EXPECT_EQ(text(0.49999996, 0.5, {}), "0.500000");
  EXPECT_EQ(text(0.25, 0.5, {}, Interval{0.2, 0.4996}), "0.2500");
  EXPECT_EQ(text(0.75, 0.5, {}, Interval{0.504, 0.9}), "0.750");
  Gate rows;
  rows.min = 10;
  Finding finding;
  finding.judged = 12;
  finding.metric = "rows";
  EXPECT_EQ(number_text(rows, finding, 12), "12");
  rows.change = Change::kAbsolute;
  EXPECT_EQ(number_text(rows, finding, 12), "12");
  rows.change = Change::kRelative;
  EXPECT_EQ(number_text(rows, finding, 12), "12.00");
  rows.change = Change::kNone;
  rows.measure = Measure::kRatio;
  EXPECT_EQ(number_text(rows, finding, 12), "12.00");
  finding.metric = "positives";
  rows.measure = Measure::kDifference;
  EXPECT_EQ(number_text(rows, finding, 12), "12");
  finding.metric = "drift";
  EXPECT_EQ(number_text(rows, finding, 12), "12.00");
  rows.where = Where::kData;
  EXPECT_EQ(number_text(rows, finding, 12), "12");
}

TEST(GateSentence, WaiversAreSaidOnceForEachSlice) {
  const auto waiver = [](const char* slice, const char* name) {
    return Waiver{.gate = "x", .slice = slice, .name = name, .reason = "why", .expires = year(2031) / 1 / 2};
  };
  GateResult result{.gate = {}, .findings = std::vector<Finding>(4), .sentence = {}};
  EXPECT_EQ(waivers_text(result), "");
  result.findings[1].waiver = result.findings[2].waiver = waiver("", "A");
  EXPECT_EQ(waivers_text(result), "waived by A until 2031-01-02: why");
  result.findings[3].waiver = waiver("g=b", "B");
  EXPECT_EQ(waivers_text(result), "waived by A until 2031-01-02: why; waived by B until 2031-01-02: why");
}

TEST(GateSentence, WithoutTheLimitThatStandsBesideIt) {
  GateResult result{.gate = {}, .findings = std::vector<Finding>(1), .sentence = {}};
  result.gate.min = 0.5;
  Finding& finding = result.findings[0];
  finding.metric = "recall";
  finding.slice = "overall";
  finding.counted = "positives";
  finding.rows = 7;
  finding.value = finding.judged = 0.25;
  EXPECT_EQ(sentence_of(result, 0.9), "recall is 0.25 (limit at least 0.5; 7 positives)");
  EXPECT_EQ(number_sentence_of(result, 0.9), "recall is 0.25 (7 positives)")
      << "no empty words before the rows";
  finding.interval = Interval{0.11, 0.38};
  EXPECT_EQ(number_sentence_of(result, 0.9), "recall is 0.25 (90 % interval 0.11 to 0.38; 7 positives)");
  // What is withheld says how it was judged.
  finding.withheld = true;
  const std::string few =
      "; it is of few rows, or would give those of few away, so no figure of it stands here";
  for (const auto& [ruling, how] :
       {std::pair{Ruling::kPass, " holds its limit"}, std::pair{Ruling::kBlocked, " breaks its limit"},
        std::pair{Ruling::kUndecided, " cannot be judged"}}) {
    finding.ruling = ruling;
    EXPECT_EQ(sentence_of(result, 0.9), cat("recall", how, " (at least 0.5)", few));
    EXPECT_EQ(number_sentence_of(result, 0.9), cat("recall", how, few));
  }
  // Of data: none, one, several.
  result.gate = {};
  result.gate.where = Where::kData;
  result.gate.of = "drift";
  result.gate.max = 0;
  finding = {};
  finding.judged = 0;
  EXPECT_EQ(number_sentence_of(result, 0.9), "drift of the data has no fault");
  finding.rows = 1;
  finding.reason = "age has drifted";
  EXPECT_EQ(number_sentence_of(result, 0.9), "drift of the data: age has drifted (1 fault)");
  finding.rows = 2;
  EXPECT_EQ(sentence_of(result, 0.9), "drift of the data: age has drifted (2 faults, limit 0)");
  // A waiver that expired, alone where the gate holds, and behind the fact where it does not.
  result.gate.name = "g";
  result.expired = {{.gate = "g", .slice = "", .name = "A", .reason = "r", .expires = year(2030) / 1 / 2},
                    {.gate = "g", .slice = "", .name = "B", .reason = "r", .expires = year(2030) / 1 / 3}};
  finding.ruling = Ruling::kPass;
  const std::string expired =
      "the waiver of \"g\" by A expired on 2030-01-02; the waiver of \"g\" by B expired on 2030-01-03";
  EXPECT_EQ(sentence_of(result, 0.9), expired);
  finding.ruling = Ruling::kBlocked;
  EXPECT_EQ(sentence_of(result, 0.9),
            cat("drift of the data: age has drifted (2 faults, limit 0); ", expired));
}

}  // namespace
}  // namespace espalier
