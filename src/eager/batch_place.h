// That the rows of a step are a part of a batch: for layers that draw numbers for them, and for those whose
// rows meet.
#pragma once

#include <set>
#include <string>

#include "ops/rows_place.h"

namespace espalier {

// While it lives, layers that this thread calls see rows [first, first + rows) of a batch that others see the
// rest of. The innermost one counts.
class BatchPlaceScope {
 public:
  enum class Others : uint8_t { kReplicas, kShards };
  // `place`, i64[2] or more: `first`, and of how many rows the batch is. The others run at the same time on
  // other replicas, or are shards that run one after another. See RowsPlaceScope.
  BatchPlaceScope(const Tensor& place, int64_t rows, int64_t most, Others others, RowsOfDraws known = {});
  ~BatchPlaceScope();
  BatchPlaceScope(const BatchPlaceScope&) = delete;
  BatchPlaceScope& operator=(const BatchPlaceScope&) = delete;

  // Paths of layers that saw these rows alone, and what they give depends on all rows of the batch.
  struct Met {
    std::set<std::string> layers;  // that say couples_rows()
    std::set<std::string> of_one;  // that normalize by statistics of one number
  };
  const Met& met() const { return met_; }
  const RowsPlaceScope& place() const { return place_; }

 private:
  friend bool has_other_replicas();
  friend bool is_part_of_batch();
  friend void note_rows_interact(const std::string& layer, bool of_one);
  const RowsPlaceScope place_;
  const Others others_;
  Met met_ = {};
  BatchPlaceScope* before_;
};

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
