#include <cmath>

#include "base/sha256.h"
#include "base/shortest.h"
#include "base/version.h"
#include "eager/traced_graph.h"
#include "ir/device.h"
#include "nn/seed.h"
#include "optim/rule.h"
#include "strategy/rows.h"
#include "train/deciding_callback.h"
#include "train/fit_run.h"

namespace espalier {

bool Model::Training::loss_is_finite() const {
  return std::isfinite(*static_cast<const double*>(loss.total.state()->read().bytes()));
}

std::vector<Logs> Model::Training::fit(TrainingBatches& batches, const FitOptions& options,
                                       const Validation& validation, bool& stop,
                                       const std::vector<std::string>& notes) {
  const auto train = [&] {
    bring_variables(*Running::model());
    return FitRun(*this, batches, options, validation, stop, notes).train();
  };
  if (!replicas || !replicas->mesh().launched) return train();
  const std::unique_ptr<GoSignals> signals = replicas->membership().listen();
  try {
    return train();
  } catch (const std::exception& error) {
    replicas->membership().failed(error);
    throw;
  }
}

std::map<std::string, std::string> Model::Training::facts(const TrainingBatches& batches,
                                                          const FitOptions& options,
                                                          const Validation& validation, uint64_t own_seed,
                                                          std::span<const Tensor> rows) const {
  std::map<std::string, std::string> out = batches.run();
  if (std::string content = batches.content(); !content.empty()) out["hash of the rows"] = std::move(content);
  out["validation"] = validation.logs ? "there" : "missing";
  if (validation.content) out["hash of the validation rows"] = validation.content();
  out.merge(facts_of(options.callbacks));
  std::string metrics;
  for (const auto& [name, value] : logs()) metrics += cat(metrics.empty() ? "" : ", ", name);
  out["logs"] = metrics;
  std::string weights;
  for (const auto& [number, weight] : options.class_weight)
    weights += cat(weights.empty() ? "" : ", ", number, ": ", shortest(weight));
  out["class weights"] = weights.empty() ? "none" : weights;
  const auto wants_rows = [](const auto& callback) { return callback->wants_rows(); };
  out["ledger"] = std::ranges::any_of(options.callbacks, wants_rows) ? "kept" : "not kept";
  out["version"] = kVersion;
  // Each worker has a device of its own, of one kind.
  const Device* const device = RunContext::current().device;
  out["device"] = device ? device->name().substr(0, device->name().rfind(':')) : "cpu";
  if (device) out["matmul precision"] = cat(static_cast<int>(matmul_precision()));
  out["model"] = Running::model()->path();
  out["seed"] = cat(own_seed);
  std::string types;
  for (const auto& [name, variable] : variables(*Running::model())) types += cat(name, variable.type(), ";");
  out["variables"] = sha256_of(types).substr(0, 16);
  std::string frozen;
  const std::vector<Variable> trained = Running::model()->trainable_variables();
  for (const Variable& made : Running::model()->made_trainable()) {
    const auto same = [&](const Variable& other) { return other.state() == made.state(); };
    if (std::ranges::none_of(trained, same)) frozen += cat(frozen.empty() ? "" : ", ", made.path());
  }
  out["frozen variables"] = frozen.empty() ? "none" : frozen;
  out["epochs"] = cat(options.epochs);
  out["steps an epoch"] = cat(batches.steps_per_epoch());
  out["optimizer"] = this->options.optimizer.rule()->name();
  out["learning rate"] = shortest(this->options.optimizer.learning_rate().read().item<float>());
  out["logical shards"] = cat(this->options.logical_shards);
  for (size_t i = 0; i < outputs.size(); ++i) {
    out[cat("loss of ", outputs[i].name.empty() ? "the output" : outputs[i].name)] = outputs[i].loss.name;
  }
  // On a row for each replica, so that they have as many.
  const int64_t count = rows.back().size(0), wanted = replicas->mesh().world;
  std::vector<Tensor> one_each = rows_between(rows, 0, std::min(count, wanted));
  if (count < wanted) one_each = with_rows_of_no_weight(one_each, wanted);
  const auto program = [&](const char* after) {
    return sha256_of(cat(train_step->graph(one_each, after)->content_hash())).substr(0, 8);
  };
  out["program of the model"] = program(kTraced);
  out["program of the step"] = program("");
  return out;
}

}  // namespace espalier
