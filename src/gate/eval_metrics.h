// Metrics of TensorFlow Model Analysis, and what gates call them.
#pragma once

#include <optional>
#include <string>

namespace espalier {

struct EvalMetric {
  std::string name;                      // that thresholds of an EvalConfig are of
  std::string metric;                    // that gates are of
  std::optional<double> threshold = {};  // from which score on a row is said to be positive, 0.5 unless given
};

// Of a class, as "Recall", and its arguments in JSON, which may be empty. Raises FormatError: json.*,
// evalconfig.config; UnsupportedError[evalconfig.metric] for what has no equal here.
EvalMetric eval_metric(const std::string& class_name, const std::string& config);
// By the name that a class has unless its arguments say another, as "recall", or of a Fairness Indicator, as
// "fairness_indicators_metrics/recall@0.3". Raises UnsupportedError[evalconfig.metric].
EvalMetric eval_metric(const std::string& name);

}  // namespace espalier
