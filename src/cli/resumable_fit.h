// Training that Ctrl-C ends and --resume goes on with: what it was at lies at `plan.model.path`.checkpoint.
#pragma once

#include <vector>

#include "cli/plan.h"
#include "espalier/model.h"

namespace espalier::cli {

// Before anything is read: raises ValueError[train.resume] for a run that has not ended and is not to go on;
// says so when there is none.
void check_resume(const TrainPlan& plan, bool resume);

// Trains. Throws Exit{130} when Ctrl-C ended it; raises ValueError[train.resume] when the checkpoint is that
// of another plan or of other rows; `judged` are those that judge.
std::vector<Logs> fit_or_leave(Model& model, const TrainPlan& plan, bool resume, const Tensor& x,
                               const Tensor& y, const std::vector<Tensor>& judged, FitOptions options);
// The same of a run that has no place: Ctrl-C says that nothing is saved.
std::vector<Logs> fit_or_stop(Model& model, const TrainPlan& plan, const Tensor& x, const Tensor& y,
                              FitOptions options);
// Once its model is saved.
void remove_checkpoint(const TrainPlan& plan);

}  // namespace espalier::cli
