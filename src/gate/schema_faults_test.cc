// A schema of one's own against the rows that a model meets: comparators by hand, rules, environments.
#include "gate/schema_faults.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/rule_of_test.h"

namespace espalier {
namespace {

// `a` of 100 rows are of the value "a", the others of "b"; ages from `youngest` on.
CsvTable people(int a, int youngest, int rows = 100) {
  std::string text = "kind,age\n";
  for (int i = 0; i < rows; ++i) text += cat(i < a ? "a," : "b,", youngest + i % 40, "\n");
  return parse_csv(text, {.header = CsvHeader::kYes});
}

std::vector<std::string> said(const CsvTable& train, const CsvTable& now, const std::string& schema,
                              DataFaultOptions options = {}) {
  parse_metadata(schema, options.schema.emplace());
  std::vector<std::string> out;
  std::vector<NotJudged> not_asked;
  for (const DataFault& fault : find_schema_faults(train, now, options, not_asked)) {
    EXPECT_EQ(fault.of, FaultOf::kSchema);
    out.push_back(cat(fault.warning ? "" : "note ", fault.column, " - ", fault.text));
  }
  for (const NotJudged& each : not_asked)
    out.push_back(cat(each.undecided ? "open - " : "said - ", each.what.why));
  return out;
}

using Texts = std::vector<std::string>;

const std::string kAge = "feature { name: \"age\" type: INT }";
std::string kind(const std::string& more) {
  return cat("feature { name: \"kind\" type: BYTES ", more, " }", kAge);
}

// 60 of 100 against 50: the largest difference of shares is 0.1, the distance L-infinity.
TEST(SchemaFaults, DriftComparatorsAreHeldAgainstWhatTrains) {
  const auto limit = [](const char* of, double threshold) {
    return kind(cat(of, "_comparator { infinity_norm { threshold: ", threshold, " } }"));
  };
  EXPECT_EQ(said(people(50, 20), people(60, 20), limit("drift", 0.11)), Texts{});
  EXPECT_EQ(said(people(50, 20), people(60, 20), limit("drift", 0.09)),
            Texts{"kind - column \"kind\": high Linfty distance between current and previous: 0.1, at most "
                  "0.09"});
  EXPECT_EQ(said(people(50, 20), people(60, 20), limit("skew", 0.11)), Texts{});
  EXPECT_EQ(said(people(50, 20), people(60, 20), limit("skew", 0.09)),
            Texts{"kind - column \"kind\": high Linfty distance between training and serving: 0.1, at most "
                  "0.09"});
}

// A schema that was inferred of data where "b" and "?" were values, and where they meant that none is there.
TEST(SchemaFaults, MissingWordsThatADomainListsAreValues) {
  const std::string listed = "presence { min_fraction: 1 } string_domain { value: \"a\" value: \"b\" }";
  const DataFaultOptions b{.missing = {"", "b"}};
  EXPECT_EQ(said(people(50, 20), people(50, 20), kind(listed), b), Texts{});
  EXPECT_EQ(said(people(50, 20), people(50, 20),
                 kind("presence { min_fraction: 1 } domain: \"shared\"") +
                     "string_domain { name: \"shared\" value: \"a\" value: "
                     "\"b\" }",
                 b),
            Texts{});
  EXPECT_NE(said(people(50, 20), people(50, 20),
                 kind("presence { min_fraction: 1 } string_domain { value: \"a\" }"), b),
            Texts{});
  EXPECT_EQ(said(people(50, 20), people(50, 20), kind("string_domain { value: \"a\" }"), b), Texts{});
}

// A comparator that has nothing to compare with does not pass; other mistakes of the training rows are not
// those of the new rows.
TEST(SchemaFaults, SkewIsAllThatIsSaidOfWhatTrains) {
  const std::string skew =
      kind("skew_comparator { infinity_norm { threshold: 0.5 } } presence { min_count: 1 }");
  const CsvTable without = parse_csv("age\n20\n21\n", {.header = CsvHeader::kYes});
  const Texts texts = said(people(50, 20), without, skew);
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0], "kind - column \"kind\": column dropped");
  EXPECT_EQ(texts[1], "kind - column \"kind\": serving data missing");
  const std::string young =
      cat("feature { name: \"kind\" type: BYTES skew_comparator { infinity_norm { threshold: 0.5 } } }"
          "feature { name: \"age\" type: INT int_domain { min: 30 } }");
  EXPECT_EQ(said(people(50, 20), people(50, 30), young), Texts{});
  EXPECT_EQ(said(people(50, 30), people(50, 20), young), Texts{"age - column \"age\": out-of-range values"});
}

