// Parts of the rows of a step: x, y and, last, the weight of each row.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "espalier/tensor.h"

namespace espalier {

// The rows of a step: x, y and, last, the weight of each.
struct BatchRows {
  BatchRows(std::span<const Tensor> all, std::span<const int64_t> shards = {})
      : rows(all), of_shards(shards) {}
  BatchRows(const std::vector<Tensor>& all) : rows(all) {}
  // How many rows there are of the batch, on all workers, but for those that a place adds (RowsPolicy).
  int64_t count() const {
    return of_shards.empty() ? rows.back().size(0)
                             : std::accumulate(of_shards.begin(), of_shards.end(), int64_t{0});
  }
  // count(), or what its rows weigh together where that is more; of rows that each worker has for itself,
  // count().
  int64_t most_weight() const;
  std::span<const Tensor> rows;
  // How many each shard of the data gave, where each worker has rows of its own: then `rows` are those of
  // owned_shards(), shard by shard, and of a worker without any one of weight 0. Empty: all workers have all.
  std::span<const int64_t> of_shards;
  // How many rows the program is to have, on all replicas together, at least: RowsPolicy::to_train().
  int64_t at_least = 0;
};

// Rows [first, last) of each, in the memory of all.
std::vector<Tensor> rows_between(std::span<const Tensor> rows, int64_t first, int64_t last);
// The same arrays of rows with that row of each repeated behind them, up to `count` rows in all.
std::vector<Tensor> with_row_repeated(std::span<const Tensor> rows, int64_t row, int64_t count);
// Behind them rows of weight 0, which hold what the last one holds, up to `count` in all. REQUIRES: there is
// one.
std::vector<Tensor> with_rows_of_no_weight(std::span<const Tensor> rows, int64_t count);

}  // namespace espalier
