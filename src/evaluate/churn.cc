#include "evaluate/churn.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/format.h"
#include "espalier/error.h"
#include "evaluate/paired_slices.h"
#include "evaluate/scored_rows.h"

namespace espalier {
namespace {

Estimate churn_share(const char* name, const Tally& part, const Tally& whole) {
  Estimate out{.metric = name};
  if (whole.weight > 0) out.value = part.weight / whole.weight;
  out.rows = whole.rows;
  out.effective_rows = whole.effective_rows();
  out.share = true;
  return out;
}

struct Tallies {
  Tally rows, changed, right_before, right_now;
  int64_t better = 0, worse = 0;
  double squares = 0;
};

std::vector<SliceChurn> churn_of(const DecidedTwice& rows, const Slicing& slicing) {
  std::vector<Tallies> all(slicing.slices.size());
  const auto for_rows = [&](auto&& visit) {
    for (size_t row = 0; row < rows.truths.size(); ++row) {
      if (slicing.of_row[row] == Slicing::kNone) continue;
      visit(all[slicing.of_row[row]], row, rows.weights.empty() ? 1 : rows.weights[row]);
    }
  };
  for_rows([&](Tallies& its, size_t row, double weight) {
    const bool before = rows.before[row] == rows.truths[row], now = rows.now[row] == rows.truths[row];
    its.rows.add(weight);
    if (rows.before[row] != rows.now[row]) its.changed.add(weight);
    if (before) its.right_before.add(weight);
    if (now) its.right_now.add(weight);
    its.better += now && !before;
    its.worse += before && !now;
  });
  for_rows([&](Tallies& its, size_t row, double weight) {
    const int gain = (rows.now[row] == rows.truths[row]) - (rows.before[row] == rows.truths[row]);
    const double pull = weight * (gain - (its.right_now.weight - its.right_before.weight) / its.rows.weight);
    its.squares += pull * pull;
  });
  std::vector<SliceChurn> out;
  for (size_t i = 0; i < all.size(); ++i) {
    const Tallies& its = all[i];
    Estimate gain = churn_share("gain", its.right_now, its.rows);
    gain.share = false;
    if (gain.value) {
      *gain.value -= its.right_before.weight / its.rows.weight;
      gain.variance = linear_variance(its.squares, its.rows);
    }
    out.push_back({.slice = slicing.slices[i],
                   .changed = churn_share("changed", its.changed, its.rows),
                   .before = churn_share("before", its.right_before, its.rows),
                   .now = churn_share("now", its.right_now, its.rows),
                   .gain = gain,
                   .better = its.better,
                   .worse = its.worse,
                   .p = sign_test(its.better, its.worse)});
  }
  return out;
}

}  // namespace

double sign_test(int64_t better, int64_t worse) {
  const auto all = static_cast<double>(better + worse);
  double out = 0;
  for (int64_t k = 0; k <= std::min(better, worse); ++k) {
    const auto some = static_cast<double>(k);
    out += std::exp(std::lgamma(all + 1) - std::lgamma(some + 1) - std::lgamma(all - some + 1) -
                    all * std::numbers::ln2);
  }
  return std::min(1.0, 2 * out);
}

std::vector<SliceChurn> churn(const DecidedTwice& rows,
                              const std::vector<std::vector<const CategoryColumn*>>& slicings,
                              const SliceOptions& options) {
  const size_t count = rows.truths.size();
  if (rows.before.size() != count || rows.now.size() != count) {
    throw ValueError("evaluate.rows",
                     cat("labels and decisions are of the same rows: ", count, " labels, ",
                         rows.before.size(), " decisions before, ", rows.now.size(), " now"));
  }
  check_weights(count, rows.weights);
  return paired_slices(count, slicings, options,
                       [&](const Slicing& slicing) { return churn_of(rows, slicing); });
}

}  // namespace espalier
