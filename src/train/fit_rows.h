// The rows that fit and evaluate go over.
#pragma once

#include <optional>
#include <string>

#include "espalier/model.h"
#include "train/batches.h"

namespace espalier {

// Rows first, ..., first + count - 1 of some arrays.
struct Rows {
  Tensors arrays;         // x, then y, then f32[rows] of weights where they are
  bool weighted = false;  // they are
  int64_t first = 0, count = 0;

  std::vector<int64_t> numbers() const;
};

// All rows. Raises ShapeError[verb.rows] unless there is one of x for each of y, and at least one,
// [verb.sample_weight] and ValueError[verb.sample_weight] when weights are given that are not one finite
// number, 0 or more, for each row.
Rows rows_of(const std::string& verb, const TensorList& x, const Tensor& y, const Tensor& sample_weight = {});
// The rows of x alone. Raises ShapeError[predict.rows] without any, or when tensors have different numbers.
Rows rows_to_predict(const TensorList& x);
// What a model gave for batches of at most `batch_size` of `rows` rows, one list of outputs a batch: each
// output as one tensor. Raises ShapeError[predict.rows] unless outputs have one row for each row of their
// batch and agree in the rest.
Tensors join_rows(const std::vector<Tensors>& batches, int64_t rows, int64_t batch_size);
// Raises ValueError[verb.batch_size] for less than 1.
void check_batch_size(const std::string& verb, int64_t batch_size);

// What fit trains on, and what it validates on: perhaps no rows. Raises what Model::fit says of its options.
struct FitRows {
  FitRows(const TensorList& x, const Tensor& y, const FitOptions& options);
  Rows training, validation;
};

// Batches of one pass over all rows after the other, each in an order of its own.
class Passes {
 public:
  Passes(const Rows& rows, const FitOptions& options);
  // The number of batches of one pass.
  int64_t batches() const { return (rows_.count - 1) / batch_size_ + 1; }
  // The number of rows of that many batches.
  int64_t examples(int64_t batches) const;
  // Goes to the place after that many batches of the run.
  void seek(int64_t batch);
  // The arguments of the next step.
  std::span<const Tensor> next();

 private:
  const Rows& rows_;
  int64_t batch_size_;
  bool shuffle_;
  uint64_t pass_ = 0;
  int64_t skipped_ = 0;  // batches of the first pass
  std::vector<int64_t> order_;
  std::optional<Batches> now_;
};

}  // namespace espalier
