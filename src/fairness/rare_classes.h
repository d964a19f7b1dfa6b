// The classes of an assessment of several, without those of a few people alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fairness/assessment.h"

namespace espalier {

// In the order of the matrix, which may have one more place, "(rare)", behind them; none of other
// assessments.
std::vector<std::string> classes_of(const Assessment& assessment);

// Classes that fewer than k rows are of become one, "(rare)", the last of each matrix and of no figure, and
// with them as many others, as slices do in fold_rare(). Returns the names of the figures that are gone.
std::vector<std::string> fold_rare_classes(Assessment& assessment, int64_t k);

// The rows of a class, and those that are said to be: sums of a row and of a column of the matrix.
int64_t rows_of_class(const SliceFigures& slice, size_t place);
int64_t rows_said(const SliceFigures& slice, size_t place);
// Classes of each matrix, "(rare)" among them.
size_t places_of(const SliceFigures& slice);

}  // namespace espalier
