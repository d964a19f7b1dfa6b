// Checkpoints as runs read and write them.
#pragma once

#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "format/checkpoint.h"
#include "train/array_copies.h"

namespace espalier {

// All that a run changes, by names that stay the same in another process.
using NamedVariables = std::vector<std::pair<std::string, Variable>>;

// Raises IoError[file.*], and what parse_checkpoint() does, naming `path`.
Checkpoint read_checkpoint(const std::string& path);
// The same of bytes that were read there.
Checkpoint checkpoint_in(std::string_view bytes, const std::string& path);

// Writes beside the run, one checkpoint at a time.
class CheckpointWriter {
 public:
  // The pool, whose helpers copy, outlives it.
  explicit CheckpointWriter(ThreadPool& pool) : copies_(pool) {}
  // Copies `variables` into the checkpoint, and writes it while the run goes on; `then` runs behind that, on
  // the thread that writes. Raises what the write before raised.
  void write(std::string path, Checkpoint checkpoint, const NamedVariables& variables,
             std::function<void()> then = {});
  // Waits for what is written; raises what that raised.
  void finish();

 private:
  ArrayCopies copies_;
  std::future<void> writing_;  // waits when it is destroyed
};

}  // namespace espalier
