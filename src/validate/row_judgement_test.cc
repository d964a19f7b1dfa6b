#include "validate/row_judgement.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"

namespace espalier {
namespace {

const char* const kTable = "age,job,pay\n30,clerk,10\n99,smith,5\n,clerk,x\n40,baker,7\n50,smith,-1\n";

RowJudgement judged(const std::string& age, const std::string& job, const std::string& whole = "",
                    const RowOptions& options = {}, const char* rows = kTable) {
  tfmd::Schema schema;
  parse_metadata(
      cat(R"(feature { name: "age" type: INT presence { min_fraction: 1 } int_domain { max: 90 } )", age,
          R"(} feature { name: "job" type: BYTES string_domain { value: "clerk" value: "smith" } )", job,
          R"(} feature { name: "pay" type: BYTES } )", whole),
      schema);
  const CsvTable table = parse_csv(rows);
  return judge_rows(RowValidator(schema, table.names(), options), table);
}
std::string tags(const std::string& all) { return cat("annotation { ", all, " }"); }

TEST(RowJudgement, RowsAreRefusedUnlessSaidOtherwise) {
  const RowJudgement found = judged("", "");
  EXPECT_EQ(found.rows, 5);
  EXPECT_EQ(found.refused, 3);
  EXPECT_TRUE(found.set_aside.empty());
  ASSERT_EQ(found.findings.size(), 3u);
  EXPECT_EQ(found.findings[0].column, "age");
  EXPECT_EQ(found.findings[0].text, "missing");
  EXPECT_EQ(found.findings[0].lines, std::vector<int64_t>{4});
  EXPECT_EQ(found.findings[1].text, "above 90");
  EXPECT_EQ(found.findings[1].lines, std::vector<int64_t>{3});
  EXPECT_EQ(found.findings[2].column, "job");
  EXPECT_EQ(found.findings[2].text, "none of the 2 values of its domain");
}

TEST(RowJudgement, RowsAreSetAsideWithTheirReasons) {
  const RowJudgement found = judged("", "", "", {.policy = RowPolicy::kQuarantine});
  EXPECT_EQ(found.refused, 0);
  EXPECT_EQ(found.kept, (std::vector<int64_t>{0, 4}));
  ASSERT_EQ(found.set_aside.size(), 3u);
  EXPECT_EQ(found.set_aside[0].row, 1);
  EXPECT_EQ(found.set_aside[0].line, 3);
  EXPECT_EQ(found.set_aside[0].reason, "age: above 90");
  EXPECT_EQ(found.set_aside[1].reason, "age: missing");
  // What a feature says counts more than what is said of all, and that more than what is given.
  EXPECT_EQ(judged(tags("tag: 'espalier.policy=refuse'"), "", "", {.policy = RowPolicy::kQuarantine}).refused,
            2);
  EXPECT_EQ(judged("", "", tags("tag: 'espalier.policy=quarantine'")).set_aside.size(), 3u);
  EXPECT_EQ(
      judged("", tags("tag: 'espalier.policy=quarantine'"), tags("tag: 'espalier.policy=refuse'")).refused,
      2);
}

// Whichever column comes first.
TEST(RowJudgement, OfSeveralBadCellsTheStrictestPolicyDecides) {
  const std::string refuse = tags("tag: 'espalier.policy=refuse'"),
                    aside = tags("tag: 'espalier.policy=quarantine'"),
                    mended = tags("tag: 'espalier.policy=default' tag: 'espalier.default=clerk'");
  const auto outcome = [](const std::string& age, const std::string& job) {
    return judged(age, job, "", {}, "age,job,pay\n99,baker,1\n").outcomes.at(0);
  };
  EXPECT_EQ(outcome(refuse, aside), RowOutcome::kRefused);
  EXPECT_EQ(outcome(aside, refuse), RowOutcome::kRefused);
  EXPECT_EQ(outcome(refuse, mended), RowOutcome::kRefused);
  EXPECT_EQ(outcome(aside, mended), RowOutcome::kSetAside);
}

TEST(RowJudgement, DefaultsStandForBadCells) {
  const RowJudgement found = judged(tags("tag: 'espalier.policy=default' tag: 'espalier.default=35'"),
                                    tags("tag: 'espalier.policy=quarantine'"));
  EXPECT_EQ(found.refused, 0);
  EXPECT_EQ(found.replaced, 2);
  EXPECT_EQ(found.kept, (std::vector<int64_t>{0, 1, 2, 4}));
  std::vector<std::string> ages;
  for (int64_t row = 0; row < 5; ++row) ages.emplace_back(found.table.cell(row, 0));
  EXPECT_EQ(ages, (std::vector<std::string>{"30", "35", "35", "40", "50"}));
  // Of all features those without a default refuse.
  const RowJudgement all =
      judged(tags("tag: 'espalier.default=35'"), "", tags("tag: 'espalier.policy=default'"));
  EXPECT_EQ(all.refused, 0);
  EXPECT_EQ(all.replaced, 3);
  EXPECT_EQ(all.table.cell(3, 1), "");
  EXPECT_EQ(judged("", "", tags("tag: 'espalier.policy=default'")).refused, 2);
}

TEST(RowJudgement, NumbersMayHaveADecimalComma) {
  tfmd::Schema schema;
  parse_metadata(
      R"(feature { name: "pay" type: FLOAT presence { min_fraction: 1 } float_domain { max: 9 } })", schema);
  const CsvTable table = parse_csv("pay;job\n7,25;clerk\n9,5;clerk\n1,2,3;smith\n");
  const RowJudgement found = judge_rows(RowValidator(schema, table.names(), {}), table);
  ASSERT_EQ(found.findings.size(), 2u);
  EXPECT_EQ(found.findings[0].text, "no number");
  EXPECT_EQ(found.findings[0].lines, std::vector<int64_t>{4});
  EXPECT_EQ(found.findings[1].text, "above 9");
  EXPECT_EQ(found.findings[1].lines, std::vector<int64_t>{3});
}

TEST(RowJudgement, RulesAreAskedOfWhatStands) {
  const std::string rules =
      "tag: 'espalier.rule=age < 90' tag: 'espalier.warning=number(pay) >= 0' "
      "tag: 'espalier.rule=height > 0'";
  const RowJudgement refused = judged("", "", tags(rules));
  ASSERT_EQ(refused.findings.size(), 5u);
  EXPECT_EQ(refused.findings[3].text, "age < 90");
  EXPECT_EQ(refused.findings[3].rule, "rule");
  EXPECT_EQ(refused.findings[3].lines, std::vector<int64_t>{3});
  EXPECT_EQ(refused.findings[4].rule, "warning");
  EXPECT_EQ(refused.findings[4].lines, std::vector<int64_t>{6});
  EXPECT_EQ(refused.refused, 3);
  // A default may mend what a rule would refuse.
  const std::string mended = "tag: 'espalier.policy=default' tag: 'espalier.default=35'";
  EXPECT_EQ(judged(tags(mended), tags("tag: 'espalier.policy=quarantine'"), tags(rules)).refused, 0);
  // Or break it: that row is refused, and its cell is not counted as replaced.
  const RowJudgement broken = judged(tags(mended), tags("tag: 'espalier.policy=quarantine'"),
                                     tags("tag: 'espalier.rule=age != 35 or job = \"smith\"'"));
  EXPECT_EQ(broken.refused, 1);
  EXPECT_EQ(broken.replaced, 1);
}

TEST(RowJudgement, RulesOrderDatesAndClocksInTime) {
  tfmd::Schema schema;
  parse_metadata(
      cat(R"(feature { name: "when" type: BYTES } feature { name: "clock" type: BYTES } )",
          tags("tag: 'espalier.rule=when >= \"2024-06-15\"' tag: 'espalier.rule=clock < \"14:30\"'")),
      schema);
  const CsvTable table = parse_csv(
      "when,clock\n15-Jun-2024,9:00\n14-Jun-2024,9:00\n02-Dec-2024,9:59:59\nsoon,noon\n01-Jul-2024,2:45 "
      "PM\n");
  const RowJudgement found = judge_rows(RowValidator(schema, table.names(), {}), table);
  ASSERT_EQ(found.findings.size(), 2u);
  EXPECT_EQ(found.findings[0].lines, std::vector<int64_t>{3});
  EXPECT_EQ(found.findings[1].lines, std::vector<int64_t>{6});
}

std::vector<RuleCount> rule_counts(const std::string& rule, const std::string& cells) {
  tfmd::Schema schema;
  parse_metadata(cat(R"(feature { name: "when" type: BYTES } feature { name: "pay" type: FLOAT } )",
                     tags(cat("tag: 'espalier.rule=", rule, "'"))),
                 schema);
  const CsvTable table = parse_csv(cells);
  return count_rules(rules_alone(schema, table.names(), {""}), table);
}
std::string why_undecided(const std::string& rule, const std::string& cells) {
  return rule_counts(rule, cells).at(0).why;
}

TEST(RowJudgement, RulesThatAreMissingOnAllRowsAreUndecided) {
  const std::string none = "when,pay\n1,\n2,x\n3,\n";
  EXPECT_EQ(why_undecided("pay > 0", none), "column \"pay\" is missing in 2 rows and is no number in 1 row");
  EXPECT_EQ(
      undecided_text(rule_counts("pay > 0", none)[0]),
      "the rule \"pay > 0\" is asked of 0 of 3 rows, because column \"pay\" is missing in 2 rows and is no "
      "number in 1 row");
  EXPECT_EQ(why_undecided("pay / 0 > 1", "when,pay\n1,1\n"), "no cell gives it a value");
  // One row that is asked decides, as the rest of a condition does; and of no row nothing is left open.
  EXPECT_EQ(why_undecided("pay > 0", "when,pay\n1,\n2,3\n"), "");
  EXPECT_EQ(why_undecided("pay > 0 or when is not missing", none), "");
  EXPECT_EQ(why_undecided("pay > 0", "when,pay\n"), "");
}

TEST(RowJudgement, RulesWithDatesThatNobodyOrdersAreUndecided) {
  const std::string days = "when,pay\n2024-06-01,1\n2024-06-02,\n";
  const std::string unknown = why_undecided("when >= \"first of June\"", days);
  EXPECT_TRUE(
      unknown.starts_with("column \"when\" is of dates, and \"first of June\" has no form that is read "
                          "as such; known are 2024-01-31"))
      << unknown;
  // Where it matters, of whichever rows, and once.
  EXPECT_EQ(why_undecided("pay > 0 or when >= \"first of June\"", days), unknown);
  EXPECT_EQ(why_undecided("pay is missing or pay > 0 or when >= \"first of June\"", days), "");
  EXPECT_EQ(why_undecided("when between \"first of June\" and \"first of June\"", days), unknown);
  // Instants of one offset take a day, those of several do not.
  const std::string one = "when,pay\n2024-06-01T10:00:00+02:00,1\n2024-05-31T10:00:00+02:00,1\n";
  EXPECT_EQ(rule_counts("when >= \"2024-06-01\"", one)[0].broken, 1);
  const std::string two = "when,pay\n2024-06-01T10:00:00+02:00,1\n2024-06-01T10:00:00Z,1\n";
  EXPECT_EQ(
      why_undecided("when >= \"2024-06-01\"", two),
      "the dates of column \"when\" have several offsets from UTC, and \"2024-06-01\" has none: which of "
      "them came first is not known; write it as \"2024-06-01T00:00:00Z\", or with another offset");
  EXPECT_EQ(why_undecided("when >= \"2024-06-01T00:00:00Z\"", two), "");
  // A cell in another form is no fault of the rule.
  EXPECT_EQ(why_undecided("when >= \"2024-06-01\"", "when,pay\n2024-06-01,1\n2024-06-02,1\nsoon,1\n"), "");
}

TEST(RowJudgement, ARuleThatNobodyOrdersIsUndecidedAndNotFulfilled) {
  const auto undecided = [](const std::string& kind, const std::string& rule, const std::string& cells) {
    tfmd::Schema schema;
    parse_metadata(cat(R"(feature { name: "when" type: BYTES } feature { name: "pay" type: FLOAT } )",
                       tags(cat("tag: 'espalier.", kind, "=", rule, "'"))),
                   schema);
    const CsvTable table = parse_csv(cells);
    std::string out;
    for (const RuleCount& each : judge_rows(RowValidator(schema, table.names(), {}), table).undecided)
      out += cat(each.rule.warning ? "warning: " : "", undecided_text(each));
    return out.substr(0, out.find(" has no form"));
  };
  const std::string days = "when,pay\n2024-06-01,1\n2024-06-02,\n";
  const std::string of_two =
      "the rule \"when >= \"first of June\"\" is asked of 0 of 2 rows, because column \"when\" is "
      "of dates, and \"first of June\"";
  EXPECT_EQ(undecided("rule", "when >= \"first of June\"", days), of_two);
  EXPECT_EQ(undecided("warning", "when >= \"first of June\"", days), "warning: " + of_two);
  EXPECT_EQ(
      undecided("rule", "pay > 0 or when >= \"first of June\"", days),
      "the rule \"pay > 0 or when >= \"first of June\"\" is asked of 1 of 2 rows, because column \"when\" is "
      "of dates, and \"first of June\"");
  // What is merely missing, or does not matter, is no such rule.
  EXPECT_EQ(undecided("rule", "when >= \"2024-06-01\"", "when,pay\n2024-06-01,1\n2024-06-02,1\nsoon,1\n"),
            "");
  EXPECT_EQ(undecided("rule", "pay is missing or pay > 0 or when >= \"first of June\"", days), "");
  EXPECT_EQ(undecided("rule", "pay > 0", days), "");
}

TEST(RowJudgement, RulesThatNobodyOrdersAreRefusedWhereTheyAreMade) {
  const auto rule_of_rules = [](const std::string& rule) {
    tfmd::Schema schema;
    parse_metadata(
        cat(R"(feature { name: "when" type: BYTES } )", tags(cat("tag: 'espalier.rule=", rule, "'"))),
        schema);
    const CsvTable table = parse_csv("when,pay\n2024-06-01,1\n2024-06-02,\nsoon,1\n");
    return rule_of([&] { check_rules(rules_alone(schema, table.names(), {""}), table); });
  };
  EXPECT_EQ(rule_of_rules("when >= \"first of June\""), "expression.date");
  EXPECT_EQ(rule_of_rules("when >= \"2024-06-01\""), "nothing");
}

}  // namespace
}  // namespace espalier
