// Mutated EvalConfigs of TensorFlow Model Analysis, text, bytes and JSON: refused with an error, or gates
// that are read.
#include <google/protobuf/util/json_util.h>

#include "espalier/error.h"
#include "fuzz/mutate.h"
#include "gate/eval_config.h"
#include "gate/gates.h"
#include "validate/metadata_files.h"

using namespace espalier;

namespace {

const char* const kSeed =
    R"(model_specs { name: "candidate" label_key: "y" prediction_key: "p" example_weight_key: "w" }
model_specs { name: "baseline" is_baseline: true }
slicing_specs {}
slicing_specs { feature_keys: "sex" feature_keys: "age" }
slicing_specs { feature_values { key: "sex" value: "f" } }
metrics_specs {
  metrics { class_name: "Recall" config: '{"name": "found", "thresholds": [0.3]}'
    threshold { value_threshold { lower_bound { value: 0.5 } upper_bound { value: 2 } } }
    per_slice_thresholds { slicing_specs { feature_values { key: "sex" value: "f" } }
      threshold { change_threshold { direction: HIGHER_IS_BETTER absolute { value: -0.01 } relative { value: -0.1 } } } }
    cross_slice_thresholds { cross_slicing_specs { baseline_spec {} slicing_specs { feature_keys: "sex" } }
      threshold { value_threshold { upper_bound { value: 0.1 } }
        change_threshold { direction: LOWER_IS_BETTER absolute { value: 0 } relative { value: 0.1 } } } } }
  metrics { class_name: "AUC" config: '{"curve": "PR"}' threshold { value_threshold { lower_bound { value: 0.5 } } } }
  metrics { class_name: "FairnessIndicators" config: '{"thresholds": [0.3]}' }
  thresholds { key: "fairness_indicators_metrics/false_positive_rate@0.3" value {
    value_threshold { upper_bound { value: 0.2 } } } }
  per_slice_thresholds { key: "binary_accuracy" value { thresholds { slicing_specs { feature_keys: "sex" }
    threshold { value_threshold { lower_bound { value: 0.5 } } } } } }
}
cross_slicing_specs { baseline_spec { feature_values { key: "sex" value: "m" } } slicing_specs { feature_keys: "sex" } }
metrics_specs { binarize { class_ids { values: 3 } } query_key: "q" output_names: "o" }
options { min_slice_size { value: 10 } disabled_outputs { values: "x" } })";

const char* const kJson = R"({"evalConfig": {"metricsSpecs": [{"metrics": [{"className": "AUC",
"perSliceThresholds": [{"slicingSpecs": [{"featureValues": {"sex": "f"}}],
"threshold": {"valueThreshold": {"lowerBound": 0.5}}}]}],
"thresholds": {"binary_accuracy": {"valueThreshold": {"lowerBound": 0.5}}}}]}})";

std::string bytes_of(const char* text) {
  tfma::EvalConfig config;
  parse_metadata(text, config);
  return metadata_bytes(config, MetadataForm::kBinary);
}

std::string json_of(const char* text) {
  tfma::EvalConfig config;
  parse_metadata(text, config);
  std::string out;
  if (!google::protobuf::util::MessageToJsonString(config, &out).ok()) throw InternalError("no JSON");
  return out;
}

bool accept(const std::string& bytes) {
  EvalConfigGates gates;
  try {
    gates = gates_of(parse_eval_config(bytes));
  } catch (const FormatError&) {
    return false;
  } catch (const UnsupportedError&) {
    return false;
  } catch (const ValueError&) {  // a name that TOML cannot hold
    return false;
  }
  if (static_cast<int64_t>(read_gates(gates.text, "gates.toml").gates.size()) != gates.gates)
    throw InternalError("gates that are not read back");
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  return fuzz::run(argc, argv, "fuzz_evalconfig", {kSeed, bytes_of(kSeed), json_of(kSeed), kJson},
                   {"metrics_specs {",
                    "slicing_specs {",
                    "}",
                    "nan",
                    "inf",
                    "-1e300",
                    "\"\"",
                    "\"sex=f\"",
                    "\"a*b\"",
                    "\", \"",
                    "LOWER_IS_BETTER",
                    "UNKNOWN",
                    "\"thresholds\"",
                    "[0.1, 0.2]",
                    "'{'",
                    "\\n",
                    "/",
                    "@0.5",
                    "threshold {",
                    "value: -1",
                    "class_name: \"F1Score\"",
                    "\\xff",
                    "{\"evalConfig\": ",
                    "[[[[",
                    "feature_keys: \"\""},
                   accept, fuzz::kTenfold);
}
