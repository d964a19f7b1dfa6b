// Steps from what the training rows hold.
#pragma once

#include <string>

#include "data/column_guess.h"

namespace espalier {

// A strongly skewed column that is never below `least` is taken as log(1 + x) where that is less skewed.
bool wants_logarithm(const WeightedNumbers& numbers, double least, double skewness);

struct FittedStep {
  ColumnStep step;
  std::string text = {};  // of its note
  std::string hint = {};  // of a second note, a warning; "": none
};
// `guess` is not dropped.
FittedStep fit_step(const std::string& name, const ColumnGuess& guess, const ColumnProfile& profile,
                    int64_t max_categories);

}  // namespace espalier
