// How far two distributions are from each other, as TensorFlow Data Validation measures it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "validate/statistics_view.h"

namespace espalier {

using CountsOfTexts = std::map<std::string, double>;

struct ValueDistance {
  std::string value;  // where it is, the last one of several; "" without values
  double distance = 0;
};
// The largest difference between shares of one value, 0 to 1. Counts that sum to 0 are taken for shares.
ValueDistance l_infinity(const CountsOfTexts& a, const CountsOfTexts& b);
// The largest difference between counts of one value by the sum of all counts of both.
ValueDistance normalized_absolute_difference(const CountsOfTexts& a, const CountsOfTexts& b);

// In bits, 0 to 1. None where a count is not positive or there are none.
std::optional<double> jensen_shannon(const CountsOfTexts& a, const CountsOfTexts& b);
// Of buckets whose values are taken as spread evenly, cut at the edges of both. A value in no range (a
// point), infinities, and nan stand for themselves; infinities and nan of one equal none of the other, and
// nan counts only where both have the same edges. None where one is empty, or has buckets whose edges do not
// rise.
std::optional<double> jensen_shannon(const tfmd::Histogram& a, const tfmd::Histogram& b);
// Of the texts where both have texts, else of their histograms of one type; none where those are missing.
std::optional<double> jensen_shannon(const FeatureView& a, const FeatureView& b,
                                     tfmd::Histogram::HistogramType type = tfmd::Histogram::STANDARD);

}  // namespace espalier
