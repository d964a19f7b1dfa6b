// The slices in which a model does worst, searched in one half of the rows and tested in the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evaluate/intervals.h"
#include "evaluate/rates.h"
#include "evaluate/slices.h"
#include "fairness/assessment.h"

namespace espalier {

struct WorstOptions {
  std::string metric = "error_rate";  // of numbers mae
  double threshold = 0.5;             // of two classes
  Positive positive = Positive::kFrom;
  size_t most = 10;           // that are told
  size_t depth = 2;           // columns a slice is by, at most
  size_t beam = 100;          // slices of one depth that are parted further
  size_t candidates = 50;     // that are tested
  int64_t min_rows = 30;      // of a slice
  double discoveries = 0.05;  // of those that are told, this share may be there by chance
  double level = kLevel;      // of intervals
  uint64_t seed = 0;          // which half a row is in
};

struct WorstSlice {
  std::string name;                                             // "sex=Female, age=[25,45)"
  std::vector<std::pair<std::string, std::string>> where = {};  // columns and values
  int64_t rows = 0;                                             // in both halves
  // Of the half that was not searched.
  int64_t tested_rows = 0;  // that the metric counts
  double value = 0, rest = 0;
  Interval interval = {};      // of the value
  double gap = 0;              // value - rest
  Interval gap_interval = {};  // Newcombe's, or Welch's
  double p = 1;                // of so bad a slice among rows that do not differ
  double adjusted_p = 1;       // benjamini_hochberg() over those that were tested
};
struct WorstSlices {
  std::string metric;                  // its name
  bool exact = true;                   // p is by Fisher's exact test, else by Welch's to one side
  std::vector<WorstSlice> found = {};  // the surest first
  size_t searched = 0, tested = 0, discovered = 0;
};

// Whether a slice with more of the rate is worse: its numerator counts mistakes. Raises
// ValueError[worst.metric] for a rate of which nobody can say, or that is no share of rows.
bool higher_is_worse(const Rate& rate);

// Slices by values of one column, then of those in the beam parted by another, and so on; a slice that is no
// surer than one it is part of is left out. `columns` are of the rows and live as long. Rows of two classes
// have any metric of which higher_is_worse() knows, of several classes error_rate or accuracy, of numbers
// mae. Raises ValueError: evaluate.metric, worst.metric, evaluate.slice; evaluate.task for the rows of
// queries.
WorstSlices worst_slices(const AnyRows& rows, const std::vector<const CategoryColumn*>& columns,
                         const WorstOptions& options = {});

}  // namespace espalier
