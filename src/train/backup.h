// What BackupAndRestore does in a run of fit.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "espalier/callbacks.h"
#include "format/checkpoint.h"
#include "step/epoch_rows.h"
#include "step/step_batches.h"
#include "strategy/host_collectives.h"
#include "train/checkpoint_writer.h"

namespace espalier {

// Where a run of fit is.
struct FitPosition {
  int epoch = 0;
  int64_t step = 0;  // steps of it that are done
  bool stopped = false;
  std::vector<Logs> history = {};
  TrainingBatches::Cursor cursor = {};
  EpochRows rows = {};  // of the epoch so far
};

// The checkpoints of one run; does nothing unless BackupAndRestore is among its callbacks.
class Backups {
 public:
  // Reads what a run left that was killed. Raises what BackupAndRestore says but for variables.
  Backups(const FitOptions& options, const TrainingBatches& batches, const Callback::Run& run,
          ThreadPool& pool);

  // There is such a run to go on with.
  bool found() const { return found_.has_value(); }
  // All workers call it. Raises ValueError[backup.unseen] on each of them where some found it and others did
  // not: those would begin anew.
  void require_seen_by_all(const HostCollectives& hosts) const;
  FitPosition position() const;
  // Raises ValueError[backup.variable] unless all `variables` are in the checkpoint with their types and, if
  // they are `all`, no others.
  void require(const NamedVariables& variables, bool all);
  // Gives callbacks and variables their state, and the process its seed. REQUIRES: require(variables, true).
  void restore(const NamedVariables& variables);

  bool due_after_step(int64_t steps_of_run) const { return freq_ > 0 && steps_of_run % freq_ == 0; }
  bool due_after_epoch() const { return freq_ == 0; }
  bool used() const { return backup_ != nullptr; }
  // Copies, and writes the copies while the run goes on. Raises what the write before raised.
  void save(const NamedVariables& variables, const FitPosition& position);
  // Waits for what is written; raises what that raised.
  void finish() { writer_.finish(); }
  // The run has ended as planned. REQUIRES: finish().
  void end() const;

 private:
  void take_earlier_paths(const NamedVariables& variables);

  const std::vector<std::shared_ptr<Callback>>& callbacks_;
  const BackupAndRestoreOptions* backup_ = nullptr;
  int64_t freq_ = -1;  // steps; 0: epochs; -1: never
  bool numbered_;      // whether rows have numbers, those in memory
  std::map<std::string, std::string> run_;
  std::optional<Checkpoint> found_;
  bool has_earlier_paths_ = false;  // what was found, of a version before
  CheckpointWriter writer_;
};

}  // namespace espalier
