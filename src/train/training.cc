#include "espalier/random.h"
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

std::vector<std::pair<std::string, Variable>> Model::Training::variables(const Model& model) const {
  std::vector<std::pair<std::string, Variable>> out;
  std::map<std::string, int> copies;
  const auto add = [&](const char* part, const std::vector<Variable>& variables) {
    for (const Variable& variable : variables) {
      const std::string name = cat(part, variable.path());
      const int copy = ++copies[name];
      out.emplace_back(copy == 1 ? name : cat(name, "#", copy), variable);
    }
  };
  add("model/", model.variables());
  add("optimizer/", options.optimizer.variables());
  add("", loss.variables());
  for (const Metric& metric : options.metrics) add("", metric.variables());
  const Generator& generator = default_generator();
  add("", {generator.key_variable(), generator.step_variable()});
  return out;
}

}  // namespace espalier
