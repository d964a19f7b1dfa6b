// Whether workers that read the same data whole, and take their rows of each element, have the same elements.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "espalier/tensor.h"
#include "strategy/host_collectives.h"

namespace espalier {

// What to do where workers name other data.
inline constexpr const char* kOtherData =
    "name the same data on all workers: each gets its part of every element, without shard() by its number. "
    "Dataset::per_worker(data) says that data are a worker's own, as a part of shard(), or files that it "
    "alone has; files that all see are shared out by from_files() with .shards";

// All workers make the same calls.
class SameElements {
 public:
  // From element `first` on.
  explicit SameElements(const HostCollectives& hosts, int64_t first = 0) : hosts_(hosts), elements_(first) {}
  // What a worker names its data by, before it reads. Raises ValueError[strategy.data] where others differ.
  void require_named(const std::string& text) const;
  // Of the next element; without tensors there is none. Raises ValueError[strategy.data] on all workers,
  // which names one that has another element, or has come to its end before others.
  void require(std::span<const Tensor> element);

 private:
  HostCollectives hosts_;
  int64_t elements_;
};

// Of rows that all workers pass to a call, and take their parts of. Raises ValueError[strategy.data] on all
// of them where one has others.
void require_same_rows(const HostCollectives& hosts, const std::string& verb, std::span<const Tensor> rows);

}  // namespace espalier
