// Single rows: what a table that has them says of them.
#include <array>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/format.h"
#include "base/rule_of_test.h"
#include "base/scratch_test.h"
#include "espalier/rows.h"
#include "validate/row_judgement.h"

namespace espalier {
namespace {

using Values = std::vector<std::string_view>;

const char* const kRowGuardSchema =
    R"(feature { name: "age" type: INT presence { min_fraction: 1 min_count: 1 } int_domain { min: 0 max: 90 }
  annotation { tag: "espalier.policy=default" tag: "espalier.default=35" } }
feature { name: "job" type: BYTES domain: "job" annotation { tag: "espalier.policy=quarantine" } }
feature { name: "pay" type: FLOAT float_domain { min: 0 } }
string_domain { name: "job" value: "clerk" value: "smith, \"the\"" }
annotation { tag: "espalier.rule=pay > age or job = \"clerk\"" tag: "espalier.warning=age != 50" })";
const std::vector<std::string> kColumns = {"job", "age", "note", "pay"};

RowGuard guard(const RowGuardOptions& options = {}) {
  return RowGuard::parse(kRowGuardSchema, kColumns, options);
}
RowVerdict verdict(const Values& values, const RowGuardOptions& options = {}) {
  return guard(options).judge(values);
}

TEST(RowGuard, ARowIsGoodReplacedSetAsideOrRefused) {
  const RowVerdict good = verdict({"clerk", "30", "", "7.5"});
  EXPECT_EQ(good.outcome, RowOutcome::kGood);
  EXPECT_TRUE(good.faults.empty() && good.values.empty());

  const RowVerdict replaced = verdict({"smith, \"the\"", "99", " a\nb", "70"});
  EXPECT_EQ(replaced.outcome, RowOutcome::kReplaced);
  ASSERT_EQ(replaced.faults.size(), 1u);
  EXPECT_EQ(replaced.faults[0].column, "age");
  EXPECT_EQ(replaced.faults[0].rule, "above");
  EXPECT_EQ(replaced.faults[0].text, "above 90");
  EXPECT_EQ(replaced.values, (std::vector<std::string>{"smith, \"the\"", "35", " a\nb", "70"}));

  const RowVerdict aside = verdict({"baker", "30", "", "70"});
  EXPECT_EQ(aside.outcome, RowOutcome::kSetAside);
  EXPECT_EQ(aside.faults[0].text, "none of the 2 values of its domain");
  EXPECT_TRUE(aside.values.empty());

  const RowVerdict refused = verdict({"baker", "x", "", "-1"});
  EXPECT_EQ(refused.outcome, RowOutcome::kRefused);
  // Rules are asked of defaults in rows that stay: this one's age is missing to them.
  ASSERT_EQ(refused.faults.size(), 3u);
  EXPECT_EQ(refused.faults[0].outcome, RowOutcome::kReplaced);
  EXPECT_EQ(refused.faults[1].outcome, RowOutcome::kSetAside);
  EXPECT_EQ(refused.faults[2].outcome, RowOutcome::kRefused);
}

TEST(RowGuard, RulesAreAskedOfOneRow) {
  const RowVerdict broken = verdict({"smith, \"the\"", "40", "", "39"});
  EXPECT_EQ(broken.outcome, RowOutcome::kRefused);
  ASSERT_EQ(broken.faults.size(), 1u);
  EXPECT_EQ(broken.faults[0].column, "");
  EXPECT_EQ(broken.faults[0].text, "pay > age or job = \"clerk\"");
  EXPECT_EQ(verdict({"smith, \"the\"", "40", "", "39"}, {.set_aside = true}).outcome, RowOutcome::kSetAside);
  // Asked of the default; missing where a value is; a warning changes nothing.
  EXPECT_EQ(verdict({"smith, \"the\"", "99", "", "34"}).outcome, RowOutcome::kRefused);
  EXPECT_EQ(verdict({"smith, \"the\"", "40", "", ""}).outcome, RowOutcome::kGood);
  const RowVerdict warned = verdict({"clerk", "50", "", "7"});
  EXPECT_EQ(warned.outcome, RowOutcome::kGood);
  EXPECT_EQ(warned.faults.at(0).rule, "warning");
  EXPECT_EQ(warned.faults.at(0).outcome, RowOutcome::kGood);
}

