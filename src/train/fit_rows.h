// The rows that fit and evaluate go over.
#pragma once

#include <optional>
#include <string>

#include "espalier/model.h"
#include "step/batches.h"
#include "step/step_batches.h"

namespace espalier {

// Rows first, ..., first + count - 1 of some arrays.
struct Rows {
  Tensors arrays;         // those of x, of y, then f32[rows] of weights where they are
  bool weighted = false;  // they are
  int64_t first = 0, count = 0;

  std::vector<int64_t> numbers() const;
};

// One pass over rows as they are given.
class RowBatches final : public StepBatches {
 public:
  RowBatches(const Rows& rows, int64_t batch_size, ThreadPool& pool);
  std::span<const Tensor> next() override;
  std::span<const int64_t> numbers() const override { return batches_.numbers(); }
  int64_t examples_per_epoch() const override { return std::ssize(order_); }

 private:
  const bool weighted_;
  std::vector<int64_t> order_;
  Batches batches_;
};

// All rows. Raises ShapeError[verb.rows] unless there is one of x for each of y, and at least one,
// [verb.sample_weight] and ValueError[verb.sample_weight] when weights are given that are not one finite
// number, 0 or more, for each row.
Rows rows_of(const std::string& verb, const TensorList& x, const TensorList& y,
             const Tensor& sample_weight = {});
// The rows of x alone. Raises ShapeError[predict.rows] without any, or when tensors have different numbers.
Rows rows_to_predict(const TensorList& x);
// A hash of their values.
std::string content_of(const Rows& rows);
// What a model gave for batches of so many rows, one list of outputs a batch: each output as one tensor.
// Raises ShapeError[predict.rows] unless outputs have one row for each row of their batch and agree in the
// rest. REQUIRES: there is a batch.
Tensors join_rows(const std::vector<Tensors>& batches, std::span<const int64_t> rows);
// "f32[4,3], i32[4]".
std::string types_text(std::span<const Tensor> tensors);
// Raises ShapeError[rule] unless there is a row, and as many of each of x and y.
void check_rows(const std::string& rule, std::span<const Tensor> x, std::span<const Tensor> y);
// Weights as f32[rows]. Raises ShapeError[rule] and ValueError[rule] unless they are one finite number, 0 or
// more, for each row.
Tensor row_weights(const std::string& rule, const Tensor& given, int64_t rows);
// f32[rows]: the weight of the class of each row, 1 for those without, times its own where that is given.
// Raises ValueError[fit.class_weight] unless there is one y, of class numbers or of one 1 among zeros a row.
Tensor class_weights(std::span<const Tensor> y, const std::map<int64_t, double>& weights,
                     const Tensor& row_weight = {});
// Raises what Model::fit says of options that do not belong to rows in memory alone.
void check_options(const FitOptions& options);
// Raises ValueError[verb.batch_size] for less than 1.
void check_batch_size(const std::string& verb, int64_t batch_size);

// Those of validation_x and validation_y; none without. Raises ShapeError[fit.validation] as rows_of does.
Rows validation_rows(const FitOptions& options);

// What fit trains on, and what it validates on: perhaps no rows. Raises what Model::fit says of its options.
struct FitRows {
  FitRows(const TensorList& x, const TensorList& y, const FitOptions& options);
  Rows training, validation;
  std::vector<std::string> notes;  // of classes that a validation_split leaves in one part alone
};

// Batches of one pass over all rows after the other, each in an order of its own.
class Passes final : public TrainingBatches {
 public:
  Passes(const Rows& rows, const FitOptions& options, ThreadPool& pool);
  // The number of batches of one pass.
  int64_t batches() const { return (rows_.count - 1) / batch_size_ + 1; }
  // The number of rows of that many batches.
  int64_t examples(int64_t batches) const;
  // Goes to the place after that many batches of the run.
  void seek(int64_t batch);
  std::span<const Tensor> next() override;
  std::span<const int64_t> numbers() const override { return now_->numbers(); }
  int64_t steps_per_epoch() const override { return steps_per_epoch_ ? steps_per_epoch_ : batches(); }
  int64_t examples_per_epoch() const override { return examples(steps_per_epoch()); }
  bool ends_alike() const override { return true; }
  std::map<std::string, std::string> run() const override;
  std::string content() const override;
  void restore(int epoch, int64_t step, const Cursor&) override { seek(epoch * steps_per_epoch() + step); }

 private:
  const Rows& rows_;
  int64_t batch_size_, steps_per_epoch_;
  bool shuffle_;
  uint64_t pass_ = 0;
  int64_t skipped_ = 0;  // batches of the first pass
  std::vector<int64_t> order_;
  ThreadPool& pool_;
  std::optional<Batches> now_;
};

}  // namespace espalier
