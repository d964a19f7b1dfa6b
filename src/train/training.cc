#include <algorithm>
#include <cmath>

#include "base/shortest.h"
#include "eager/trace.h"
#include "espalier/random.h"
#include "espalier/run_context.h"
#include "ir/device.h"
#include "ir/sink.h"
#include "train/step.h"

namespace espalier {
namespace {

// `given` in the order of the model's outputs, with names.
std::vector<OutputOptions> ordered(const std::vector<OutputOptions>& given,
                                   const std::vector<std::string>& names) {
  const auto named =
      std::ranges::count_if(given, [](const OutputOptions& output) { return !output.name.empty(); });
  const auto refuse = [](const std::string& message) { throw ValueError("model.outputs", message); };
  if (named != 0 && static_cast<size_t>(named) != given.size())
    refuse(cat(named, " of ", given.size(), " outputs have a name: name all of them or none"));
  if (!names.empty() && names.size() != given.size())
    refuse(cat("the model has ", names.size(), " outputs, options are for ", given.size()));
  std::vector<OutputOptions> out = given;
  for (size_t i = 0; i < given.size(); ++i) {
    if (named == 0) {
      out[i].name = names.empty() ? cat("output_", i) : names[i];
      continue;
    }
    for (size_t k = 0; k < i; ++k) {
      if (given[k].name == given[i].name) refuse(cat("output \"", given[i].name, "\" stands there twice"));
    }
    if (names.empty()) continue;
    const auto place = std::ranges::find(names, given[i].name);
    if (place == names.end()) throw_unknown("model.outputs", "output", given[i].name, names);
    out[static_cast<size_t>(place - names.begin())] = given[i];
  }
  return out;
}

// Raises ValueError[rule] for a label outside of [0, 1] in a row that counts; rows are those `of` something.
void check_shares(const char* rule, const Tensor& y, const Tensor& weights, const char* of,
                  const std::string& loss) {
  const Tensor wide = convert(y, DType::kF32);
  const auto values = wide.data<float>();
  const int64_t rows = wide.size(0), a_row = rows ? wide.type().elements() / rows : 0;
  for (int64_t i = 0; i < rows * a_row; ++i) {
    const float label = values[static_cast<size_t>(i)];
    const int64_t row = i / a_row;
    if ((label >= 0 && label <= 1) ||
        (weights.defined() && weights.data<float>()[static_cast<size_t>(row)] == 0))
      continue;
    throw ValueError(rule, cat("label ", shortest(label), " of row ", row, of, " is no share: loss \"", loss,
                               "\" takes labels from 0 to 1"));
  }
}

// A metric by name takes what the loss takes.
void fit_to_loss(const Metric& metric, const Loss& loss) {
  Metric::Rule& rule = *metric.rule();
  if (!rule.by_name) return;
  if (loss.outputs == LossOutputs::kClassLogits && rule.takes_probabilities()) {
    throw ValueError("metric.logits",
                     cat("metric \"", rule.name, "\" takes probabilities, loss \"", loss.name,
                         "\" takes logits of classes"),
                     "end the model with a softmax and give the loss .from_logits = false");
  }
  rule.take_logits(loss.outputs == LossOutputs::kLogits);
}

// Raises again what the loss of output i says of its labels; those of another output that it takes are the
// fix.
template <class Refusal>
[[noreturn]] void refuse_labels(const Refusal& refused, const Loss& loss, std::span<const Tensor> labels,
                                size_t i, const Tensor& values, const std::vector<std::string>& names) {
  const auto fits = [&](const Tensor& other) {
    try {
      loss.of_rows(other, values);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  for (size_t k = 0; k < labels.size(); ++k) {
    if (k == i || !fits(labels[k])) continue;
    std::string order;
    for (const std::string& name : names) order += cat(order.empty() ? "\"" : ", \"", name, "\"");
    throw Refusal(refused.rule(), refused.message(),
                  cat("y holds labels in the order of the outputs, ", order, ": those of place ", k,
                      " would do for \"", names[i], "\""));
  }
  throw;
}

}  // namespace

Model::Training::Output::Output(OutputOptions given, bool one_of_several) : OutputOptions(std::move(given)) {
  loss.require_function();
  if (!std::isfinite(loss_weight))
    throw ValueError("model.loss_weight",
                     cat("loss_weight of \"", name, "\" must be finite, got ", shortest(loss_weight)));
  if (!loss.class_labels && loss.outputs == LossOutputs::kAny)
    std::erase_if(metrics, [](const Metric& metric) { return metric.name() == kAutoMetric; });
  for (Metric& metric : metrics) {
    if (metric.name() == kAutoMetric) metric = Metric("accuracy");
    fit_to_loss(metric, loss);
  }
  if (!one_of_several) return;
  prefix = name + "_";
  mean_loss.emplace_back(prefix + "loss", RunningMean(prefix + "loss"));
}

Model::Training::Training(ModelOptions given, const std::vector<std::string>& names)
    : options(std::move(given)), loss("loss") {
  if (options.outputs.empty()) {
    outputs.emplace_back(OutputOptions{.loss = options.loss, .metrics = options.metrics}, false);
  } else {
    for (OutputOptions& output : ordered(options.outputs, names))
      outputs.emplace_back(std::move(output), options.outputs.size() > 1);
  }
  Logs logged{{"loss", 0}};
  const auto add = [&](const std::string& log) {
    if (logged.try_emplace(log, 0).second) return;
    throw ValueError("metric.name", cat("the logs have one \"", log, "\" already"),
                     "give the metric another name");
  };
  for (const Output& output : outputs) {
    for (const auto& [log, mean] : output.mean_loss) add(log);
    for (const Metric& metric : output.metrics) add(output.prefix + metric.name());
  }
}

const RunContext& Model::Training::host() const {
  const RunContext* const host = replicas ? replicas->host() : nullptr;
  return host ? *host : RunContext::current();
}

DataShares Model::Training::shares() const {
  DataShares out = replicas ? replicas->shares() : DataShares();
  out.logical_shards = options.logical_shards;
  return out;
}

void Model::Training::take_labels(const char* rule, const TensorList& y, const Tensor& weights,
                                  const char* of, const ClassWeight& class_weight) {
  if (y.size() != outputs.size()) {
    throw ValueError(rule,
                     cat("y has ", counted(y.size(), "tensor"), " of labels, the model is compiled for ",
                         counted(outputs.size(), "output")),
                     outputs.size() == 1 ? "compile with one of ModelOptions::outputs for each" : "");
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Output& output = outputs[i];
    output.labels = {{}, rule, of};
    if (output.loss.share_labels) check_shares(rule, y[i], weights, of, output.loss.name);
    if (!output.loss.class_labels || !is_integer(y[i].dtype())) continue;
    const std::optional<Extremes> found = extremes_of(y[i], weights);
    if (!found) continue;
    output.labels = {*found, rule, of};
    if (!class_weight.empty()) {
      output.labels.least_weighted = class_weight.begin()->first;
      output.labels.most_weighted = class_weight.rbegin()->first;
    }
    output.check_labels();
  }
}

void Model::Training::Output::check_labels() const {
  if (classes < 0) return;
  if (labels.least < 0 || labels.most >= classes) {
    const bool low = labels.least < 0;
    throw ValueError(labels.rule,
                     cat("label ", low ? labels.least : labels.most, " of row ",
                         low ? labels.least_row : labels.most_row, labels.of, " is no class: ",
                         prefix.empty() ? "the outputs have " : cat("output \"", name, "\" has "), classes,
                         ", numbered from 0"),
                     classes == 1 ? "give the last layer one unit for each class" : "");
  }
  if (labels.least_weighted >= 0 && labels.most_weighted < classes) return;
  throw ValueError("fit.class_weight",
                   cat("class ", labels.least_weighted < 0 ? labels.least_weighted : labels.most_weighted,
                       " has a weight and is no class: the outputs have ", classes, ", numbered from 0"));
}

Tensors Model::Training::losses(std::span<const Tensor> labels, const Tensors& values) {
  Tensors out;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Output& output = outputs[i];
    const Loss& rule = output.loss;
    const NameScope scope(output.prefix.empty() ? "" : output.prefix + "loss");
    if (rule.class_labels && values[i].rank() > 0) {
      output.classes = values[i].size(-1);
      output.check_labels();
    }
    const auto refuse = [&](const auto& refused) {
      std::vector<std::string> names;
      for (const Output& one : outputs) names.push_back(one.name);
      refuse_labels(refused, rule, labels, i, values[i], names);
    };
    try {
      out.push_back(rule.of_rows(labels[i], values[i]));
    } catch (const ShapeError& refused) {
      refuse(refused);
    } catch (const DTypeError& refused) {
      refuse(refused);
    }
  }
  return out;
}

Tensor Model::Training::total(const Tensors& losses) const {
  Tensor sum;
  for (size_t i = 0; i < losses.size(); ++i) {
    const double weight = outputs[i].loss_weight;
    const Tensor part = weight == 1 ? losses[i] : losses[i] * weight;
    sum = sum.defined() ? sum + part : part;
  }
  for (const Tensor& penalty : Running::model()->losses()) sum += penalty;
  return sum;
}

void Model::Training::observe(const Batch& batch, const Forward& forward) {
  const Tensor& weights = batch.row_weight;
  loss.add(forward.total, weights);
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (auto& [log, mean] : outputs[i].mean_loss) mean.add(forward.losses[i], weights);
    // A step's rows count, or hold what rows that count hold.
    for (Metric& metric : outputs[i].metrics)
      metric.rule()->update(batch.y[i], forward.outputs[i], checked_weights(weights, forward.outputs[i]));
  }
}

Logs Model::Training::logs() const {
  Logs out;
  refresh(out);
  return out;
}

Logs Model::Training::training_logs() const {
  Logs out;
  refresh_training(out);
  return out;
}

void Model::Training::refresh_training(Logs& logs) const {
  if (custom) {
    logs.set("loss", loss.result());
    for (const Metric& metric : custom->metrics) logs.set(metric.name(), metric.result());
    return;
  }
  refresh(logs);
  if (scaling) logs.set("loss_scale", scaling->value());
}

void Model::Training::refresh(Logs& logs) const {
  logs.set("loss", loss.result());
  for (const Output& output : outputs) {
    for (const auto& [log, mean] : output.mean_loss) logs.set(log, mean.result());
    for (const Metric& metric : output.metrics) {
      if (output.prefix.empty()) {
        logs.set(metric.name(), metric.result());
      } else {
        logs.set(output.prefix + metric.name(), metric.result());
      }
    }
  }
}

void Model::Training::bring_variables(const Model& model) const {
  if (!options.run_eagerly) return;
  Device* const device = RunContext::current().device;
  for (const auto& [name, variable] : variables(model)) {
    Tensor& value = variable.state()->value;
    const RemoteArrayPtr& remote = value.node()->remote();
    if (device && (!remote || &remote->device() != device)) {
      value = make_remote(value.node()->literal(), *device);
    } else if (!device && remote) {
      value = make_concrete(value.node()->dense());
    }
  }
}

std::vector<Variable> Model::Training::sums_of_rows() const {
  std::vector<Variable> out = loss.variables();
  const auto add = [&](const std::vector<Variable>& more) {
    out.insert(out.end(), more.begin(), more.end());
  };
  for (const Output& output : outputs) {
    for (const auto& [log, mean] : output.mean_loss) add(mean.variables());
    for (const Metric& metric : output.metrics) add(metric.rule()->variables());
  }
  for (size_t i = 0; custom && i < custom->metrics.size(); ++i) add(custom->metrics[i].variables());
  return out;
}

std::vector<Variable> Model::Training::logged() const {
  std::vector<Variable> out = sums_of_rows();
  if (scaling) std::ranges::copy(scaling->variables(), std::back_inserter(out));
  return out;
}

void Model::Training::reset() {
  deferred_reads.forget();
  for (const Variable& variable : loss.variables()) clear(variable);
  for (Output& output : outputs) {
    for (const auto& [log, mean] : output.mean_loss) {
      for (const Variable& variable : mean.variables()) clear(variable);
    }
    for (Metric& metric : output.metrics) metric.reset();
  }
  for (size_t i = 0; custom && i < custom->metrics.size(); ++i) custom->metrics[i].reset();
}

std::vector<std::pair<std::string, Variable>> Model::Training::variables(const Model& model) const {
  std::vector<std::pair<std::string, Variable>> out;
  std::map<std::string, int> copies;
  const auto add = [&](const std::string& part, const std::vector<Variable>& variables) {
    for (const Variable& variable : variables) {
      const std::string name = part + variable.path();
      const int copy = ++copies[name];
      out.emplace_back(copy == 1 ? name : cat(name, "#", copy), variable);
    }
  };
  add("model/", model.variables());
  add("optimizer/", options.optimizer.variables());
  for (size_t i = 0; custom && i < custom->optimizers.size(); ++i)
    add(cat("optimizer/", i, "/"), custom->optimizers[i].variables());
  if (scaling) add("", scaling->variables());
  add("", loss.variables());
  for (const Output& output : outputs) {
    for (const auto& [log, mean] : output.mean_loss) add("", mean.variables());
    const std::string part = output.prefix.empty() ? "" : cat("outputs/", output.name, "/");
    for (const Metric& metric : output.metrics) add(part, metric.variables());
  }
  for (size_t i = 0; custom && i < custom->metrics.size(); ++i) add("step/", custom->metrics[i].variables());
  const Generator& generator = default_generator();
  add("", {generator.key_variable(), generator.step_variable()});
  if (!custom) return out;
  std::vector<Variable> others;
  for (const Variable& touched : custom->touched) {
    const auto same = [&](const auto& named) { return named.second.state() == touched.state(); };
    if (std::ranges::none_of(out, same)) others.push_back(touched);
  }
  add("model/", others);
  return out;
}

}  // namespace espalier
