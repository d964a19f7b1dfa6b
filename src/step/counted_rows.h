// The rows of a step that count for something.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "espalier/tensor.h"

namespace espalier {

// A step's arguments and the numbers of their rows.
struct StepRows {
  std::vector<Tensor> arguments;
  std::vector<int64_t> numbers;
};
// The arguments (x and y, then f32[rows] of weights) with the last row that counts in the place of each of
// weight 0: that is not there, and what it holds, perhaps NaN or no class, would reach gradients through the
// layers. Zeros where no row counts. Nothing where all rows count.
std::optional<StepRows> only_counted_rows(std::span<const Tensor> arguments,
                                          std::span<const int64_t> numbers);

// Whether one of these f32[rows] weights is not 0.
bool some_row_counts(const Tensor& weights);

// On the device of the run's context, if it has one: where eager ops find variables.
std::vector<Tensor> where_variables_are(std::span<const Tensor> rows);

// Whether two rows have the same bits in all arrays.
bool are_equal_rows(std::span<const Tensor> rows, int64_t a, int64_t b);

}  // namespace espalier
