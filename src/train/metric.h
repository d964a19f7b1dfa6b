// What a metric is made of.
#pragma once

#include "base/format.h"
#include "espalier/metrics.h"

namespace espalier {

struct Metric::Rule {
  explicit Rule(std::string metric_name) : name(std::move(metric_name)) {}
  virtual ~Rule() = default;
  // Adds rows; `weights` are f32[batch].
  virtual void update(const Tensor& labels, const Tensor& outputs, const Tensor& weights) = 0;
  virtual double result() const = 0;
  virtual std::vector<Variable> variables() const = 0;

  std::string name;
};

// By this name, accuracy for the losses it means something to.
constexpr char kAutoMetric[] = "auto";

// Raises ValueError[<kind>.threshold] unless it is finite.
void require_threshold(const char* kind, double threshold);

// A variable of a metric, zeros.
Variable metric_variable(const std::string& metric, const std::string& part, const TensorType& type = {});
void clear(Variable variable);

// Weighted mean of a value a row, in two variables.
struct RunningMean {
  explicit RunningMean(const std::string& name);
  void add(const Tensor& values, const Tensor& weights);
  double result() const;
  std::vector<Variable> variables() const { return {total, weight}; }
  Variable total, weight;
};

}  // namespace espalier
