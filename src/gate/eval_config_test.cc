#include "gate/eval_config.h"

#include <algorithm>
#include <set>

#include "base/format.h"
#include "base/rule_of_test.h"
#include "evaluate/category_column_test.h"
#include "gate/gates.h"
#include "gate/verdict.h"
#include "ir/golden_test.h"
#include "validate/metadata_files.h"

namespace espalier {
namespace {

std::string from_hex(const std::string& hex) {
  std::string out;
  for (size_t i = 0; i < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

// The rows of tests/golden/tfma_gates.py.
struct GatedRows {
  nlohmann::json json;
  std::vector<double> scores = column<double>("p"), before = column<double>("before"),
                      weights = column<double>("w");
  std::vector<uint8_t> labels = column<uint8_t>("y");
  CategoryColumn sex = column_of("sex", column<std::string>("sex"));
  CategoryColumn age = column_of("age", column<std::string>("age"));

  template <class T>
  std::vector<T> column(const char* name) const {
    return json.at(name).get<std::vector<T>>();
  }
  Verdict judged(const EvalConfigGates& made) const {
    const Gates gates = read_gates(made.text, "gates.toml");
    const auto assessed = [&](const std::vector<double>& of) {
      return assess(ScoredRows{of, labels, weights}, {{&sex}, {&age, &sex}},
                    {.thresholds = gates.thresholds()});
    };
    const Assessment baseline = assessed(before);
    return judge(gates, assessed(scores), &baseline, std::chrono::year(2030) / 1 / 1);
  }
};

TEST(EvalConfigs, JsonOfSomethingElseIsRefusedByItsField) {
  const auto said = [](const char* json) {
    try {
      parse_eval_config(json);
    } catch (const FormatError& error) {
      return cat(error.rule(), ": ", error.message());
    }
    return std::string("nothing");
  };
  EXPECT_TRUE(said("{").starts_with("json.syntax: "));
  EXPECT_TRUE(said(R"({"metricSpecs": []})").starts_with("evalconfig.json: no EvalConfig: "));
  EXPECT_NE(said(R"({"metricSpecs": []})").find("metricSpecs"), std::string::npos)
      << said(R"({"metricSpecs": []})");
  EXPECT_TRUE(said(R"({"evalConfig": 3})").starts_with("evalconfig.json: "));
  EXPECT_TRUE(said(R"({"metricsSpecs": [{"metrics": "Recall"}]})").starts_with("evalconfig.json: "));
  EXPECT_EQ(said(" \n{}"), "nothing");
}

TEST(EvalConfigs, GatesSayOfEachThresholdWhatTensorflowModelAnalysisSays) {
  const nlohmann::json golden = read_golden("tfma_gates.json");
  const EvalConfigGates made = gates_of(parse_eval_config(golden.at("text").get<std::string>()));
  EXPECT_EQ(gates_of(parse_eval_config(from_hex(golden.at("bytes").get<std::string>()))).text, made.text);
  EXPECT_EQ(gates_of(parse_eval_config(golden.at("json").dump())).text, made.text);
  const nlohmann::json beside = {
      {"version", "0.47.1"}, {"evalConfig", golden.at("json")}, {"fileFormat", "x"}};
  EXPECT_EQ(gates_of(parse_eval_config(beside.dump(2))).text, made.text);
  EXPECT_EQ(made.label, "y");
  EXPECT_EQ(made.score, "p");
  EXPECT_EQ(made.weight, "w");
  EXPECT_TRUE(made.ask_baseline);
  const Verdict verdict = GatedRows{golden.at("rows")}.judged(made);
  size_t kept = 0, broken = 0;
  for (const auto& [name, passes] : golden.at("passes").items()) {
    Ruling worst = Ruling::kPass;
    size_t found = 0;
    for (const GateResult& result : verdict.results) {
      if (result.gate.name != name && !result.gate.name.starts_with(name + " ")) continue;
      worst = std::max(worst, result.ruling);
      ++found;
    }
    EXPECT_GT(found, 0u) << name;
    // There each slice of a cross is held against itself too, and 0 lies beyond this limit.
    if (name == "old female to cross at least 0.02") continue;
    EXPECT_EQ(worst, passes.get<bool>() ? Ruling::kPass : Ruling::kBlocked) << name;
    (passes.get<bool>() ? kept : broken) += 1;
  }
  EXPECT_GT(kept, 80u);
  EXPECT_GT(broken, 80u);
}

TEST(EvalConfigs, FairnessIndicatorsAreRatesAtTheirThresholds) {
  const EvalConfigGates made = gates_of(parse_eval_config(R"(
metrics_specs { thresholds { key: "fairness_indicators_metrics/positive_rate@0.3" value {
  value_threshold { upper_bound { value: 0.2 } } } } })"));
  EXPECT_TRUE(made.notes.empty());
  const Gate gate = read_gates(made.text, "gates.toml").gates.at(0);
  EXPECT_EQ(gate.of, "selection_rate");
  EXPECT_EQ(gate.threshold, 0.3);
  EXPECT_EQ(gate.max, 0.2);
}

TEST(EvalConfigs, ThresholdsWithoutASliceAreOfAllSlicesThatAreNamed) {
  const EvalConfigGates made = gates_of(parse_eval_config(R"(
slicing_specs { feature_keys: ["a", "b"] } slicing_specs { feature_values { key: "a" value: "x" } }
metrics_specs { metrics { class_name: "Recall" config: '{"thresholds": 0.3}'
  threshold { value_threshold { lower_bound { value: 0.5 } upper_bound { value: 1.5 } } } } })"));
  const Gates gates = read_gates(made.text, "gates.toml");
  ASSERT_EQ(gates.gates.size(), 2u);
  EXPECT_EQ(gates.gates[0].where, Where::kEach);
  EXPECT_EQ(gates.gates[0].slice, "a*b");
  EXPECT_EQ(gates.gates[1].where, Where::kSlice);
  EXPECT_EQ(gates.gates[1].slice, "a=x");
  for (const Gate& gate : gates.gates) {
    EXPECT_EQ(gate.of, "true_positive_rate");
    EXPECT_EQ(gate.threshold, 0.3);
    EXPECT_EQ(gate.min, 0.5);
    EXPECT_EQ(gate.max, std::nullopt);  // that every share keeps
  }
}

// A file of gates takes no two of one name.
TEST(EvalConfigs, GatesOfOneMetricAtSeveralThresholdsHaveNamesOfTheirOwn) {
  const EvalConfigGates made = gates_of(parse_eval_config(R"(
metrics_specs { thresholds { key: "fairness_indicators_metrics/positive_rate@0.3" value {
  value_threshold { upper_bound { value: 0.2 } } } }
  thresholds { key: "fairness_indicators_metrics/positive_rate@0.5" value {
  value_threshold { upper_bound { value: 0.1 } } } } }
metrics_specs { metrics { class_name: "Recall" config: '{"thresholds": 0.3}'
  threshold { value_threshold { lower_bound { value: 0.5 } } } } }
metrics_specs { metrics { class_name: "Recall" config: '{"thresholds": 0.7}'
  threshold { value_threshold { lower_bound { value: 0.4 } } } } })"));
  const Gates gates = read_gates(made.text, "gates.toml");
  std::set<std::string> names;
  for (const Gate& gate : gates.gates) names.insert(gate.name);
  EXPECT_EQ(gates.gates.size(), 4u) << made.text;
  EXPECT_EQ(names.size(), 4u) << made.text;
}

TEST(EvalConfigs, ThresholdsOfTwoSlicesAreGatesAgainstOneOfThem) {
  const EvalConfigGates made = gates_of(parse_eval_config(R"(
cross_slicing_specs { baseline_spec { feature_values { key: "a" value: "x" } } slicing_specs { feature_keys: "a" } }
metrics_specs { cross_slice_thresholds { key: "auc" value { thresholds {
  cross_slicing_specs { baseline_spec { feature_values { key: "a" value: "x" } } slicing_specs { feature_keys: "a" } }
  threshold { value_threshold { lower_bound { value: -0.1 } upper_bound { value: 1 } } } } } } })"));
  EXPECT_TRUE(made.notes.empty());
  const Gate gate = read_gates(made.text, "gates.toml").gates.at(0);
  EXPECT_EQ(gate.where, Where::kEach);
  EXPECT_EQ(gate.slice, "a");
  EXPECT_EQ(gate.against, "a=x");
  EXPECT_EQ(gate.min, -1);
  EXPECT_EQ(gate.max, 0.1);  // there the baseline is less by the others
}

TEST(EvalConfigs, WhatHasNoPlaceIsNamed) {
  const std::string auc =
      "metrics { class_name: \"AUC\" threshold { value_threshold { lower_bound { value: 0.5 } } } }";
  const std::pair<const char*, const char*> cases[] = {
      {"model_specs { label_key: 'y' label_keys { key: 'o' value: 'y' } }", "model_specs[0].label_keys[0]: "},
      {"model_specs { example_weight_key: 'w' } metrics_specs { metrics { class_name: 'ExampleCount' "
       "threshold {} } }",
       "metrics_specs[1].metrics[0]: of weighted rows"},
      {"model_specs {} model_specs { name: 'other' }", "model_specs[1]: gates are of one model"},
      {"model_specs { padding_options { label_int_padding: 1 } }", "model_specs[0].padding_options: "},
      {"options { min_slice_size { value: 10 } }", "options: "},
      {"cross_slicing_specs { baseline_spec {} }", "cross_slicing_specs[0]: "},
      {"slicing_specs {} slicing_specs { slice_keys_sql: 'SELECT' }",
       "slicing_specs[1]: gates know no slices by SQL"},
      {"slicing_specs {} slicing_specs { feature_keys: 'a' feature_values { key: 'b' value: 'x' } }",
       "slicing_specs[1]: no gate is of each slice"},
      {"metrics_specs { metrics { class_name: 'Recall' } }",
       "metrics_specs[1].metrics[0]: true_positive_rate has no"},
      {"metrics_specs { metrics { class_name: 'Nothing' threshold {} } }",
       "metrics_specs[1].metrics[0]: gates have no metric \"Nothing\""},
      {"metrics_specs { metrics { class_name: 'AUC' config: '{\"curve\": \"PR\"}' threshold {} } }",
       "metrics_specs[1].metrics[0]: its argument \"curve\""},
      {"metrics_specs { metrics { class_name: 'Recall' config: '{\"thresholds\": [0.1, 0.2]}' threshold {} } "
       "}",
       "metrics_specs[1].metrics[0]: several thresholds"},
      {"metrics_specs { metrics { class_name: 'AUC' threshold { value_threshold { lower_bound {value: -1} } "
       "} } }",
       "metrics_specs[1].metrics[0].threshold.value_threshold: it has no limit"},
      {"metrics_specs { metrics { class_name: 'AUC' cross_slice_thresholds { cross_slicing_specs { "
       "baseline_spec {} } } } }",
       "metrics_specs[1].metrics[0].cross_slice_thresholds[0].cross_slicing_specs[0]: it names no slices"},
      {"metrics_specs { metrics { class_name: 'AUC' cross_slice_thresholds { cross_slicing_specs { "
       "baseline_spec { feature_keys: 'a' } slicing_specs {} } } } }",
       "metrics_specs[1].metrics[0].cross_slice_thresholds[0].cross_slicing_specs[0].baseline_spec: gates "
       "are"},
      {"metrics_specs { metrics { class_name: 'AUC' cross_slice_thresholds { cross_slicing_specs { "
       "baseline_spec {} slicing_specs {} } } } }",
       "metrics_specs[1].metrics[0].cross_slice_thresholds[0].cross_slicing_specs[0]: a slice is not "
       "against"},
      {"metrics_specs { metrics { class_name: 'AUC' cross_slice_thresholds { cross_slicing_specs { "
       "baseline_spec {} slicing_specs { feature_keys: 'a' } } threshold { change_threshold { direction: "
       "LOWER_IS_BETTER relative { value: 0.1 } } } } } }",
       "metrics_specs[1].metrics[0].cross_slice_thresholds[0].threshold.change_threshold: a change relative"},
      {"metrics_specs { binarize {} metrics { class_name: 'AUC' } }", "metrics_specs[1]: gates name classes"},
      {"metrics_specs { query_key: 'q' metrics { class_name: 'AUC' } }",
       "metrics_specs[1]: gates of queries are of ndcg"},
      {"metrics_specs { thresholds { key: 'nothing' value {} } }",
       "metrics_specs[1].thresholds[0]: gates have no"},
  };
  for (const auto& [more, note] : cases) {
    const EvalConfigGates made = gates_of(parse_eval_config(cat("metrics_specs { ", auc, " }\n", more)));
    ASSERT_EQ(made.notes.size(), 1u) << more << made.text;
    EXPECT_TRUE(made.notes[0].starts_with(note)) << made.notes[0];
    EXPECT_NE(made.text.find(cat("# Not here: ", note)), std::string::npos) << made.text;
    EXPECT_EQ(read_gates(made.text, "gates.toml").gates.size(), 1u);
  }
  // A field of a version to come.
  std::string bytes =
      metadata_bytes(parse_eval_config(cat("metrics_specs { ", auc, " }")), MetadataForm::kBinary);
  bytes += std::string("\x9a\x06\x01x", 4);
  ASSERT_EQ(gates_of(parse_eval_config(bytes)).notes.size(), 1u);
  EXPECT_TRUE(gates_of(parse_eval_config(bytes)).notes[0].starts_with("99: a field"))
      << gates_of(parse_eval_config(bytes)).notes[0];
}

TEST(EvalConfigs, MistakesNameTheirPlace) {
  const auto of = [](const std::string& metric) {
    return parse_eval_config(cat("metrics_specs { metrics { ", metric, " } }"));
  };
  const struct {
    std::string metric;
    const char *rule, *says;
  } cases[] = {
      {"class_name: 'Nothing'", "evalconfig.empty", "gates have no metric \"Nothing\""},
      {"class_name: 'AUC' threshold { change_threshold { absolute { value: 0 } } }", "evalconfig.direction",
       "metrics_specs[0].metrics[0].threshold.change_threshold"},
      {"class_name: 'AUC' threshold { value_threshold { lower_bound { value: 1.5 } } }", "evalconfig.gate",
       "metrics_specs[0].metrics[0].threshold.value_threshold"},
      {"class_name: 'AUC' threshold { value_threshold { lower_bound { value: nan } } }", "evalconfig.gate",
       "metrics_specs[0].metrics[0].threshold.value_threshold"},
      {"class_name: 'AUC' config: '{' threshold {}", "json.syntax", "metrics_specs[0].metrics[0].config"},
      {"class_name: 'AUC' config: '3' threshold {}", "evalconfig.config",
       "metrics_specs[0].metrics[0].config"},
      {"class_name: 'Recall' config: '{\"thresholds\": [\"x\"]}' threshold {}", "evalconfig.config",
       "numbers"},
  };
  for (const auto& [metric, rule, says] : cases) {
    std::string message;
    EXPECT_EQ(rule_of([&] {
                try {
                  gates_of(of(metric));
                } catch (const FormatError& error) {
                  message = error.message();
                  throw;
                }
              }),
              rule)
        << metric;
    EXPECT_NE(message.find(says), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace espalier
