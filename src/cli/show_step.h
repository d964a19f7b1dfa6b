// The program of a step of training, instead of the training.
#pragma once

#include <functional>
#include <string>

#include "espalier/model.h"
#include "plan/plan.h"

namespace espalier::cli {

// If it is there, it gets the model and the training rows of a run, which ends there.
using ShowStep = std::function<void(Model& model, const Tensor& x, const Tensor& y)>;

// The step that the plan's run begins with, as StableHLO text, after a rewrite or pass (Model::step_program).
// `change` is applied to the plan. Trains nothing and writes nothing. Raises what `espalier train PLAN`
// raises before its first step.
std::string step_of_plan(const std::string& plan, const std::string& after,
                         const std::function<void(TrainPlan&)>& change);

}  // namespace espalier::cli
