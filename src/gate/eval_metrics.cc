#include "gate/eval_metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/json.h"
#include "base/shortened.h"
#include "espalier/error.h"

namespace espalier {
namespace {

using Json = nlohmann::ordered_json;

struct Known {
  std::string_view class_name, name, metric;
  bool at_threshold = false;
};
constexpr Known kMetrics[] = {
    {"Recall", "recall", "true_positive_rate", true},
    {"TPR", "tpr", "true_positive_rate", true},
    {"Precision", "precision", "positive_predictive_value", true},
    {"PPV", "ppv", "positive_predictive_value", true},
    {"Specificity", "specificity", "true_negative_rate", true},
    {"TNR", "tnr", "true_negative_rate", true},
    {"FallOut", "fall_out", "false_positive_rate", true},
    {"FPR", "fpr", "false_positive_rate", true},
    {"MissRate", "miss_rate", "false_negative_rate", true},
    {"FNR", "fnr", "false_negative_rate", true},
    {"NPV", "npv", "negative_predictive_value", true},
    {"NegativePredictiveValue", "negative_predictive_value", "negative_predictive_value", true},
    {"FalseDiscoveryRate", "false_discovery_rate", "false_discovery_rate", true},
    {"FalseOmissionRate", "false_omission_rate", "false_omission_rate", true},
    {"PredictedPositiveRate", "predicted_positive_rate", "selection_rate", true},
    {"Prevalence", "prevalence", "prevalence", true},
    {"PrevalenceThreshold", "prevalence_threshold", "prevalence_threshold", true},
    {"ThreatScore", "threat_score", "threat_score", true},
    {"BalancedAccuracy", "balanced_accuracy", "balanced_accuracy", true},
    {"F1Score", "f1_score", "f1", true},
    {"MatthewsCorrelationCoefficient", "matthews_correlation_coefficient", "matthews_correlation", true},
    {"FowlkesMallowsIndex", "fowlkes_mallows_index", "fowlkes_mallows", true},
    {"Informedness", "informedness", "informedness", true},
    {"Markedness", "markedness", "markedness", true},
    {"PositiveLikelihoodRatio", "positive_likelihood_ratio", "positive_likelihood_ratio", true},
    {"NegativeLikelihoodRatio", "negative_likelihood_ratio", "negative_likelihood_ratio", true},
    {"DiagnosticOddsRatio", "diagnostic_odds_ratio", "diagnostic_odds_ratio", true},
    {"BinaryAccuracy", "binary_accuracy", "accuracy", true},
    {"CategoricalAccuracy", "categorical_accuracy", "accuracy"},
    {"SparseCategoricalAccuracy", "sparse_categorical_accuracy", "accuracy"},
    {"AUC", "auc", "auc"},
    {"Calibration", "calibration", "calibration"},
    {"MeanLabel", "mean_label", "mean_label"},
    {"MeanPrediction", "mean_prediction", "mean_prediction"},
    {"BinaryCrossEntropy", "binary_crossentropy", "log_loss"},
    {"BinaryCrossentropy", "binary_crossentropy", "log_loss"},
    {"CategoricalCrossEntropy", "categorical_crossentropy", "log_loss"},
    {"CategoricalCrossentropy", "categorical_crossentropy", "log_loss"},
    {"SparseCategoricalCrossentropy", "sparse_categorical_crossentropy", "log_loss"},
    {"MeanAbsoluteError", "mean_absolute_error", "mae"},
    {"MeanSquaredError", "mean_squared_error", "mse"},
    {"RootMeanSquaredError", "root_mean_squared_error", "rmse"},
    {"ExampleCount", "example_count", "rows"},
};
constexpr std::string_view kIndicatorsClass = "FairnessIndicators";
constexpr std::pair<std::string_view, std::string_view> kIndicators[] = {
    {"true_positive_rate", "true_positive_rate"},
    {"false_positive_rate", "false_positive_rate"},
    {"true_negative_rate", "true_negative_rate"},
    {"false_negative_rate", "false_negative_rate"},
    {"positive_rate", "selection_rate"},
    {"negative_rate", "negative_rate"},
    {"false_discovery_rate", "false_discovery_rate"},
    {"false_omission_rate", "false_omission_rate"},
    {"precision", "positive_predictive_value"},
    {"recall", "true_positive_rate"},
};
constexpr double kUsualThreshold = 0.5;

[[noreturn]] void unsupported(const std::string& why) { throw UnsupportedError("evalconfig.metric", why); }

EvalMetric usual(const Known& known) {
  EvalMetric out{std::string(known.name), std::string(known.metric)};
  if (known.at_threshold) out.threshold = kUsualThreshold;
  return out;
}

double threshold_of(Json value) {
  if (value.is_array() && value.size() == 1) value = Json(value[0]);
  if (value.is_array()) unsupported("several thresholds are several numbers, and one limit holds one");
  if (!value.is_number()) throw FormatError("evalconfig.config", "thresholds are numbers");
  return value.get<double>();
}

// Whether an argument leaves the metric what it is.
bool is_usual(const std::string& key, const Json& value) {
  if (value.is_null() || key == "dtype" || key == "num_thresholds" || key == "summation_method") return true;
  if (key == "curve") return value == "ROC";
  if (key == "from_logits") return value == false;
  return key == "label_smoothing" && value == 0;
}

void read_argument(const std::string& key, const Json& value, EvalMetric& out) {
  if (key == "name" && value.is_string()) {
    out.name = value.get<std::string>();
  } else if (out.threshold && (key == "threshold" || key == "thresholds") && !value.is_null()) {
    out.threshold = threshold_of(value);
  } else if (!is_usual(key, value)) {
    unsupported(cat("its argument \"", shortened(key), "\" has no equal in gates"));
  }
}

}  // namespace

EvalMetric eval_metric(const std::string& class_name, const std::string& config) {
  if (class_name == kIndicatorsClass)
    unsupported("it has many numbers; limits of them are thresholds of the spec, by their names");
  const auto known = std::ranges::find(kMetrics, class_name, &Known::class_name);
  if (known == std::end(kMetrics)) unsupported(cat("gates have no metric \"", shortened(class_name), "\""));
  EvalMetric out = usual(*known);
  const Json arguments = config.empty() ? Json::object() : parse_json(config);
  if (!arguments.is_object()) throw FormatError("evalconfig.config", "arguments are an object of JSON");
  for (const auto& [key, value] : arguments.items()) read_argument(key, value, out);
  return out;
}

EvalMetric eval_metric(const std::string& name) {
  const size_t slash = name.rfind('/'), at = name.rfind('@');
  if (slash != name.npos && at != name.npos && slash < at) {
    const std::string_view all = name, rate = all.substr(slash + 1, at - slash - 1);
    const auto indicator = std::ranges::find(kIndicators, rate, [](const auto& one) { return one.first; });
    double threshold = 0;
    const auto [end, error] = std::from_chars(all.data() + at + 1, all.data() + all.size(), threshold);
    if (indicator != std::end(kIndicators) && error == std::errc() && end == all.data() + all.size())
      return {name, std::string(indicator->second), threshold};
  }
  const auto known = std::ranges::find(kMetrics, name, &Known::name);
  if (known == std::end(kMetrics)) unsupported(cat("gates have no metric \"", shortened(name), "\""));
  return usual(*known);
}

}  // namespace espalier
