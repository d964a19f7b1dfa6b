// Where the rows of a step stand in the whole batch, for layers that draw numbers for them.
#pragma once

#include <set>
#include <string>

#include "espalier/ops.h"

namespace espalier {

// While it lives, layers that this thread calls see rows [first, first + rows) of a batch that others see the
// rest of: what they draw for a row depends on its place alone. The innermost one counts.
class BatchPlaceScope {
 public:
  enum class Others : uint8_t { kReplicas, kShards };
  // `first`: i64[]. `whole`: at least as many rows as the batch has. The others run at the same time on other
  // replicas, or are shards that run one after another.
  BatchPlaceScope(Tensor first, int64_t rows, int64_t whole, Others others);
  ~BatchPlaceScope();
  BatchPlaceScope(const BatchPlaceScope&) = delete;
  BatchPlaceScope& operator=(const BatchPlaceScope&) = delete;

  // Paths of layers that saw these rows alone, and what they give depends on all rows of the batch.
  struct Met {
    std::set<std::string> layers;  // that say couples_rows()
    std::set<std::string> of_one;  // that normalize by statistics of one number
  };
  const Met& met() const { return met_; }

 private:
  friend Shard shard_in_batch(const Shape& shape);
  friend bool has_other_replicas();
  friend bool is_part_of_batch();
  friend void note_rows_interact(const std::string& layer, bool of_one);
  const Tensor first_;
  const int64_t rows_, whole_;
  const Others others_;
  Met met_ = {};
  BatchPlaceScope* before_;
};

// Which part an array is of that of the whole batch, for functions that draw. Its first axis is of rows, each
// perhaps several times; other arrays, and all outside of a scope, are wholes.
Shard shard_in_batch(const Shape& shape);

// Whether the rows are a part of a batch.
bool is_part_of_batch();
// For met(), where the rows are a part of a batch.
void note_rows_interact(const std::string& layer, bool of_one);
// Whether sum_over_replicas() reaches others. Raises ValueError[strategy.synchronized] where other rows are
// shards, which have no sum before they have all run.
bool has_other_replicas();
// The sum of what replicas have; `name` is what the message is called. All of them call it.
Tensor sum_over_replicas(const Tensor& own, const char* name);

}  // namespace espalier
