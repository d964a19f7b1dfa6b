// The rows of a program as assessments take them.
#pragma once

#include <span>

#include "espalier/release.h"
#include "fairness/assessment.h"

namespace espalier {

// REQUIRES: `scores` outlives it. Raises as the rows do.
AnyRows rows_of(const ModelScores& scores);
size_t row_count(const ModelScores& scores);
// Those of these rows. REQUIRES: columns of one length, rows within it.
ModelScores rows_taken(const ModelScores& scores, std::span<const int64_t> rows);
// With classes said where only probabilities were given. Raises ValueError: evaluate.rows;
// evaluate.probability for a row of which they do not add up to 1.
ModelScores with_classes_said(ModelScores scores);
// "" but of two classes.
std::string positive_of(const ModelScores& scores);

}  // namespace espalier
