// Training on handwritten digits, and what a person sees of it. `train` and `quickstart` are two doors to it.
#pragma once

#include <cstdint>
#include <string>

#include "cli/common.h"
#include "espalier/data.h"

namespace espalier::cli {

struct DigitsRun {
  std::string verb = {};
  std::string data = {};
  int epochs = 5;
  int64_t batch_size = 64;
  int64_t hidden = 128;
  double learning_rate = 1e-3;
  std::string dtype = "f32";  // or "bf16"
  uint64_t seed = 0;
  double test_fraction = 0.2;  // the last rows
  Results results = {};
  bool show_digits = true;
};

// `all`: what lies at run.data.
void train_digits(const DigitsRun& run, const Examples& all);

}  // namespace espalier::cli
