// What is learned.
#pragma once

#include <span>
#include <vector>

#include "data/column_profile.h"

namespace espalier {

struct FittedLabel {
  LabelStep step;
  std::vector<int32_t> classes;  // a training row; of a classification
  std::vector<double> numbers;   // a training row, as written; of a regression
  std::vector<Note> notes;
};
FittedLabel fit_label(const CsvTable& table, std::span<const int64_t> rows, const ColumnOptions& options,
                      const MissingWords& missing);

}  // namespace espalier
