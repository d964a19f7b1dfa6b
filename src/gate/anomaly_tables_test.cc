// The words, the table and the JSON of anomalies, whole.
#include "gate/anomaly_tables.h"

#include <regex>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/format.h"

namespace espalier {
namespace {

using Info = tfmd::AnomalyInfo;

FeatureAnomaly anomaly(const FeaturePath& path, Info::Severity severity) {
  return {path,
          {{Info::INT_TYPE_BIG_INT, "Out-of-range values", "Too large.", "99", "<= 90"},
           {Info::INT_TYPE_SMALL_INT, "Out-of-range values", "Too small.", "-1", ">= 0"}},
          severity,
          {{.removed = {"    a: 1", "    b: 2"}, .added = {"    a: 3"}},
           {.removed = {}, .added = {"  c: 4", "  d: 5"}}}};
}

Validation of_two() {
  Validation out;
  out.dataset = FeatureAnomaly{
      {},
      {{Info::DATASET_LOW_NUM_EXAMPLES, "Low num examples in dataset.", "Few.", "10 rows", "11 or more"}},
      Info::WARNING,
      {}};
  out.features = {anomaly({"trip", "age"}, Info::ERROR)};
  tfmd::DriftSkewInfo& measured = out.measured.emplace_back();
  measured.mutable_path()->add_step("town");
  const auto add = [](auto& to, tfmd::DriftSkewInfo::Measurement::Type type, double value, double most) {
    auto& one = *to.Add();
    one.set_type(type);
    one.set_value(value);
    one.set_threshold(most);
  };
  add(*measured.mutable_drift_measurements(), tfmd::DriftSkewInfo::Measurement::L_INFTY, 0.5, 0.25);
  add(*measured.mutable_skew_measurements(), tfmd::DriftSkewInfo::Measurement::JENSEN_SHANNON_DIVERGENCE,
      0.125, 0.375);
  return out;
}

tfmd::DatasetFeatureStatistics statistics_of(int features, uint64_t rows) {
  tfmd::DatasetFeatureStatistics out;
  for (int i = 0; i < features; ++i) out.add_features();
  out.set_num_examples(rows);
  return out;
}

TEST(AnomalyTables, TheSentenceCountsAndNamesTheFirstThree) {
  const auto one = statistics_of(1, 1), many = statistics_of(3, 2000);
  const auto said = [](const Validation& found, const tfmd::DatasetFeatureStatistics& statistics) {
    return anomaly_sentence(found, {.statistics = &statistics});
  };
  Validation found;
  EXPECT_EQ(said(found, one), "No anomalies: 1 feature, 1 row.");
  found.features = {anomaly({"a"}, Info::WARNING)};
  EXPECT_EQ(said(found, one),
            "1 thing is worth a warning: a (Out-of-range values: 99); of 1 feature, 1 row.");
  EXPECT_EQ(
      said(of_two(), statistics_of(3, 200)),
      "2 things are not as the schema says: (data set) (Low num examples in dataset.: 10 rows); trip.age "
      "(Out-of-range values: 99); of 3 features, 200 rows.");
  for (const char* name : {"b", "c"}) found.features.push_back(anomaly({name}, Info::WARNING));
  EXPECT_NE(said(found, many).find("; c (Out-of-range values: 99); of 3 features"), std::string::npos);
  found.features.push_back(anomaly({"d"}, Info::ERROR));
  EXPECT_NE(said(found, many).find("4 things are not as the schema says: a ("), std::string::npos);
  EXPECT_NE(said(found, many).find("; c (Out-of-range values: 99); and 1 more; of 3 features"),
            std::string::npos);
  found.data_missing = true;
  EXPECT_EQ(said(found, many), "There is no data: the statistics are of 0 rows.");
}

TEST(AnomalyTables, TheTableHasALineForEachReasonAndDistance) {
  // Cells with bars between them.
  const auto cells = [](const Validation& found) {
    return std::regex_replace(anomaly_table(found, {}), std::regex("  +"), "|");
  };
  const std::string text = cells(of_two());
  for (const char* line : {"\n(data set)|WARNING|DATASET_LOW_NUM_EXAMPLES|10 rows|11 or more",
                           "\ntrip.age|ERROR|INT_TYPE_BIG_INT|99|<= 90|a: 1 -> a: 3, -b: 2, +c: 4, +d: 5\n",
                           "\n|ERROR|INT_TYPE_SMALL_INT|-1|>= 0", "\ntown|previous|L_INFTY|0.5|0.25\n",
                           "\ntown|serving|JENSEN_SHANNON_DIVERGENCE|0.125|0.375\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  EXPECT_TRUE(text.starts_with("\nfeature|severity|anomaly|observed|limit|fix\n")) << text;
  EXPECT_NE(text.find("\n\nfeature|compared with|distance|value|at most\n"), std::string::npos) << text;
  EXPECT_EQ(cells({}), "");
  Validation measured;
  measured.measured = of_two().measured;
  EXPECT_TRUE(cells(measured).starts_with("\nfeature|compared with|")) << cells(measured);
}

TEST(AnomalyTables, TheJsonHasAllOfIt) {
  Validation found = of_two();
  found.features[0].reasons.pop_back();
  EXPECT_EQ(anomaly_json(found), nlohmann::ordered_json::parse(R"json({
    "errors": true, "data_missing": false,
    "anomalies": [
      {"feature": "(data set)", "path": [], "severity": "WARNING",
       "reasons": [{"type": "DATASET_LOW_NUM_EXAMPLES", "short_description": "Low num examples in dataset.",
                    "description": "Few.", "observed": "10 rows", "limit": "11 or more"}],
       "fix": []},
      {"feature": "trip.age", "path": ["trip", "age"], "severity": "ERROR",
       "reasons": [{"type": "INT_TYPE_BIG_INT", "short_description": "Out-of-range values",
                    "description": "Too large.", "observed": "99", "limit": "<= 90"}],
       "fix": [{"removed": ["    a: 1", "    b: 2"], "added": ["    a: 3"]},
               {"removed": [], "added": ["  c: 4", "  d: 5"]}]}],
    "measured": [
      {"feature": "town", "compared_with": "previous", "type": "L_INFTY", "value": 0.5, "threshold": 0.25},
      {"feature": "town", "compared_with": "serving", "type": "JENSEN_SHANNON_DIVERGENCE", "value": 0.125,
       "threshold": 0.375}]})json"));
  Validation none;
  none.data_missing = true;
  EXPECT_EQ(anomaly_json(none),
            nlohmann::ordered_json::parse(
                R"({"errors": true, "data_missing": true, "anomalies": [], "measured": []})"));
}

}  // namespace
}  // namespace espalier
