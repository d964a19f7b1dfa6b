// What made the outputs of a model.
#pragma once

#include <string>
#include <unordered_map>

#include "eager/trace.h"
#include "espalier/model.h"
#include "ir/sink.h"

namespace espalier {

// Sees the calls of this thread while it lives.
class OutputMakers final : Recorder, ReadObserver {
 public:
  // Raises ValueError[loss.logits] or [loss.probabilities] when `value` is plainly not what the loss of
  // `output` takes.
  void require(const OutputOptions& output, const Tensor& value) const;

 private:
  enum class Kind : uint8_t { kWeight, kProbabilities, kAnyNumbers };
  struct Made {
    Tensor tensor;  // kept, so that no other takes its address
    Kind kind;
    std::string by;
  };
  void record(const Call& call, std::span<const Tensor> outputs) override;
  void on_read(const VariablePtr& variable, const Tensor& value) override;
  void add(const Tensor& tensor, Kind kind, std::string by);
  const Made* find(const Tensor& tensor) const;

  std::unordered_map<const TensorNode*, Made> made_;
};

}  // namespace espalier
