// Where iterators are, step by step from the last one to the sources.
#pragma once

#include "base/format.h"
#include "espalier/dataset.h"

namespace espalier {

struct DatasetCursor {
  std::vector<int64_t> steps;
  std::vector<SourceState> sources;
  void append(const DatasetCursor& more) {
    steps.insert(steps.end(), more.steps.begin(), more.steps.end());
    sources.insert(sources.end(), more.sources.begin(), more.sources.end());
  }
};

// Takes a cursor apart in the order in which it was put together. Raises ValueError[dataset.restore].
class CursorReader {
 public:
  explicit CursorReader(const DatasetState& state) : state_(state) {}
  // The next number, of a step by this name, in [least, most].
  int64_t number(const char* step, int64_t least, int64_t most);
  const SourceState& source();
  // Raises unless all was taken.
  void end() const;

 private:
  const DatasetState& state_;
  size_t steps_ = 0, sources_ = 0;
};

// Raises ValueError[dataset.restore] for an iterator that ended early.
void require_restored(const char* step, int64_t wanted, int64_t there);

}  // namespace espalier
