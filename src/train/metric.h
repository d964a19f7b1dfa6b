// What a metric is made of.
#pragma once

#include "base/format.h"
#include "eager/first_values.h"
#include "espalier/losses.h"
#include "espalier/metrics.h"

namespace espalier {

struct Metric::Rule {
  explicit Rule(std::string metric_name) : name(std::move(metric_name)) {}
  virtual ~Rule() = default;
  // Adds rows; `weights` are f32[batch]. Rows of weight 0 hold what rows that count may hold.
  virtual void update(const Tensor& labels, const Tensor& outputs, const Tensor& weights) = 0;
  virtual double result() const = 0;
  virtual std::vector<Variable> variables() const = 0;
  // Whether outputs are held against a threshold for probabilities; then take_logits() moves it.
  virtual bool takes_probabilities() const { return false; }
  virtual void take_logits(bool) {}

  // Variables that were just made, and begin with `first`.
  void give_first(const std::vector<Variable>& made) const;

  std::string name;
  std::shared_ptr<FirstValues> first;  // of variables that are made at the first update
  bool by_name = false;                // with the defaults of its name, which nobody chose
};

// By this name, accuracy for the losses it means something to.
constexpr char kAutoMetric[] = "auto";

// Raises ValueError[<kind>.threshold] unless it is finite.
void require_threshold(const char* kind, double threshold);

// The weights that a metric is given, f32[batch], or ones. Raises what Metric::update says of them.
Tensor checked_weights(const Tensor& weights, const Tensor& outputs);

// A variable of a metric, zeros.
Variable metric_variable(const std::string& metric, const std::string& part, const TensorType& type = {});
void clear(Variable variable);

// Weighted mean of a value a row, in two variables.
struct RunningMean {
  explicit RunningMean(const std::string& name);
  void add(const Tensor& values, const Tensor& weights);
  void add(const LossSums& sums);
  double result() const;
  // Whether nothing was added that weighs something.
  bool empty() const;
  std::vector<Variable> variables() const { return {total, weight}; }
  Variable total, weight;
};

// The weighted mean of a function of rows, f32[batch].
struct MeanRule : Metric::Rule {
  using PerExample = std::function<Tensor(const Tensor& labels, const Tensor& outputs)>;
  MeanRule(const std::string& name, PerExample per_example);
  void update(const Tensor& labels, const Tensor& outputs, const Tensor& weights) override;
  double result() const override { return mean.result(); }
  std::vector<Variable> variables() const override { return mean.variables(); }

  RunningMean mean;
  PerExample per_example;
};

}  // namespace espalier
