// The flags of `espalier train`: changes of a plan.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/common.h"
#include "cli/device_flags.h"
#include "cli/show_step.h"
#include "plan/plan.h"
#include "tables/loaded_table_model.h"
#include "tables/missing_choice.h"
#include "tables/table_reading.h"

namespace espalier::cli {

// What the flags say: changes of a plan, in the order of their declaration.
struct TrainFlags {
  std::string plan;
  std::string label;
  std::vector<std::function<void(TrainPlan&)>> changes;
  std::vector<int64_t> hidden;
  TableReading table;
  MissingChoice missing;
  uint64_t seed = 0;
  std::string dtype = "f32";
  DistributePlan distribute;
  DevicePlan device;
  bool resume = false, force = false, write_plan = false;
  ShowStep show_step;
  Results results;
  const CLI::App* verb = nullptr;
};

// Each declares a group of them; what is given becomes flags.changes, or a field.
void add_data_flags(CLI::App& verb, TrainFlags& flags);
void add_training_flags(CLI::App& verb, TrainFlags& flags);
void add_saving_flags(CLI::App& verb, TrainFlags& flags);

}  // namespace espalier::cli
