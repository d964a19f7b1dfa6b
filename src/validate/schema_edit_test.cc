#include "validate/schema_edit.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "espalier/error.h"
#include "validate/schema_tags.h"

namespace espalier {
namespace {

const char* const kSchemaEditSchema = R"(feature { name: "company" type: BYTES domain: "company" }
feature { name: "payment_type" type: BYTES string_domain { value: "Cash" } }
feature { name: "tips" type: FLOAT shape {} in_environment: "serving" }
feature { name: "age" type: INT } feature { name: "a.b" type: BYTES }
feature { name: "trip" type: STRUCT struct_domain { feature { name: "day" type: INT } } }
string_domain { name: "company" value: "Flash Cab" } default_environment: "training")";

tfmd::Schema edited(const SchemaEdits& edits) {
  tfmd::Schema schema;
  parse_metadata(kSchemaEditSchema, schema);
  return edited_schema(schema, edits);
}
tfmd::Schema set(const std::string& words) { return edited({.set = {words}}); }

std::string edit_rule_of(const SchemaEdits& edits) {
  try {
    edited(edits);
  } catch (const Error& error) {
    return error.rule();
  }
  return "none";
}

TEST(SchemaEdit, SetsFieldsByShortAndLongNames) {
  EXPECT_EQ(set("company.min_domain_mass=0.9").feature(0).distribution_constraints().min_domain_mass(), 0.9);
  EXPECT_EQ(set("company.drift=0.01").feature(0).drift_comparator().infinity_norm().threshold(), 0.01);
  EXPECT_EQ(
      set("age.skew_jensen_shannon=0.5").feature(3).skew_comparator().jensen_shannon_divergence().threshold(),
      0.5);
  EXPECT_EQ(set("age.max=99").feature(3).int_domain().max(), 99);
  EXPECT_EQ(set("tips.min=-0.5").feature(2).float_domain().min(), -0.5F);
  EXPECT_TRUE(set("tips.disallow_nan=true").feature(2).float_domain().disallow_nan());
  EXPECT_EQ(set("age.lifecycle=BETA").feature(3).lifecycle_stage(), tfmd::BETA);
  EXPECT_EQ(set("age.presence.min_count=7").feature(3).presence().min_count(), 7);
  EXPECT_EQ(set("trip.day.min_fraction=1").feature(5).struct_domain().feature(0).presence().min_fraction(),
            1);
  EXPECT_EQ(set("'a.b'.min_count=2").feature(4).presence().min_count(), 2);
  EXPECT_EQ(set("age.annotation.comment=why = so, then").feature(3).annotation().comment(0),
            "why = so, then");
  EXPECT_EQ(set("dataset.min_examples_count=100").dataset_constraints().min_examples_count(), 100);
  EXPECT_FALSE(set("company.domain=").feature(0).has_domain());
}

TEST(SchemaEdit, EachShortNameIsOfItsField) {
  const std::pair<const char*, const char*> fields[] = {
      {"min_count=7", "presence { min_count: 7 }"},
      {"min_fraction=0.5", "presence { min_fraction: 0.5 }"},
      {"min_domain_mass=0.5", "distribution_constraints { min_domain_mass: 0.5 }"},
      {"least_values=7", "value_count { min: 7 }"},
      {"most_values=7", "value_count { max: 7 }"},
      {"least_unique=7", "unique_constraints { min: 7 }"},
      {"most_unique=7", "unique_constraints { max: 7 }"},
      {"drift=0.5", "drift_comparator { infinity_norm { threshold: 0.5 } }"},
      {"drift_jensen_shannon=0.5", "drift_comparator { jensen_shannon_divergence { threshold: 0.5 } }"},
      {"drift_difference=0.5", "drift_comparator { normalized_abs_difference { threshold: 0.5 } }"},
      {"skew=0.5", "skew_comparator { infinity_norm { threshold: 0.5 } }"},
      {"skew_jensen_shannon=0.5", "skew_comparator { jensen_shannon_divergence { threshold: 0.5 } }"},
      {"skew_difference=0.5", "skew_comparator { normalized_abs_difference { threshold: 0.5 } }"},
      {"lifecycle=BETA", "lifecycle_stage: BETA"},
      {"min=-3", "int_domain { min: -3 }"},
      {"max=3", "int_domain { max: 3 }"},
      {"disallow_nan=true", "float_domain { disallow_nan: true }"},
      {"disallow_inf=true", "float_domain { disallow_inf: true }"},
  };
  for (const auto& [words, field] : fields) {
    tfmd::Schema wanted;
    parse_metadata(cat("feature { name: 'age' type: INT ", field, " }"), wanted);
    EXPECT_EQ(set(cat("age.", words)).feature(3).DebugString(), wanted.feature(0).DebugString()) << words;
  }
  const std::pair<const char*, const char*> of_real[] = {{"min=0.5", "float_domain { min: 0.5 }"},
                                                         {"max=1e3", "float_domain { max: 1000 }"}};
  for (const auto& [words, field] : of_real) {
    tfmd::Schema wanted;
    parse_metadata(cat("feature { name: 'tips' type: FLOAT shape {} in_environment: 'serving' ", field, " }"),
                   wanted);
    EXPECT_EQ(set(cat("tips.", words)).feature(2).DebugString(), wanted.feature(0).DebugString()) << words;
  }
  // Of texts the domain that there is says which.
  EXPECT_EQ(edited({.set = {"'a.b'.int_domain.min=1", "'a.b'.max=9"}}).feature(4).int_domain().max(), 9);
}

TEST(SchemaEdit, SetsTagsAndRules) {
  const auto tags = [](const tfmd::Annotation& annotation) {
    return std::vector<std::string>(annotation.tag().begin(), annotation.tag().end());
  };
  using Tags = std::vector<std::string>;
  EXPECT_EQ(tags(set("age.policy=default").feature(3).annotation()), Tags{"espalier.policy=default"});
  EXPECT_EQ(tags(set("'a.b'.max_mean=1e3").feature(4).annotation()), Tags{"espalier.max_mean=1e3"});
  EXPECT_EQ(tags(set("dataset.policy=quarantine").annotation()), Tags{"espalier.policy=quarantine"});
  EXPECT_EQ(tags(edited({.set = {"age.default=1", "age.annotation.tag=mine", "age.default=2"}})
                     .feature(3)
                     .annotation()),
            (Tags{"mine", "espalier.default=2"}));
  EXPECT_EQ(tags(edited({.set = {"age.default=1", "age.default="}}).feature(3).annotation()), Tags{});
  for (const char* wrong :
       {"age.policy=maybe", "age.max_mean=high", "age.min_zeros=nan", "dataset.policy=no"})
    EXPECT_EQ(edit_rule_of({.set = {wrong}}), "schema_edit.value") << wrong;
  // A rule is there once, in one spelling.
  const SchemaEdits rules = {.rules = {"age>=0", "age >= 0", "tips > 1"}, .warning_rules = {"tips>1"}};
  EXPECT_EQ(tags(edited(rules).annotation()), (Tags{"espalier.rule=age >= 0", "espalier.warning=tips > 1"}));
  EXPECT_EQ(edit_rule_of({.rules = {"agee > 0"}}), "expression.column");
  EXPECT_EQ(edit_rule_of({.rules = {"company > 0"}}), "expression.type");
  EXPECT_EQ(edit_rule_of({.rules = {"age"}}), "expression.type");
  EXPECT_EQ(edit_rule_of({.dropped_rules = {"age > 0"}}), "schema_edit.rule");
  EXPECT_EQ(tags(edited_schema(edited(rules), {.dropped_rules = {"tips>1"}}).annotation()),
            Tags{"espalier.rule=age >= 0"});
  SchemaTags read = tags_of(edited(rules));
  ASSERT_EQ(read.rules.size(), 2u);
  EXPECT_FALSE(read.rules[0].warning);
  EXPECT_TRUE(read.rules[1].warning);
}

TEST(SchemaEdit, RefusesLimitsThatCheckNothing) {
  for (const char* wrong :
       {"tips.min=nan", "tips.max=nan", "tips.max=inf", "company.min_domain_mass=nan",
        "company.min_domain_mass=2", "company.min_domain_mass=-0.1", "age.presence.min_fraction=2",
        "age.min_count=-1", "company.drift=-1", "company.skew_jensen_shannon=nan",
        "tips.drift_difference=-0.5", "dataset.min_examples_count=-1",
        "dataset.num_examples_drift_comparator.min_fraction_threshold=-1"})
    EXPECT_EQ(edit_rule_of({.set = {wrong}}), "schema_edit.value") << wrong;
  using Sets = std::vector<std::string>;
  for (const Sets& wrong :
       {Sets{"tips.min=5", "tips.max=1"}, Sets{"age.max=1", "age.min=2"},
        Sets{"age.least_values=2", "age.most_values=1"}, Sets{"age.least_unique=2", "age.most_unique=1"},
        Sets{"age.min_mean=2", "age.max_mean=1"},
        Sets{"dataset.min_examples_count=2", "dataset.max_examples_count=1"}})
    EXPECT_EQ(edit_rule_of({.set = wrong}), "schema_edit.limits") << wrong[0];
  try {
    edited({.set = {"tips.min=5", "tips.max=1"}});
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_EQ(error.message(), "tips.min is at most tips.max, got 5 and 1");
  }
  // Equal ends leave one number.
  const tfmd::Schema one =
      edited({.set = {"age.least_values=1", "age.most_values=1", "age.min=3", "age.max=3"}});
  EXPECT_EQ(one.feature(3).value_count().min(), 1);
  EXPECT_EQ(one.feature(3).value_count().max(), 1);
  EXPECT_EQ(one.feature(3).int_domain().max(), 3);
  // 0 and 1 are shares, and 0 is a threshold and a count.
  for (const char* right :
       {"company.min_domain_mass=0", "company.min_domain_mass=1", "age.min_fraction=0", "age.min_fraction=1",
        "company.drift=0", "age.min_count=0", "company.skew=2", "dataset.min_examples_count=0"})
    EXPECT_EQ(edit_rule_of({.set = {right}}), "none") << right;
  for (const Sets& wrong :
       {Sets{"age.min_deviation=2", "age.max_deviation=1"}, Sets{"age.min_zeros=0.5", "age.max_zeros=0.25"}})
    EXPECT_EQ(edit_rule_of({.set = wrong}), "schema_edit.limits") << wrong[0];
  // Ends move together, whichever is named first.
  const tfmd::Schema moved = edited({.set = {"age.min=0", "age.max=9", "age.min=20", "age.max=30"}});
  EXPECT_EQ(moved.feature(3).int_domain().min(), 20);
}

TEST(SchemaEdit, ClearingWhatIsNotThereAddsNothing) {
  const std::string before = edited({}).DebugString();
  for (const char* words : {"tips.max=", "age.min_fraction=", "company.min_domain_mass=", "company.drift=",
                            "dataset.min_examples_count="})
    EXPECT_EQ(set(words).DebugString(), before) << words;
  EXPECT_EQ(edit_rule_of({.set = {"tips.float_domain.mox="}}), "schema_edit.field");
}

TEST(SchemaEdit, AllowsValuesAndPlacesFeatures) {
  EXPECT_EQ(edited({.allow = {"company=A, B & C"}}).string_domain(0).value(1), "A, B & C");
  EXPECT_EQ(edited({.allow = {"payment_type=Prcard"}}).feature(1).string_domain().value(1), "Prcard");
  EXPECT_EQ(edited({.allow = {"payment_type=Cash"}}).feature(1).string_domain().value_size(), 1);
  const tfmd::Schema placed = edited({.not_in = {"serving:tips"}, .environments = {"serving", "training"}});
  EXPECT_EQ(placed.default_environment_size(), 2);
  EXPECT_EQ(placed.feature(2).not_in_environment(0), "serving");
  EXPECT_EQ(placed.feature(2).in_environment_size(), 0);
  EXPECT_EQ(edited({.in = {"training:trip.day"}}).feature(5).struct_domain().feature(0).in_environment(0),
            "training");
}

TEST(SchemaEdit, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(edit_rule_of({.set = {"compny.drift=1"}}), "schema_edit.feature");
  EXPECT_EQ(edit_rule_of({.set = {"company.drif=1"}}), "schema_edit.field");
  EXPECT_EQ(edit_rule_of({.set = {"company.drift"}}), "schema_edit.set");
  EXPECT_EQ(edit_rule_of({.set = {"company"}}), "schema_edit.set");
  EXPECT_EQ(edit_rule_of({.set = {"company.drift=low"}}), "schema_edit.value");
  EXPECT_EQ(edit_rule_of({.set = {"age.max=1.5"}}), "schema_edit.value");
  EXPECT_EQ(edit_rule_of({.set = {"age.lifecycle=ALPH"}}), "schema_edit.value");
  EXPECT_EQ(edit_rule_of({.set = {"tips.disallow_inf=1"}}), "schema_edit.value");
  EXPECT_EQ(edit_rule_of({.set = {"company.max=1"}}), "schema_edit.domain");
  EXPECT_EQ(edit_rule_of({.set = {"age.presence=1"}}), "schema_edit.field");
  EXPECT_EQ(edit_rule_of({.set = {"tips.shape.dim.size=1"}}), "schema_edit.field");
  EXPECT_EQ(edit_rule_of({.set = {"age.name.first=1"}}), "schema_edit.field");
  EXPECT_EQ(edit_rule_of({.allow = {"age=7"}}), "schema_edit.allow");
  EXPECT_EQ(edit_rule_of({.allow = {"away=7"}}), "schema_edit.feature");
  // Quotes are no more than that.
  EXPECT_EQ(edit_rule_of({.set = {"\"company\".drift=0.1", "`age`.max=99"}, .allow = {"\"company\"=x"}}),
            "none");
  EXPECT_EQ(edit_rule_of({.set = {"\"company\"drift=0.1"}}), "schema_edit.feature");
  EXPECT_EQ(edit_rule_of({.set = {"\"company.drift=0.1"}}), "schema_edit.feature");
  EXPECT_EQ(edit_rule_of({.not_in = {"training:\"tip\""}}), "schema_edit.feature");
  EXPECT_EQ(edit_rule_of({.not_in = {"serving:tips"}}), "schema_edit.environment");
  EXPECT_EQ(edit_rule_of({.not_in = {"tips"}}), "schema_edit.environment");
  EXPECT_EQ(edit_rule_of({.not_in = {"training:tip"}}), "schema_edit.feature");
}

}  // namespace
}  // namespace espalier
