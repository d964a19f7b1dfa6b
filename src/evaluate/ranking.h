// How scores order rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "evaluate/confusion.h"
#include "evaluate/scored_rows.h"
#include "evaluate/slices.h"

namespace espalier {

// The rows by ascending score; rows of one score as they stand.
std::vector<uint32_t> order_by_score(std::span<const double> scores);

// The rows by ascending score, each column in that order, so that a pass over them reads memory in order.
struct RankedRows {
  std::vector<uint32_t> order;  // order_by_score's
  std::vector<double> scores, weights;
  std::vector<uint8_t> labels;

  explicit RankedRows(const ScoredRows& rows);
  ScoredRows view() const { return {scores, labels, weights}; }
  // The same slices of these.
  Slicing ranked(Slicing slicing) const;
};

// The area under the ROC curve: the chance that a positive has a higher score than a negative, where equal
// scores count half.
struct Auc {
  double area = 0;
  // DeLong's, with effective rows where rows have weights. None of fewer than two positives or negatives, and
  // where the scores part them wholly: such rows do not tell how far the area may be off.
  std::optional<double> variance = {};
};
// Of each slice, in one pass over `order`, which is order_by_score's or a part of it. None where a slice has
// no weight of positives or of negatives. REQUIRES: all three are of the same rows.
std::vector<std::optional<Auc>> aucs(const ScoredRows& rows, std::span<const uint32_t> order,
                                     const Slicing& slicing);

// What every threshold there is says of rows.
class Ranking {
 public:
  // Of the rows of `order`, by ascending score.
  Ranking(const ScoredRows& rows, std::span<const uint32_t> order);
  // The different scores, ascending.
  const std::vector<double>& scores() const { return scores_; }
  // [scores + 1]: where scores()[i] and higher ones are positive; of the last no row is.
  const std::vector<Confusion>& confusions() const { return confusions_; }
  // At a threshold, by binary search.
  const Confusion& at(double threshold, Positive positive = Positive::kFrom) const;

 private:
  std::vector<double> scores_;
  std::vector<Confusion> confusions_;
};

}  // namespace espalier
