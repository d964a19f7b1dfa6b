// One run of fit on this rank: its epochs and steps, what its callbacks hear, and what ranks do alike.
#pragma once

#include <optional>
#include <vector>

#include "base/rank_stage.h"
#include "place/place_of.h"
#include "step/decisions.h"
#include "step/epoch_rows.h"
#include "step/trained_alike.h"
#include "strategy/same_elements.h"
#include "train/backup.h"
#include "train/step.h"

namespace espalier {

// Of the model that runs. All that the constructor is given outlives it.
class Model::Training::FitRun {
 public:
  FitRun(Training& training, TrainingBatches& batches, const FitOptions& options,
         const Validation& validation, bool& stop, const std::vector<std::string>& notes);
  // Once. Gives the logs of each epoch.
  std::vector<Logs> train();

 private:
  struct Epoch {
    Logs logs;
    int64_t steps_made = 0;  // here
    bool finite = true;      // its loss so far
  };

  // As callbacks hear of it; workers agree on the seed first.
  Callback::Run described(const std::vector<std::string>& notes) const;
  NamedVariables variables() const { return training_.variables(*Running::model()); }
  // The optimizer's first: what one worker has another of there makes all weights differ.
  std::vector<Variable> all_variables() const;
  EpochRows rows_of_all() const;
  template <class Call>
  void call_callbacks(const Call& call) {
    for (const auto& callback : callbacks_) call(*callback);
  }

  // Finds what a run left that was killed, makes the variables that it has values for, and tells the other
  // workers what is to be the same on all of them.
  void meet();
  void begin_epoch();
  void train_epoch();
  // False where the data of the epoch has ended.
  bool make_step(Epoch& epoch);
  void add_to_ledger(const BatchRows& batch, std::span<const Tensor> arguments);
  void tell_notes(const BatchRows& batch);
  // Whether callbacks are due to hear the logs of this step, which are brought up to date then.
  bool show_logs(Epoch& epoch);
  // What ranks do behind a step: stop, save, compare.
  void decide_behind_step();
  void stop_within_epoch();
  void end_epoch(Epoch epoch);
  // True for an epoch without a mean, whose logs become NaN.
  bool take_for_skipped(Epoch& epoch);
  // Also before what replicas have is saved. All workers call it alike.
  void audit();
  void save(FitPosition position);

  Training& training_;
  TrainingBatches& batches_;
  const FitOptions& options_;
  const Validation& validation_;
  bool& stop_;
  const RunContext& context_;
  const PlaceOf place_;
  const ReadsPolicy reads_;
  const HostCollectives hosts_;
  const bool chief_, workers_, launched_;
  RankStage rank_stage_;
  std::vector<std::shared_ptr<Callback>> callbacks_;  // those whose hooks are called here
  const uint64_t own_seed_;
  Callback::Run run_;
  const int64_t steps_;  // of an epoch; 0: not known
  Backups backups_;
  FitPosition now_;
  std::optional<TrainedAlike> alike_;
  const bool ledger_;
  std::optional<SameElements> same_;  // in the first epoch, of data that each worker reads whole
  std::vector<double> late_;          // of each worker, before the epoch
  EpochRows rows_, rows_before_;      // of the epoch: since the run went on, and before
  int64_t steps_of_run_ = 0, audited_ = -1;
  bool interrupted_ = false, shares_untold_ = false, made_none_ = true, stopped_ = false;
  bool compares_ = false;
};

}  // namespace espalier
