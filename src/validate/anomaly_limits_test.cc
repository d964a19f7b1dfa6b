// What limits of a schema allow, to the last number, and what the data has where it is beyond.
#include <gtest/gtest.h>

#include "base/format.h"
#include "validate/anomalies.h"
#include "validate/statistics_view.h"

namespace espalier {
namespace {

template <class Message>
Message of(const std::string& text) {
  Message message;
  parse_metadata(text, message);
  return message;
}

std::string said_of(const AnomalyReasons& reasons) {
  std::string out;
  for (const AnomalyReason& each : reasons)
    out += cat(out.empty() ? "" : "; ", each.observed, " | ", each.limit);
  return out;
}

// Of a feature with these keys in the schema and these of ten rows.
std::string said(const std::string& schema, const std::string& statistics, const std::string& more = "") {
  const auto list = of<tfmd::DatasetFeatureStatisticsList>(
      cat("datasets { num_examples: 10 features { name: 'x' ", statistics, " } }"));
  const Validation found = validate(of<tfmd::Schema>(cat("feature { name: 'x' ", schema, " } ", more)),
                                    {.statistics = &all_examples(list)});
  return found.features.empty() ? "" : said_of(found.features[0].reasons);
}

struct LimitCase {
  const char *schema, *said;
};
void expect_said(std::initializer_list<LimitCase> cases, const std::string& statistics,
                 const std::string& more = "") {
  for (const LimitCase& each : cases)
    EXPECT_EQ(said(each.schema, statistics, more), each.said) << each.schema;
}

std::string common(int present, int least, int most, int values) {
  return cat("common_stats { num_non_missing: ", present, " num_missing: ", 10 - present,
             " min_num_values: ", least, " max_num_values: ", most, " tot_num_values: ", values, " } ");
}

TEST(AnomalyLimits, OfPresenceAndNumbersOfValuesAreAllowedThemselves) {
  expect_said(
      {{"type: INT presence { min_count: 8 min_fraction: 0.8 }", ""},
       {"type: INT presence { min_count: 9 }", "8 rows | 9 or more"},
       {"type: INT presence { min_fraction: 0.875 }", "0.8 | 0.875 or more"},
       {"type: INT presence { min_fraction: 1 }", "0.8 | 1 or more"},
       {"type: INT value_count { min: 2 max: 3 }", ""},
       {"type: INT value_count { min: 3 }", "2 | 3 or more"},
       {"type: INT value_count { max: 2 }", "3 | at most 2"},
       {"type: INT value_counts { value_count { min: 2 max: 3 } }", ""},
       {"type: INT value_counts { value_count { min: 1 max: 1 } value_count {} }", "1 levels | 2 levels"},
       {"type: INT shape { dim { size: 2 } }", "missing in rows | 2 values"},
       {"type: INT shape {}", "missing in rows | 1 value"},
       {"type: FLOAT", "INT | FLOAT"}},
      "type: INT num_stats { " + common(8, 2, 3, 20) + " }");
  expect_said({{"type: INT shape { dim { size: 2 } dim { size: 3 } }", ""},
               {"type: INT shape { dim { size: 7 } }", "6 values | 7 values"},
               {"type: INT shape {}", "6 values | 1 value"},
               {"type: INT presence { min_count: 10 min_fraction: 1 }", ""}},
              "type: INT num_stats { " + common(10, 6, 6, 60) + " }");
  expect_said({{"type: INT shape { dim { size: 2 } }", "1 value | 2 values"}, {"type: INT shape {}", ""}},
              "type: INT num_stats { " + common(10, 1, 1, 10) + " }");
  expect_said({{"type: INT shape { dim { size: 2 } }", "varying | 2 values"}},
              "type: INT num_stats { " + common(10, 1, 2, 15) + " }");
}

TEST(AnomalyLimits, OfRowsMissingSoSeldomThatTheShareRoundsToOne) {
  const auto list = of<tfmd::DatasetFeatureStatisticsList>(
      "datasets { num_examples: 100000000000000000 features { name: 'x' type: INT num_stats { common_stats { "
      "num_non_missing: 99999999999999999 num_missing: 1 min_num_values: 1 max_num_values: 1 } } } }");
  const auto schema = of<tfmd::Schema>("feature { name: 'x' type: INT presence { min_fraction: 1 } }");
  const ValidateInputs inputs = {.statistics = &all_examples(list)};
  const Validation found = validate(schema, inputs);
  ASSERT_EQ(found.features.size(), 1u);
  EXPECT_EQ(said_of(found.features[0].reasons), "missing in 1 | in every row");
  EXPECT_EQ(fixed_schema(schema, inputs, {{"x"}}, false, "").feature(0).presence().min_fraction(), 0.9999);
}

TEST(AnomalyLimits, OfNumbersAreAllowedThemselves) {
  expect_said({{"type: INT int_domain { min: -2 max: 9 }", ""},
               {"type: INT int_domain { min: -1 max: 8 }", "-2 | >= -1; 9 | <= 8"},
               {"type: INT bool_domain {}", "-2 | 0 or 1"},
               {"type: INT unique_constraints { min: 0 }", "not counted | texts or categories"}},
              "type: INT num_stats { " + common(10, 1, 1, 10) + " min: -2 max: 9 }");
  const auto whole = [](double least, double most) {
    return cat("type: INT num_stats { ", common(10, 1, 1, 10), " min: ", least, " max: ", most, " }");
  };
  EXPECT_EQ(said("type: INT bool_domain {}", whole(0, 1)), "");
  EXPECT_EQ(said("type: INT bool_domain {}", whole(0, 2)), "2 | 0 or 1");
  const auto real = [](const char* least, const char* most, const std::string& histogram = "") {
    return cat("type: FLOAT num_stats { ", common(10, 1, 1, 10), " min: ", least, " max: ", most, " ",
               histogram, " }");
  };
  expect_said(
      {{"type: FLOAT float_domain { min: -0.25 max: 0.75 disallow_inf: true disallow_nan: true }", ""},
       {"type: FLOAT float_domain { min: -0.125 max: 0.5 }", "-0.25 | >= -0.125; 0.75 | <= 0.5"},
       {"type: FLOAT bool_domain {}", "-0.25 | 0 or 1"}},
      real("-0.25", "0.75", "histograms { buckets { low_value: -0.25 high_value: 0.75 } }"));
  const char* const finite = "type: FLOAT float_domain { disallow_inf: true disallow_nan: true }";
  EXPECT_EQ(said(finite, real("-inf", "1")), "inf | no inf");
  EXPECT_EQ(said(finite, real("0", "inf")), "inf | no inf");
  EXPECT_EQ(said(finite, real("0", "1", "histograms { num_nan: 1 }")), "nan | no nan");
  EXPECT_EQ(said("type: FLOAT float_domain {}", real("-inf", "inf", "histograms { num_nan: 1 }")), "");
  const auto bools = [&](const std::string& histogram) {
    return said("type: FLOAT bool_domain {}", real("0", "1", cat("histograms { ", histogram, " }")));
  };
  EXPECT_EQ(bools("buckets { low_value: 0 high_value: 1 sample_count: 2 } type: QUANTILES"), "");
  EXPECT_EQ(bools("num_nan: 1"), "nan | 0 or 1");
  EXPECT_EQ(bools("buckets { low_value: -2 high_value: -1 sample_count: 2 }"), "below 0 | 0 or 1");
  EXPECT_EQ(bools("buckets { low_value: 1.5 high_value: 2 sample_count: 2 }"), "above 1 | 0 or 1");
  EXPECT_EQ(bools("buckets { low_value: 1.5 high_value: 2 }"), "") << "nobody is in it";
  const std::string between = "buckets { low_value: 0.25 high_value: 0.75 sample_count: 2 } type: ";
  EXPECT_EQ(bools(between + "QUANTILES"), "between 0 and 1 | 0 or 1");
  EXPECT_EQ(bools(between + "STANDARD"), "");
}

TEST(AnomalyLimits, OfTextsAreAllowedThemselves) {
  const auto texts = [](const std::string& buckets) {
    return cat("type: STRING string_stats { unique: 3 ", common(10, 1, 1, 400), " rank_histogram { ", buckets,
               " } }");
  };
  const auto bucket = [](const char* label, int count) {
    return cat("buckets { label: '", label, "' sample_count: ", count, " } ");
  };
  const std::string three = texts(bucket("a", 300) + bucket("c", 97) + bucket("b\\\"\\t\\001", 3));
  expect_said({{"type: BYTES unique_constraints { min: 3 max: 3 }", ""},
               {"type: BYTES unique_constraints { min: 4 max: 4 }", "3 | 4 or more"},
               {"type: BYTES unique_constraints { min: 1 max: 2 }", "3 | at most 2"},
               {"type: BYTES domain: 'all'", ""},
               {"type: BYTES domain: 'a'", "b\\\"\\t\\001 (<1%), c (~24%) | values of the domain"},
               {"type: BYTES string_domain { value: 'c' } distribution_constraints { min_domain_mass: 0.5 }",
                "a (~75%), b\\\"\\t\\001 (<1%) | 0.5 or more within the domain"},
               {"type: BYTES domain: 'a' distribution_constraints { min_domain_mass: 0.75 }", ""},
               {"type: BYTES domain: 'a' distribution_constraints { min_domain_mass: 0.875 }",
                "b\\\"\\t\\001 (<1%), c (~24%) | 0.875 or more within the domain"},
               {"type: BYTES domain: 'a' distribution_constraints { min_domain_mass: 1 }",
                "b\\\"\\t\\001 (<1%), c (~24%) | values of the domain"},
               {"type: BYTES bool_domain { true_value: 'a' false_value: 'c' }", "b\"\t\x01 | {\"a\", \"c\"}"},
               {"type: BYTES int_domain {}", "a | whole numbers"},
               {"type: BYTES float_domain {}", "a | numbers"}},
              three,
              "string_domain { name: 'a' value: 'a' } "
              "string_domain { name: 'all' value: 'a' value: 'c' value: 'b\\\"\\t\\001' }");
  EXPECT_EQ(said("type: BYTES string_domain { value: 'a' }", texts(bucket("a", 396) + bucket("b", 4))),
            "b (~1%) | values of the domain");
  expect_said({{"type: BYTES int_domain { min: -3 max: 12 }", ""},
               {"type: BYTES int_domain { min: -2 max: 11 }", "-3 | >= -2; 12 | <= 11"},
               {"type: BYTES float_domain { min: -3 max: 12 }", ""},
               {"type: BYTES float_domain { min: -2.5 max: 11.5 }", "-3 | >= -2.5; 12 | <= 11.5"}},
              texts(bucket("12", 1) + bucket("-3", 1) + bucket("+7", 1)));
  EXPECT_EQ(said("type: BYTES float_domain { disallow_nan: true }", texts(bucket("1", 1) + bucket("nan", 1))),
            "nan | no nan");
}

TEST(AnomalyLimits, OfImagesAndLanguageAreAllowedThemselves) {
  const std::string images =
      "type: BYTES bytes_stats { " + common(10, 1, 1, 10) +
      " max_num_bytes_int: 500 } custom_stats { name: 'image_format_histogram' rank_histogram { buckets { "
      "label: 'JPEG' sample_count: 3 } buckets { label: 'UNKNOWN' sample_count: 1 } } }";
  expect_said(
      {{"type: BYTES image_domain { minimum_supported_image_fraction: 0.75 max_image_byte_size: 500 }", ""},
       {"type: BYTES image_domain { minimum_supported_image_fraction: 0.875 }", "0.75 | 0.875 or more"},
       {"type: BYTES image_domain { max_image_byte_size: 499 }", "500 bytes | at most 499"}},
      images);
  const std::string words =
      "type: STRING string_stats { " + common(10, 1, 1, 10) +
      " } custom_stats { name: 'nl_statistics' any { "
      "[type.googleapis.com/tensorflow.metadata.v0.NaturalLanguageStatistics] { feature_coverage: 0.5 "
      "avg_token_length: 4 token_statistics { string_token: 'a' fraction_of_sequences: 0.5 "
      "per_sequence_min_frequency: 2 per_sequence_max_frequency: 6 } token_statistics { int_token: 7 "
      "fraction_of_sequences: 0.25 per_sequence_min_frequency: 1 per_sequence_max_frequency: 3 } } } }";
  const auto language = [&](const std::string& limits) {
    return said(cat("type: BYTES natural_language_domain { ", limits, " }"), words);
  };
  EXPECT_EQ(language("coverage { min_coverage: 0.5 min_avg_token_length: 4 }"), "");
  EXPECT_EQ(language("coverage { min_coverage: 0.625 }"), "0.5 | 0.625 or more");
  EXPECT_EQ(language("coverage { min_avg_token_length: 4.5 }"), "4 | 4.5 or more");
  const auto token = [&](const std::string& limits) {
    return language(cat("token_constraints { ", limits, " }"));
  };
  EXPECT_EQ(token("string_value: 'a' min_fraction_of_sequences: 0.5 max_fraction_of_sequences: 0.5 "
                  "min_per_sequence: 2 max_per_sequence: 6"),
            "");
  EXPECT_EQ(token("int_value: 7 min_fraction_of_sequences: 0.25 max_fraction_of_sequences: 0.25 "
                  "min_per_sequence: 1 max_per_sequence: 3"),
            "");
  EXPECT_EQ(token("string_value: 'a' min_fraction_of_sequences: 0.75 min_per_sequence: 3"),
            "a in 0.5 | 0.75 or more; a 2 times | 3 or more");
  EXPECT_EQ(token("int_value: 7 max_fraction_of_sequences: 0.125 max_per_sequence: 2"),
            "7 in 0.25 | at most 0.125; 7 3 times | at most 2");
  EXPECT_EQ(token("int_value: 8 min_per_sequence: 1"), "no statistics | natural language statistics");
}

std::string of_texts(int a, int b) {
  return cat("datasets { num_examples: ", a + b,
             " features { name: 'x' type: STRING string_stats { common_stats { num_non_missing: ", a + b,
             " tot_num_values: ", a + b, " } rank_histogram { buckets { label: 'a' sample_count: ", a,
             " } buckets { label: 'b' sample_count: ", b, " } } } } }");
}

// Now 3 of 4 are "a"; before 1 of 4, and in serving 2 of 4.
TEST(AnomalyLimits, OfDriftAndSkewAreMeasuredEachByItselfAndAllowedThemselves) {
  const auto now = of<tfmd::DatasetFeatureStatisticsList>(of_texts(3, 1)),
             before = of<tfmd::DatasetFeatureStatisticsList>(of_texts(1, 3)),
             serving = of<tfmd::DatasetFeatureStatisticsList>(of_texts(2, 2));
  const auto judged = [&](const std::string& comparators, bool with_controls = true) {
    ValidateInputs inputs = {.statistics = &all_examples(now)};
    if (with_controls) inputs.previous = &all_examples(before), inputs.serving = &all_examples(serving);
    const auto schema = of<tfmd::Schema>(cat("feature { name: 'x' type: BYTES ", comparators, " }"));
    const Validation found = validate(schema, inputs);
    std::string out;
    for (const tfmd::DriftSkewInfo& each : found.measured) {
      for (const auto& one : each.drift_measurements()) out += cat("drift ", six_digits(one.value()), " ");
      for (const auto& one : each.skew_measurements()) out += cat("skew ", six_digits(one.value()), " ");
    }
    EXPECT_EQ(anomalies_of(found, schema).drift_skew_info_size(), static_cast<int>(found.measured.size()));
    return out + (found.features.empty() ? "" : said_of(found.features[0].reasons));
  };
  EXPECT_EQ(judged("drift_comparator { infinity_norm { threshold: 0.5 } }"), "drift 0.5 ");
  EXPECT_EQ(judged("drift_comparator { infinity_norm { threshold: 0.375 } }"),
            "drift 0.5 0.5 | at most 0.375");
  EXPECT_EQ(judged("skew_comparator { infinity_norm { threshold: 0.25 } }"), "skew 0.25 ");
  EXPECT_EQ(judged("skew_comparator { infinity_norm { threshold: 0.125 } }"),
            "skew 0.25 0.25 | at most 0.125");
  EXPECT_EQ(judged("skew_comparator { normalized_abs_difference { threshold: 0.125 } }"), "skew 0.125 ");
  EXPECT_EQ(judged("drift_comparator { normalized_abs_difference { threshold: 0.125 } }"),
            "drift 0.25 0.25 | at most 0.125");
  EXPECT_EQ(judged("drift_comparator { infinity_norm { threshold: 1 } } "
                   "skew_comparator { infinity_norm { threshold: 1 } }"),
            "drift 0.5 skew 0.25 ");
  EXPECT_EQ(judged("drift_comparator {} skew_comparator {}"), "");
  EXPECT_EQ(judged("drift_comparator { infinity_norm { threshold: 0 } }", false), "");
}

TEST(AnomalyLimits, OfNumbersOfRowsAreAllowedThemselves) {
  const auto rows = [](int64_t count) {
    return of<tfmd::DatasetFeatureStatisticsList>(cat("datasets { num_examples: ", count, " }"));
  };
  const auto now = rows(100), before = rows(80), version = rows(200), none = rows(0);
  const auto judged = [&](const std::string& constraints,
                          const tfmd::DatasetFeatureStatisticsList& previous) {
    const Validation found = validate(of<tfmd::Schema>(cat("dataset_constraints { ", constraints, " }")),
                                      {.statistics = &all_examples(now),
                                       .previous = &all_examples(previous),
                                       .previous_version = &all_examples(version)});
    return found.dataset ? said_of(found.dataset->reasons) : "";
  };
  const struct {
    const char *constraints, *said;
  } cases[] = {
      {"min_examples_count: 100 max_examples_count: 100", ""},
      {"min_examples_count: 101", "100 rows | 101 or more"},
      {"min_examples_count: 1 max_examples_count: 99", "100 rows | at most 99"},
      {"num_examples_drift_comparator { min_fraction_threshold: 1.25 max_fraction_threshold: 1.25 }", ""},
      {"num_examples_drift_comparator { min_fraction_threshold: 1.5 }",
       "100 rows, 1.25 of 80 | at least 1.5"},
      {"num_examples_drift_comparator { max_fraction_threshold: 1 }", "100 rows, 1.25 of 80 | at most 1"},
      {"num_examples_version_comparator { min_fraction_threshold: 0.5 max_fraction_threshold: 0.5 }", ""},
      {"num_examples_version_comparator { min_fraction_threshold: 1 }", "100 rows, 0.5 of 200 | at least 1"},
  };
  for (const auto& each : cases) EXPECT_EQ(judged(each.constraints, before), each.said) << each.constraints;
  EXPECT_EQ(
      judged("num_examples_drift_comparator { max_fraction_threshold: 9 min_fraction_threshold: 1 }", none),
      "100 rows, before 0 | at most 9 of before");
}

}  // namespace
}  // namespace espalier
