// The population stability index: how far the shares of bins have moved.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "evaluate/intervals.h"

namespace espalier {

// sum (b - a) log(b / a) over the shares of bins; shares of 0 count as half a row. REQUIRES: equal sizes,
// sums above 0.
double stability_index(std::span<const int64_t> a, std::span<const int64_t> b);

// Of it: the true indices whose distance from what was counted is at most 1.96 deviations. Of k bins with n
// and m rows chance adds (k - 1)(1/n + 1/m) to the index, with the variance 2 (k - 1)(1/n + 1/m)^2, as by a
// noncentral chi-square law (Yurdakul, Naranjo, Statistical properties of the population stability index,
// 2020, of the central one), and in proportion to the true index what the shares' own errors give. It
// reaches the index at least. None where a bin has fewer than five rows of one of both, or one bin is all.
std::optional<Interval> stability_interval(std::span<const int64_t> a, std::span<const int64_t> b);

}  // namespace espalier
