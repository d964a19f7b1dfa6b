#include "train/output_makers.h"

#include "ir/op.h"

namespace espalier {

void OutputMakers::add(const Tensor& tensor, Kind kind, std::string by) {
  made_.insert_or_assign(tensor.node().get(), Made{tensor, kind, std::move(by)});
}

const OutputMakers::Made* OutputMakers::find(const Tensor& tensor) const {
  const auto it = made_.find(tensor.node().get());
  return it == made_.end() ? nullptr : &it->second;
}

void OutputMakers::on_read(const VariablePtr& variable, const Tensor& value) {
  if (variable->ask_trainable()) add(value, Kind::kWeight, variable->path);
}

void OutputMakers::record(const Call& call, std::span<const Tensor> outputs) {
  const std::string_view op = call.op.name;
  if (op == "softmax") {
    add(outputs[0], Kind::kProbabilities, "softmax");
  } else if (op == "logistic") {
    add(outputs[0], Kind::kProbabilities, "sigmoid");
  } else if (op == "add") {
    for (const Tensor& input : call.inputs) {
      const Made* const made = find(input);
      if (made && made->kind == Kind::kWeight) add(outputs[0], Kind::kAnyNumbers, made->by);
    }
  } else if (op == "convert" || op == "reshape" || op == "broadcast_in_dim") {
    if (const Made* const made = find(call.inputs[0])) add(outputs[0], made->kind, made->by);
  }
}

void OutputMakers::require(const OutputOptions& output, const Tensor& value) const {
  const Made* const made = find(value);
  if (!made) return;
  const std::string what =
      output.name.empty() ? "the outputs of the model" : cat("output \"", output.name, "\"");
  const bool logits =
      output.loss.outputs == LossOutputs::kLogits || output.loss.outputs == LossOutputs::kClassLogits;
  if (logits && made->kind == Kind::kProbabilities) {
    throw ValueError(
        "loss.logits",
        cat("loss \"", output.loss.name, "\" takes logits, ", what, " went through a ", made->by, " last"),
        output.loss.outputs == LossOutputs::kClassLogits && value.rank() > 0 && value.shape().back() == 1
            ? cat("one unit goes with BinaryCrossentropy({.from_logits = false}); several classes with a "
                  "unit for "
                  "each, and no ",
                  made->by)
            : cat("give the loss .from_logits = false, or the last layer no ", made->by));
  }
  if (output.loss.outputs == LossOutputs::kProbabilities && made->kind == Kind::kAnyNumbers) {
    throw ValueError("loss.probabilities",
                     cat("loss \"", output.loss.name, "\" takes probabilities, ", what,
                         " can be any numbers: \"", made->by, "\" is added last"),
                     "give the loss .from_logits = true");
  }
}

}  // namespace espalier
