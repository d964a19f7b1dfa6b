// Between which numbers the true one lies.
#pragma once

#include <optional>
#include <span>

#include "evaluate/ranking.h"
#include "evaluate/rates.h"

namespace espalier {

// The chance that such an interval holds the true number; in (0, 1).
inline constexpr double kLevel = 0.95;

struct Interval {
  double low = 0, high = 0;
};

// How many standard deviations to each side of a normal law's mean hold `level` of it: 1.96 for 0.95. Raises
// ValueError[evaluate.level].
double normal_width(double level);

// Of a share: Wilson, Probable Inference, 1927.
Interval wilson(const Proportion& p, double level = kLevel);
// Of a - b, shares of different rows: method 10 of Newcombe, Interval estimation for the difference between
// independent proportions, 1998.
Interval newcombe(const Proportion& a, const Proportion& b, double level = kLevel);

// Of a sum of shares of different rows, each times its factor: Zou, Huang, Zhang, A note on confidence
// interval estimation for a linear function of binomial proportions, 2009; of a - b it is newcombe()'s.
struct ShareTerm {
  double factor = 1;
  Proportion share;
};
Interval linear_interval(std::span<const ShareTerm> terms, double level = kLevel);

// A number with its own interval.
struct Estimated {
  double value = 0;
  Interval interval;
};
// Of a - b of different rows, from each one's own interval: MOVER of Zou and Donner, Construction of
// confidence limits about effect measures: a general approach, 2008; with wilson() of shares it is
// newcombe(). Of two models on the same rows, which err on the same ones more often than not, it is wider
// than need be.
Interval difference_interval(const Estimated& a, const Estimated& b);
// Of a / b, at least 0 each: MOVER-R of Donner and Zou, Closed-form confidence intervals for functions of the
// normal mean and standard deviation, 2012. None where b may be 0.
std::optional<Interval> ratio_interval(const Estimated& a, const Estimated& b);

// Of the area under a ROC curve, and of a - b of different rows: DeLong, DeLong, Clarke-Pearson, Comparing
// the areas under two or more correlated receiver operating characteristic curves, 1988; cut to what is
// possible. None without a variance, which needs two positives, two negatives, and scores that do not part
// them wholly.
std::optional<Interval> delong(const Auc& auc, double level = kLevel);
std::optional<Interval> delong(const Auc& a, const Auc& b, double level = kLevel);

}  // namespace espalier
