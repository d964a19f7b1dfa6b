// Parts of the rows of a step: x, y and, last, the weight of each row.
#pragma once

#include <span>
#include <vector>

#include "espalier/tensor.h"

namespace espalier {

// Rows [first, last) of each, in the memory of all.
std::vector<Tensor> rows_between(std::span<const Tensor> rows, int64_t first, int64_t last);
// Behind them `more` of weight 0, which hold what the last one holds. REQUIRES: there is one.
std::vector<Tensor> with_empty_rows(std::span<const Tensor> rows, int64_t more);

}  // namespace espalier
