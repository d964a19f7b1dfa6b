// Chances of several tests together.
#pragma once

#include <span>
#include <vector>

namespace espalier {

// Each p-value as what it is worth among the others: with those at or below 0.05 taken for differences, the
// chance that any of them is none is at most 0.05. Holm, A simple sequentially rejective multiple test
// procedure, 1979.
std::vector<double> holm(std::span<const double> p);
// With those at or below 0.05 taken for differences, of these at most 5 % are none, on average. Benjamini,
// Hochberg, Controlling the false discovery rate, 1995.
std::vector<double> benjamini_hochberg(std::span<const double> p);

}  // namespace espalier
