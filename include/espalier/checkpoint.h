// Checkpoints of a loop of one's own: it goes on where it was saved last, on any number of workers.
//
//     CheckpointManager checkpoints("run", {{"model", model}, {"optimizer", optimizer}, {"batches",
//     batches}}); checkpoints.restore(); while (const auto batch = batches.next()) {
//       workers.run(step, *batch);
//       if (++calls % 100 == 0 || workers.told_to_go()) checkpoints.save();
//       if (workers.told_to_go()) return workers.kPreempted;
//     }
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "espalier/layers.h"
#include "espalier/metrics.h"
#include "espalier/optimizers.h"
#include "espalier/random.h"
#include "espalier/strategy.h"

namespace espalier {

// What a checkpoint holds under a name, of letters, digits, '_', '-' and '.'. Handles are kept; datasets and
// numbers are read and written where they are, and outlive the manager.
class Tracked {
 public:
  Tracked(std::string name, const Variable& variable) : name_(std::move(name)), is_(variable) {}
  // The variables of a model, or of any layer.
  Tracked(std::string name, const Layer& layer) : name_(std::move(name)), is_(layer) {}
  // Its rate, its step, and what it keeps of each variable, which is to be tracked as well.
  Tracked(std::string name, const Optimizer& optimizer) : name_(std::move(name)), is_(optimizer) {}
  Tracked(std::string name, const Metric& metric) : name_(std::move(name)), is_(metric) {}
  Tracked(std::string name, const Generator& generator) : name_(std::move(name)), is_(generator) {}
  // Its place, so that the next element is the one that would have come.
  Tracked(std::string name, DatasetIterator& iterator) : name_(std::move(name)), is_(&iterator) {}
  Tracked(std::string name, DistributedDataset& batches) : name_(std::move(name)), is_(&batches) {}
  // Counters and the like of the loop.
  Tracked(std::string name, int& number) : name_(std::move(name)), is_(&number) {}
  Tracked(std::string name, int64_t& number) : name_(std::move(name)), is_(&number) {}
  Tracked(std::string name, double& number) : name_(std::move(name)), is_(&number) {}

  using Is = std::variant<Variable, Layer, Optimizer, Metric, Generator, DatasetIterator*,
                          DistributedDataset*, int*, int64_t*, double*>;
  const std::string& name() const { return name_; }
  const Is& is() const { return is_; }

 private:
  std::string name_;
  Is is_;
};

struct CheckpointManagerOptions {
  int max_to_keep = 5;  // the newest; 0: all
};

// Files checkpoint-1, checkpoint-2, ... in a folder, of the format that BackupAndRestore writes. Each holds
// what is tracked, seed(), and the default generator, which is tracked by itself. Under a strategy, in whose
// scope() it is made or which shares out a dataset that is tracked, all workers make the same calls. The
// files are worker 0's: it alone reads and writes them, and the others hear from it what it has read, so that
// a disk of its own will do. A checkpoint says nothing of the number of workers, and any number goes on with
// it.
//
// Variables may be made later than restore(): weights of a model that was not called yet, what an optimizer
// keeps of them, sums of a metric. They begin with the values of the checkpoint when they are made.
class CheckpointManager {
 public:
  // Makes nothing yet. Raises ValueError[checkpoint.folder] for an empty path, [checkpoint.name] for a name
  // of other letters, or that two have, [checkpoint.max_to_keep] for less than 0.
  CheckpointManager(std::string folder, std::vector<Tracked> tracked, CheckpointManagerOptions options = {},
                    Location at = Location::here());
  // Waits for what is written.
  ~CheckpointManager();
  CheckpointManager(const CheckpointManager&) = delete;
  CheckpointManager& operator=(const CheckpointManager&) = delete;

  // Goes on where the newest checkpoint of the folder was saved, and gives its number; nothing where there is
  // none. Raises on all workers IoError[file.*], FormatError[checkpoint.*] and [safetensors.*] naming the
  // file when it is no whole checkpoint, ValueError[checkpoint.variable] and [checkpoint.place] when it is of
  // other things, [dataset.restore] when it is of another dataset; then nothing has changed. What is made
  // later and does not fit raises [checkpoint.variable] in the first call of its model, or of apply(), which
  // is refused.
  std::optional<int64_t> restore(Location at = Location::here());
  // Saves, and gives the number of the checkpoint: copies all, and writes the copies while the loop goes on;
  // a strategy that was told to go waits until they are written. The file is whole at every moment. Then
  // older ones than are kept are removed. Raises what the write before raised; RunError[strategy.audit] where
  // workers have other values of what is tracked, unless their strategy never compares (audit_steps = 0);
  // ValueError[checkpoint.untracked] for an optimizer of a variable that is not tracked.
  int64_t save(Location at = Location::here());
  // Waits for what is written; raises what that raised.
  void finish(Location at = Location::here());
  // The path of the newest checkpoint that restore() has read or save() begun to write; nothing before.
  std::optional<std::string> latest() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace espalier
