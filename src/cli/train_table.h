// Training on a table: from a CSV and the name of a column to a saved model and its figures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/common.h"
#include "cli/table_data.h"

namespace espalier::cli {

struct TableRun {
  std::string data = {};
  std::string test = {};  // a file of its own; empty: test_fraction of the rows
  std::string label = {};
  std::vector<std::string> ignore = {};
  std::string model = "model";   // the folder that is written
  int64_t checkpoint_every = 0;  // steps; 0: only when the run is interrupted
  bool resume = false;           // the run whose checkpoint lies at `model`.checkpoint
  int epochs = 60;               // at most: training ends when the validation rows get no better
  int64_t batch_size = 64;
  std::vector<int64_t> hidden = {128, 64};
  double learning_rate = 1e-3;
  double dropout = 0.1;
  std::string dtype = "f32";
  uint64_t seed = 0;
  double test_fraction = 0.2;
  bool strip_label_dots = false;
  std::string task = "guess";
  TableFlags table = {};
  Results results = {};
};

// Throws Exit{130} when SIGINT ended the training: what it was at lies at `model`.checkpoint.
void train_table(TableRun run);

}  // namespace espalier::cli
