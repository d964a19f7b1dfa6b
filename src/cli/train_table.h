// Training on a table: from a CSV and the name of a column to a saved model and its figures.
#pragma once

#include "cli/common.h"
#include "cli/show_step.h"
#include "plan/plan.h"
#include "tables/loaded_table_model.h"

namespace espalier::cli {

struct TableRun {
  TrainPlan plan = table_plan();
  bool resume = false;  // the run whose checkpoint lies at `plan.model.path`.checkpoint
  bool force = false;   // replaces a model that answers another question
  Results results = {};
  ShowStep show_step = {};
};

// Raises ValueError[csv.column] where the plan's table has no column that it learns; no table, no mistake.
void check_label(const TrainPlan& plan);

// Throws Exit{130} when SIGINT ended the training: what it was at lies at `plan.model.path`.checkpoint.
void train_table(const TableRun& run);

}  // namespace espalier::cli
