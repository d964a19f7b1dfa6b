// What workers that train by a plan compare of it.
#pragma once

#include <map>
#include <string>

#include "plan/plan.h"

namespace espalier {

// The values of a plan by the paths of their keys: "fit.seed", "callbacks[0]", its type, and
// "callbacks[0].patience". Without what may differ between workers: paths, which the content of files is
// compared for, loggers, and where it runs. Long values are cut, and end in their hash; of a plan that one
// message does not hold the largest tables are a hash each.
std::map<std::string, std::string> plan_facts(TrainPlan plan);

}  // namespace espalier
