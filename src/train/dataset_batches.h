// Batches of a dataset as steps take them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "espalier/model.h"
#include "step/step_batches.h"
#include "strategy/data_shares.h"
#include "strategy/same_elements.h"
#include "train/shard_batches.h"

namespace espalier {

// Sees the rows of a batch before its step, with their weights where they have some.
using RowsCheck = std::function<void(std::span<const Tensor> x, const TensorList& y, const Tensor& weights)>;

struct DatasetFormat {
  std::string verb, rows_rule;  // of errors
  // The number of tensors of x. When it is known, one more than x and y is the weights of rows; 0: all but y
  // and, if elements are weighted, those.
  size_t inputs = 0;
  size_t known_inputs = 0;  // what the model takes, if it says so
  size_t labels = 1;        // tensors of y
  bool weighted = false;
  std::map<int64_t, double> class_weight = {};
  RowsCheck check = {};
  DataShares shares = {};
};

// Elements as arguments of steps.
class StepArguments {
 public:
  explicit StepArguments(DatasetFormat format) : format_(std::move(format)) {}
  // Raises ShapeError[rows_rule] for an element of another number of tensors, or without equal first axes,
  // and what row_weights and class_weights raise.
  std::span<const Tensor> of(Tensors element);
  // One row of weight 0 and zeros, for an element that has no rows.
  std::span<const Tensor> without_rows(const Tensors& element);
  const DatasetFormat& format() const { return format_; }

 private:
  DatasetFormat format_;
  Tensors arguments_;
  Tensor ones_;
};

// Raises ValueError[verb.dataset] for a dataset without end.
void require_end(const std::string& verb, const Dataset& dataset);
// Raises ValueError[verb.sample_weight].
[[noreturn]] void refuse_beside_dataset(const std::string& verb);

// One pass.
class DatasetBatches final : public StepBatches {
 public:
  // Raises what require_end raises.
  DatasetBatches(const Dataset& dataset, DatasetFormat format);
  // Raises ShapeError[rows_rule] when there is not a single batch, and ValueError[strategy.data] where
  // workers that read all have other ones.
  std::span<const Tensor> next() override;
  std::span<const int64_t> rows_of_shards() const override { return reader_->rows_of_shards(); }

 private:
  StepArguments arguments_;
  std::unique_ptr<BatchReader> reader_;
  SameElements same_;
};

// What fit trains on: epochs of so many batches, or passes over the dataset. Raises what Model::fit says of
// options for datasets.
std::unique_ptr<TrainingBatches> training_batches(const Dataset& dataset, const FitOptions& options,
                                                  size_t known_inputs, size_t labels, RowsCheck check,
                                                  DataShares shares);

}  // namespace espalier
