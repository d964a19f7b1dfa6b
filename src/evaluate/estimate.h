// A figure that follows from rows, with its error by linearisation: how far each row pulls at it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/confusion.h"
#include "evaluate/resampling.h"
#include "evaluate/slices.h"

namespace espalier {

struct Estimate {
  std::string metric;                   // of one class "recall[setosa]"
  std::optional<double> value = {};     // none where it is 0 / 0
  std::optional<double> variance = {};  // of the value; none where its rows do not tell
  int64_t rows = 0;                     // that it counts
  double effective_rows = 0;            // of these: Tally::effective_rows
  bool share = false;                   // of rows, each of which counts once
  // Where rows were drawn again: what each replicate says; none where one says nothing.
  IntervalMethod method = IntervalMethod::kClosedForm;
  std::vector<double> replicates = {};
};

// The variance of a figure: `squares` is the sum over rows of (w i)^2, where i, the row's influence, is the
// derivative of the figure by the row's share of the weight, and their weighted mean is 0. With Bessel's
// correction for effective rows. Hampel, The influence curve and its role in robust estimation, 1974. None of
// one row, and where no row has influence.
std::optional<double> linear_variance(double squares, const Tally& rows);

// Of shares Wilson's and Newcombe's; else Student's t, for a - b of different rows with the degrees of
// freedom of Welch, The generalization of 'Student's' problem, 1947; where rows were drawn again
// resampled_interval(). None without a variance or replicates.
std::optional<Interval> interval(const Estimate& estimate, double level = kLevel);
std::optional<Interval> interval(const Estimate& a, const Estimate& b, double level = kLevel);

// How often chance moves a figure as far from 0 where its truth is 0, to either side: Student's t test. 1 for
// none and for what is 0, 0 for what is the same number other than 0 in each of several rows.
double chance_of_zero(const Estimate& estimate);

// How often chance makes a - b of different rows as large, or larger, where both truths are equal: Welch's
// test, to one side. None without variances.
std::optional<double> chance_of_more(const Estimate& a, const Estimate& b);

// What is known of a metric whose figures are estimates.
struct EstimateMetric {
  std::string_view name;  // that of one for each class ends in "[": "recall["
  std::vector<std::string_view> aliases;
  std::string_view formula;
  double least, most;                 // that it can be
  bool compared = false;              // whether gaps between slices are looked at unasked
  std::string_view counted = "rows";  // what its estimates count
};

// The figures of a slice.
struct Estimates {
  Tally rows = {};
  std::vector<Estimate> of = {};
  // [true * classes + said]: rows, where there are classes.
  std::vector<int64_t> matrix = {};
};
}  // namespace espalier