TEST(SchemaFaults, NumbersOfRowsHaveLimitsButNoSpanBefore) {
  const std::string rows = kind("");
  EXPECT_EQ(
      said(people(50, 20), people(50, 20), cat(rows, "dataset_constraints { min_examples_count: 101 }")),
      Texts{" - low num examples in dataset"});
  EXPECT_EQ(said(people(50, 20, 900), people(50, 20),
                 cat(rows,
                     "dataset_constraints { num_examples_drift_comparator { min_fraction_threshold: "
                     "0.9 } }")),
            Texts{});
}

TEST(SchemaFaults, RulesAreAskedOfEachNewRow) {
  const auto rule = [](const std::string& tag) {
    return cat(kind(""), "annotation { tag: \"espalier.", tag, "\" }");
  };
  EXPECT_EQ(said(people(50, 10), people(50, 20), rule("rule=age >= 18")), Texts{});
  EXPECT_EQ(said(people(50, 20), people(50, 10, 80), rule("rule=age >= 18")),
            Texts{" - 16 of 80 rows break the rule \"age >= 18\""});
  EXPECT_EQ(said(people(50, 20), people(50, 17, 41), rule("rule=age != 56")),
            Texts{" - 1 of 41 rows breaks the rule \"age != 56\""});
  EXPECT_EQ(said(people(50, 20), people(50, 10, 80), rule("warning=age >= 18")),
            Texts{"note  - 16 of 80 rows break the rule \"age >= 18\""});
  // Never silently.
  EXPECT_EQ(said(people(50, 20), people(50, 20), rule("rule=height > 0")),
            Texts{" - the rule \"height > 0\" cannot be asked: a column is not there"});
}

TEST(SchemaFaults, RulesThatCouldBeAskedOfNoRowAreLeftOpen) {
  const CsvTable ageless = parse_csv("kind,age\na,\nb,\n", {.header = CsvHeader::kYes});
  const auto rule = [](const std::string& tag) {
    return cat(kind(""), "annotation { tag: \"espalier.", tag, "\" }");
  };
  const std::string why =
      "the rule \"age >= 18\" is asked of 0 of 2 rows, because column \"age\" is missing in 2 rows";
  EXPECT_EQ(said(people(50, 20), ageless, rule("rule=age >= 18")), Texts{"open - " + why});
  EXPECT_EQ(said(people(50, 20), ageless, rule("warning=age >= 18")), Texts{"said - " + why});
}

TEST(SchemaFaults, EnvironmentsSayWhichColumnsMustBeThere) {
  const std::string schema = cat("default_environment: \"TRAINING\" default_environment: \"SERVING\"", kAge,
                                 "feature { name: \"kind\" type: BYTES presence { min_count: 1 } "
                                 "not_in_environment: \"SERVING\" }");
  const CsvTable unlabelled = parse_csv("age\n20\n21\n", {.header = CsvHeader::kYes});
  EXPECT_EQ(said(people(50, 20), unlabelled, schema), Texts{"kind - column \"kind\": column dropped"});
  EXPECT_EQ(said(people(50, 20), unlabelled, schema, {.environment = "SERVING"}), Texts{});
  EXPECT_EQ(rule_of([&] { said(people(50, 20), unlabelled, schema, {.environment = "TESTING"}); }),
            "validate.environment");
}

}  // namespace
}  // namespace espalier
