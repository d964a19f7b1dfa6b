// What a compiled model keeps: its traced steps and the variables that metrics live in.
#pragma once

#include <optional>

#include "base/format.h"
#include "espalier/function.h"
#include "espalier/model.h"
#include "espalier/ops.h"
#include "train/metric.h"

namespace espalier {

struct Model::Training {
  Training(ModelOptions options);
  // Adds a batch to what `logs` says.
  void observe(const Tensor& losses, const Tensor& labels, const Tensor& outputs, const Tensor& weights);
  Logs logs() const;
  // Brings `logs`, which logs() made, up to date.
  void refresh(Logs& logs) const;
  void reset();

  // What class labels must lie in: of the labels at hand, and of the outputs once they are known.
  void check_labels() const;

  ModelOptions options;
  struct {
    const char* rule = "fit.labels";
    int64_t least = 0, most = 0, least_row = 0, most_row = 0;
  } labels;
  int64_t classes = -1;
  RunningMean loss;
  using Step = TypedFunction<std::vector<Tensor>, 3>;
  std::unique_ptr<Step> train_step, test_step;
};

// What copies of a model have in common, besides the state of layers.
struct Model::Shared {
  Shared();
  TypedFunction<Tensor, 1> forward;
  std::shared_ptr<Training> training;  // null before compile()
  // The rows seen last, for save().
  struct {
    std::optional<DType> dtype;
    Shape row;
    int64_t batch = 0;
  } input;
};

}  // namespace espalier
