// The rows of one batch after another, copied in any order.
#pragma once

#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "espalier/run_context.h"
#include "espalier/tensor.h"

namespace espalier {

// The rows of the next batch are copied by idle helpers while the caller works on this one, into arrays that
// live on from batch to batch unless somebody kept them.
class Batches {
 public:
  // Rows of every array by their numbers, in this order, `size` at a time (the last batch may be smaller).
  // The numbers and the pool, whose helpers copy, outlive the object. REQUIRES: size > 0.
  Batches(std::vector<Tensor> arrays, std::span<const int64_t> order, int64_t size, ThreadPool& pool);

  // Goes on to the next batch; false when there is none.
  bool next();
  // What next() found: the rows of an array, of all arrays, and the weight of each row.
  const Tensor& operator[](size_t array) const { return sides_[now_].rows[array]; }
  std::span<const Tensor> rows() const { return {sides_[now_].rows.data(), arrays_.size()}; }
  const Tensor& ones();
  std::span<const Tensor> rows_and_ones();
  std::span<const int64_t> numbers() const { return sides_[now_].numbers; }

 private:
  struct Side {
    std::vector<Tensor> rows;  // with a place for the ones
    std::vector<std::byte*> to;
    std::span<const int64_t> numbers;
  };
  void begin(Side& side);
  void copy(int64_t chunk) const;

  ThreadPool& pool_;
  std::vector<Tensor> arrays_;
  std::vector<const std::byte*> from_;
  std::vector<size_t> row_bytes_;
  std::span<const int64_t> left_;
  size_t size_, chunk_rows_ = 1;
  Side sides_[2];
  size_t now_ = 0;
  Tensor ones_;
  struct Copy {
    const Batches& batches;
    void operator()(int64_t chunk) const { batches.copy(chunk); }
  } copy_{*this};
  SpareWork copying_;  // of the other side; destroyed first
};

}  // namespace espalier
