// Training on handwritten digits, and what a person sees of it. `train` and `quickstart` are two doors to it.
#pragma once

#include <cstdint>
#include <string>

#include "cli/common.h"
#include "cli/plan.h"
#include "espalier/data.h"

namespace espalier::cli {

struct DigitsRun {
  std::string verb = {};
  TrainPlan plan = image_plan();
  Results results = {};
  bool show_digits = true;
};

// `all`: what lies at plan.data.file; the last rows judge.
void train_digits(const DigitsRun& run, const Examples& all);

}  // namespace espalier::cli
