#include "validate/row_judgement.h"

#include <gtest/gtest.h>

#include "base/format.h"

namespace espalier {
namespace {

const char* const kTable = "age,job,pay\n30,clerk,10\n99,smith,5\n,clerk,x\n40,baker,7\n50,smith,-1\n";

RowJudgement judged(const std::string& age, const std::string& job, const std::string& whole = "",
                    const RowOptions& options = {}) {
  tfmd::Schema schema;
  parse_metadata(
      cat(R"(feature { name: "age" type: INT presence { min_fraction: 1 } int_domain { max: 90 } )", age,
          R"(} feature { name: "job" type: BYTES string_domain { value: "clerk" value: "smith" } )", job,
          R"(} feature { name: "pay" type: BYTES } )", whole),
      schema);
  const CsvTable table = parse_csv(kTable);
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

}  // namespace
}  // namespace espalier
