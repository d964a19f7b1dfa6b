#include "validate/row_validator.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/philox.h"
#include "base/rule_of_test.h"
#include "espalier/error.h"
#include "validate/anomalies.h"
#include "validate/statistics_tables_test.h"

namespace espalier {
namespace {

tfmd::Schema schema_of(const std::string& text) {
  tfmd::Schema out;
  parse_metadata(text, out);
  return out;
}

// What is wrong with one cell of a feature: the name of the rule, "" of a good one.
std::string fault(const std::string& feature, const std::string& cell, const RowOptions& options = {}) {
  const RowValidator validator(schema_of(cat("feature { name: \"x\" ", feature, " }")), {"x"}, options);
  const std::string_view cells[] = {cell};
  std::vector<CellFault> out;
  validator.check(cells, out);
  return out.empty() ? "" : std::string(name(out[0].rule));
}

TEST(RowValidator, TypesAreThoseOfStatistics) {
  for (const char* good : {"0", "-7", "+7", "9223372036854775807"}) EXPECT_EQ(fault("type: INT", good), "");
  for (const char* bad : {"1.0", "1e3", "9223372036854775808", "nan", "x", "1 2"})
    EXPECT_EQ(fault("type: INT", bad), "no_whole_number") << bad;
  for (const char* good : {"0", "1.5", "-1e300", "1e999", "nan", "-Inf", "infinity"})
    EXPECT_EQ(fault("type: FLOAT", good), "") << good;
  for (const char* bad : {"x", "1,5", "0x10", "9223372036854775808"})
    EXPECT_EQ(fault("type: FLOAT", bad), "no_number") << bad;
  EXPECT_EQ(fault("type: BYTES", "anything"), "");
}

TEST(RowValidator, LimitsAreInclusiveAndOfThePrecisionOfTheSchema) {
  const std::string whole = "type: INT int_domain { min: 0 max: 90 }";
  EXPECT_EQ(fault(whole, "0"), "");
  EXPECT_EQ(fault(whole, "90"), "");
  EXPECT_EQ(fault(whole, "-1"), "below");
  EXPECT_EQ(fault(whole, "91"), "above");
  // 0.1 of 32 bits lies above that of 64 bits.
  const std::string real = "type: FLOAT float_domain { min: 0.1 max: 0.7 }";
  EXPECT_EQ(fault(real, "0.1"), "");
  EXPECT_EQ(fault(real, "0.7"), "");
  EXPECT_EQ(fault(real, "0.0999"), "below");
  EXPECT_EQ(fault(real, "0.7001"), "above");
  EXPECT_EQ(fault(real, "inf"), "above");
  EXPECT_EQ(fault(real, "nan"), "");
  EXPECT_EQ(fault("type: FLOAT float_domain { disallow_nan: true }", "NaN"), "nan");
  EXPECT_EQ(fault("type: FLOAT float_domain { disallow_inf: true }", "-inf"), "infinite");
  EXPECT_EQ(fault("type: FLOAT float_domain { disallow_inf: true }", "1e39"), "infinite");
  EXPECT_EQ(fault("type: BYTES int_domain { max: 7 }", "8"), "above");
  EXPECT_EQ(fault("type: BYTES int_domain { max: 7 }", "x"), "no_whole_number");
  EXPECT_EQ(fault("type: BYTES float_domain { min: 1 }", "0.5"), "below");
}

TEST(RowValidator, CategoriesAreThoseOfTheDomainUnlessItIsOpen) {
  const std::string own = "type: BYTES string_domain { value: 'red' value: 'blue' value: '?' }";
  EXPECT_EQ(fault(own, "red"), "");
  EXPECT_EQ(fault(own, "Red"), "category");
  EXPECT_EQ(fault(cat(own, " distribution_constraints { min_domain_mass: 0.9 }"), "Red"), "");
  EXPECT_EQ(fault(cat(own, " distribution_constraints { min_domain_mass: 1 }"), "Red"), "category");
  const std::string shared = "domain: 'colours' type: BYTES } string_domain { name: 'colours' value: 'red'";
  EXPECT_EQ(fault(shared, "red"), "");
  EXPECT_EQ(fault(shared, "green"), "category");
  EXPECT_EQ(fault("type: INT bool_domain {}", "1"), "");
  EXPECT_EQ(fault("type: INT bool_domain {}", "2"), "category");
  EXPECT_EQ(fault("type: FLOAT bool_domain {}", "0.5"), "category");
  EXPECT_EQ(fault("type: BYTES bool_domain { true_value: 'yes' false_value: 'no' }", "yes"), "");
  EXPECT_EQ(fault("type: BYTES bool_domain { true_value: 'yes' false_value: 'no' }", "1"), "category");
  // A word for missing that the domain lists is a value.
  EXPECT_EQ(fault(cat(own, " presence { min_fraction: 1 }"), "?", {.missing = {"", "?"}}), "");
}

TEST(RowValidator, MissingCellsAreRefusedWhereEveryRowMustHaveOne) {
  EXPECT_EQ(fault("type: INT", ""), "");
  EXPECT_EQ(fault("type: INT presence { min_fraction: 0.99 min_count: 1 }", ""), "");
  EXPECT_EQ(fault("type: INT presence { min_fraction: 1 }", ""), "missing");
  EXPECT_EQ(fault("type: INT shape { dim { size: 1 } }", ""), "missing");
  EXPECT_EQ(fault("type: INT presence { min_fraction: 1 }", "NA"), "no_whole_number");
  EXPECT_EQ(fault("type: INT presence { min_fraction: 1 }", "NA", {.missing = {"", "NA"}}), "missing");
  EXPECT_EQ(fault("type: INT presence { min_fraction: 1 } lifecycle_stage: DEPRECATED", ""), "");
}

TEST(RowValidator, ColumnsAreFoundOnceByName) {
  const tfmd::Schema schema = schema_of(R"(default_environment: "train" default_environment: "serve"
    feature { name: "age" type: INT presence { min_count: 1 } int_domain { max: 90 } }
    feature { name: "pay" type: FLOAT presence { min_fraction: 1 } not_in_environment: "serve" }
    feature { name: "extra" type: FLOAT })");
  const RowValidator turned(schema, {"new", "pay", "age"}, {});
  const std::string_view row[] = {"x", "7.5", "91"};
  std::vector<CellFault> faults;
  turned.check(row, faults);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(turned.features()[faults[0].feature].name, "age");
  EXPECT_EQ(turned.features()[faults[0].feature].text_of(faults[0].rule), "above 90");
  EXPECT_EQ(turned.new_columns(), std::vector<std::string>{"new"});
  EXPECT_EQ(rule_of([&] { RowValidator(schema, {"age"}, {}); }), "rows.column");
  EXPECT_EQ(rule_of([&] { RowValidator(schema, {"age"}, {.environment = "serve"}); }), "nothing");
  EXPECT_EQ(rule_of([&] { RowValidator(schema, {"age"}, {.passed_over = {"pay"}}); }), "nothing");
  EXPECT_EQ(rule_of([&] { RowValidator(schema, {"age"}, {.environment = "test"}); }), "validate.environment");
  try {
    RowValidator(schema, {"Age", "pay"}, {});
  } catch (const ValueError& error) {
    EXPECT_EQ(error.fix(), "is it \"Age\" here?");
  }
}

TEST(RowValidator, RefusesSchemasThatNoRowOfATableCanFollow) {
  const auto refused = [](const std::string& feature) {
    return rule_of([&] { RowValidator(schema_of(cat("feature { name: 'x' ", feature, " }")), {"x"}, {}); });
  };
  EXPECT_EQ(refused("type: STRUCT"), "rows.feature");
  EXPECT_EQ(refused("type: INT shape { dim { size: 2 } }"), "rows.feature");
  EXPECT_EQ(refused("type: INT value_count { min: 2 }"), "rows.feature");
  EXPECT_EQ(refused("type: INT value_count { min: 1 max: 3 }"), "nothing");
  EXPECT_EQ(refused("type: BYTES domain: 'none'"), "rows.domain");
  EXPECT_EQ(refused("type: INT } feature { name: 'x' type: INT"), "rows.twice");
  EXPECT_EQ(refused("type: INT annotation { tag: 'espalier.polizy=refuse' }"), "schema.tag");
  EXPECT_EQ(refused("type: INT annotation { tag: 'espalier.policy=maybe' }"), "schema.tag");
  EXPECT_EQ(refused("type: INT annotation { tag: 'espalier.default=1' tag: 'espalier.default=2' }"),
            "schema.tag");
  EXPECT_EQ(refused("type: INT annotation { tag: 'of mine' tag: 'espalier' }"), "nothing");
  // A default is as good as any cell must be.
  EXPECT_EQ(refused("type: INT annotation { tag: 'espalier.policy=default' tag: 'espalier.default=x' }"),
            "rows.default");
  EXPECT_EQ(refused("type: INT presence { min_fraction: 1 } annotation { tag: 'espalier.policy=default' }"),
            "rows.default");
  EXPECT_EQ(refused("type: INT annotation { tag: 'espalier.policy=default' }"), "nothing");
}

// A row by itself is data whose statistics have anomalies in the same features.
TEST(RowValidator, SaysOfARowWhatValidationSaysOfItsStatistics) {
  const tfmd::Schema schema = schema_of(R"(
    feature { name: "a" type: INT presence { min_fraction: 1 min_count: 1 } int_domain { min: 0 max: 9 } }
    feature { name: "b" type: FLOAT float_domain { min: -0.3 max: 0.3 disallow_nan: true } }
    feature { name: "c" type: BYTES presence { min_fraction: 1 min_count: 1 } string_domain { value: "x" value: "y" } }
    feature { name: "d" type: BYTES int_domain { min: 0 max: 5 } }
    feature { name: "e" type: INT bool_domain {} })");
  const std::vector<std::string> names = {"a", "b", "c", "d", "e"};
  const std::vector<std::vector<std::string>> choices = {{"0", "9", "10", "-1", "", "1.5", "x"},
                                                         {"0.3", "-0.3", "0.31", "nan", "", "inf", "y"},
                                                         {"x", "y", "z", "", "0"},
                                                         {"", "x", "5a", "y"},
                                                         {"0", "1", "2", "-1", ""}};
  const RowValidator validator(schema, names, {});
  Philox random(5);
  int bad = 0;
  for (int i = 0; i < 150; ++i) {
    std::vector<std::string> cells;
    std::string text = "a,b,c,d,e\n";
    for (const auto& choice : choices) {
      cells.push_back(choice[random.below(2) ? 0 : random.below(choice.size())]);
      text += cat(cells.size() > 1 ? "," : "", cells.back());
    }
    const std::vector<std::string_view> views(cells.begin(), cells.end());
    std::vector<CellFault> faults;
    validator.check(views, faults);
    std::set<std::string> found, wanted;
    for (const CellFault& fault : faults) found.insert(validator.features()[fault.feature].name);
    const tfmd::DatasetFeatureStatistics data = data_of(text + "\n");
    const Validation validation = validate(schema, {.statistics = &data});
    for (const FeatureAnomaly& anomaly : validation.features) wanted.insert(anomaly.path[0]);
    EXPECT_EQ(found, wanted) << text;
    bad += !wanted.empty();
  }
  EXPECT_GT(bad, 40);
  EXPECT_LT(bad, 150);
}

}  // namespace
}  // namespace espalier
