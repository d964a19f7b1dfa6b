#include "train/step.h"

namespace espalier {

Model::Training::Training(ModelOptions given) : options(std::move(given)), loss("loss") {
  if (!options.loss.per_example)
    throw ValueError("loss.function", cat("loss \"", options.loss.name, "\" has no function"));
  Logs names{{"loss", 0}};
  for (const Metric& metric : options.metrics) {
    if (names.try_emplace(metric.name(), 0).second) continue;
    throw ValueError("metric.name", cat("the logs have one \"", metric.name(), "\" already"),
                     "give the metric another name");
  }
}

void Model::Training::observe(const Tensor& losses, const Tensor& labels, const Tensor& outputs,
                              const Tensor& weights) {
  loss.add(losses, weights);
  for (Metric& metric : options.metrics) metric.update(labels, outputs, weights);
}

Logs Model::Training::logs() const {
  Logs out;
  refresh(out);
  return out;
}

void Model::Training::refresh(Logs& logs) const {
  logs["loss"] = loss.result();
  for (const Metric& metric : options.metrics) logs[metric.name()] = metric.result();
}

void Model::Training::reset() {
  for (const Variable& variable : loss.variables()) clear(variable);
  for (Metric& metric : options.metrics) metric.reset();
}

}  // namespace espalier
