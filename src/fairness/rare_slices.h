// Assessments that tell nobody of a few people alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fairness/assessment.h"

namespace espalier {

inline constexpr std::string_view kRareName = "(rare)";
inline constexpr int64_t kRareRows = 10;

struct FoldedAssessment {
  Assessment assessment;
  std::vector<std::string> hidden;               // names of the slices that are no longer there
  std::map<std::string, int64_t> folded;         // how many of them each "(rare)" stands for, by its name
  std::vector<std::string> left_out;             // slicings that nothing is left of
  std::vector<std::string> hidden_figures = {};  // and of the figures of rare classes
};
// Slices of fewer than k rows are one, "(rare)", which comes last in its slicing and has no AUC. So that no
// such slice is a total less its other parts, more are hidden, the smallest first, until of the slices that
// are alike in some of their values, or in none, none is hidden, or at least two with k rows together. Parts
// of what is hidden are hidden in crosses with more columns, and what has one part alone is hidden with it.
// A slicing that nothing is left of is not there. So it is with classes. Several totals taken together may
// still tell more.
FoldedAssessment fold_rare(const Assessment& assessment, int64_t k = kRareRows);

// The names of the slices, and of the figures of classes, that are then no longer there.
std::vector<std::string> names_of_few(const Assessment& assessment, int64_t k);

// Whether it is such a "(rare)".
bool is_fold(const RowSlice& slice);
// The text with "(rare)" for each of these names of slices.
std::string without_names(std::string text, std::vector<std::string> hidden);

}  // namespace espalier
