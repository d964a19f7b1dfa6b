// Training that Ctrl-C ends and --resume goes on with: what it was at lies at `plan.model.path`.checkpoint.
#pragma once

#include <memory>
#include <vector>

#include "base/held_file.h"
#include "cli/common.h"
#include "espalier/model.h"
#include "plan/plan.h"

namespace espalier::cli {

// Where a run is kept until it ends.
std::string checkpoint_of(const TrainPlan& plan);

// Before anything is read: the place of the run, which no other process has while what comes back lives.
// Raises ValueError[train.in_use] where another run has it, with what is known of that, and [train.resume]
// for a run that has not ended and is not to go on; says so when there is neither that nor a model. `writes`:
// or nothing is written there, and nobody is kept out.
std::unique_ptr<HeldFile> claim_run(const TrainPlan& plan, bool resume, bool writes);

// All that a run depends on: the plan without its comments, the numbers that it trains on, and those of the
// `test`.
std::string run_of(TrainPlan plan, const Tensor& x, const Tensor& y, const std::vector<Tensor>& test,
                   const FitOptions& fit);
// What training.json keeps of it as "run".
std::string name_of_run(const std::string& run);

// Whether a run that is to go on has its model already, and no checkpoint: the results say so. Where the
// model is of another run, a note does.
bool ended_before(const TrainPlan& plan, bool resume, const std::string& run, const Results& results);

// Trains. Throws Exit{130} when Ctrl-C ended it; raises ValueError[train.resume] when the checkpoint is that
// of another run.
std::vector<Logs> fit_or_leave(Model& model, const TrainPlan& plan, bool resume, const std::string& run,
                               const Tensor& x, const Tensor& y, FitOptions options);
// The same of a run that has no place: Ctrl-C says that nothing is saved.
std::vector<Logs> fit_or_stop(Model& model, const TrainPlan& plan, const Tensor& x, const Tensor& y,
                              FitOptions options);
// Once its model is saved.
void remove_checkpoint(const TrainPlan& plan);

}  // namespace espalier::cli