// "first of June" is no date that anybody can order: such a row is not good.
TEST(RowGuard, ARuleThatNobodyOrdersIsNotFulfilled) {
  const auto judged = [](const char* kind, const char* rule, const char* when) {
    const std::string schema =
        cat("feature { name: 'when' type: BYTES } annotation { tag: 'espalier.", kind, "=", rule, "' }");
    return RowGuard::parse(schema, {"when"}).judge(Values{when});
  };
  const char *const known = "when >= \"2024-06-01\"", *const unknown = "when >= \"first of June\"";
  EXPECT_EQ(judged("rule", known, "2024-06-02").outcome, RowOutcome::kGood);
  EXPECT_EQ(judged("rule", known, "2024-05-02").outcome, RowOutcome::kRefused);
  EXPECT_EQ(judged("rule", known, "").outcome, RowOutcome::kGood);
  EXPECT_EQ(rule_of([&] { judged("rule", unknown, "2024-06-02"); }), "expression.date");
  EXPECT_EQ(rule_of([&] { judged("rule", known, "soon"); }), "expression.date");
  const RowVerdict warned = judged("warning", unknown, "2024-06-02");
  EXPECT_EQ(warned.outcome, RowOutcome::kGood);
  ASSERT_EQ(warned.faults.size(), 1u);
  EXPECT_EQ(warned.faults[0].rule, "warning");
  EXPECT_NE(warned.faults[0].text.find("is asked of 0 of 1 row"), std::string::npos) << warned.faults[0].text;
}

TEST(RowGuard, OptionsAreThoseOfRows) {
  EXPECT_EQ(verdict({"none", "30", "", "70"}, {.missing = {"none"}}).outcome, RowOutcome::kGood);
  EXPECT_EQ(verdict({"baker", "30", "", "70"}, {.passed_over = {"job"}}).outcome, RowOutcome::kGood);
  EXPECT_EQ(rule_of([] { guard({.environment = "serving"}); }), "validate.environment");
  EXPECT_EQ(rule_of([] { RowGuard::parse(kRowGuardSchema, {"job", "pay"}); }), "rows.column");
  EXPECT_EQ(rule_of([] { RowGuard::parse("feature {", kColumns); }), "metadata.text");
  EXPECT_EQ(rule_of([] { verdict({"clerk", "30"}); }), "rows.values");
  EXPECT_EQ(guard().columns(), kColumns);
  const std::string path = fresh_folder("row-guard") + "/schema.pbtxt";
  posix_env().write_file(path, kRowGuardSchema);
  EXPECT_EQ(RowGuard::load(path, kColumns).judge(Values{"clerk", "30", "", "7"}).outcome, RowOutcome::kGood);
  EXPECT_EQ(rule_of([&] { RowGuard::load(path + "x", kColumns); }), "file.read");
  try {
    RowGuard::load(path, {"job", "pay"});
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_TRUE(error.message().starts_with(path)) << error.message();
  }
}

// By itself a row is what it is in a table.
TEST(RowGuard, JudgesRowsAsTablesOfThem) {
  const Values jobs = {"clerk", "smith, \"the\"", "baker", ""}, ages = {"7", "50", "99", "-1", "x", ""},
               pays = {"1", "60.5", "nan", "-3", "y", ""};
  std::mt19937_64 random(1);
  std::vector<Values> rows;
  std::string text = "job,age,note,pay\n";
  for (int i = 0; i < 400; ++i) {
    const auto one_of = [&](const Values& all) { return all[random() % all.size()]; };
    rows.push_back({one_of(jobs), one_of(ages), "n", one_of(pays)});
    text += cat(rows.back()[0] == jobs[1] ? "\"smith, \"\"the\"\"\"" : rows.back()[0], ",", rows.back()[1],
                ",n,", rows.back()[3], "\n");
  }
  tfmd::Schema schema;
  parse_metadata(kRowGuardSchema, schema);
  const RowJudgement found =
      judge_rows(RowValidator(schema, kColumns, {}), parse_csv(text, {.header = CsvHeader::kYes}));
  ASSERT_EQ(found.outcomes.size(), rows.size());
  const RowGuard one = guard();
  std::vector<RowOutcome> by_threads(rows.size());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = t; i < rows.size(); i += 2) by_threads[i] = one.judge(rows[i]).outcome;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(by_threads, found.outcomes);
  std::array<int, 4> counts{};
  for (const RowOutcome outcome : found.outcomes) ++counts[static_cast<size_t>(outcome)];
  for (const int count : counts) EXPECT_GT(count, 10);
}

}  // namespace
}  // namespace espalier
