// Where Dataset::cache() keeps elements: in memory, or in a folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/dataset_node.h"

namespace espalier {

// All elements of a shard, read by one iterator.
class StoredElements {
 public:
  virtual ~StoredElements() = default;
  virtual int64_t size() const = 0;
  // REQUIRES: 0 <= number < size().
  virtual Tensors at(int64_t number) = 0;
};

// Takes the elements of a shard in one pass.
class ElementsToStore {
 public:
  virtual ~ElementsToStore() = default;
  virtual void add(const Tensors& element) = 0;
  // Behind the last one: from now on they are found.
  virtual void end() = 0;
};

// Of shard `index` of `count`, of iterators with a seed; 0, where elements do not follow it.
struct StoredShard {
  int64_t index = 0, count = 1;
  uint64_t seed = 0;
  auto operator<=>(const StoredShard&) const = default;
};

// For any number of threads.
class ElementStore {
 public:
  virtual ~ElementStore() = default;
  // Null unless a whole pass over it was stored.
  virtual std::unique_ptr<StoredElements> find(const StoredShard& shard) = 0;
  virtual std::unique_ptr<ElementsToStore> fill(const StoredShard& shard) = 0;
};

std::shared_ptr<ElementStore> store_in_memory();
// In files of a folder, which is made: one that says what is stored, written last, and others of about
// kPartBytes with a checksum for each element. Of what `dataset` gives. Its functions raise
// ValueError[cache.dataset] for a folder of another dataset, FormatError[cache.damaged] for files that are
// not as they were written; both name the file. What a pass left that did not come to its end is written
// anew.
std::shared_ptr<ElementStore> store_in_folder(std::string folder, DatasetNodePtr dataset);
inline constexpr size_t kPartBytes = size_t{8} << 20;

}  // namespace espalier
