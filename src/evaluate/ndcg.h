// How well scores order the rows of each query by what they are worth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evaluate/estimate.h"
#include "evaluate/slices.h"

namespace espalier {

// Rows that answer queries: columns of one length, which are the caller's and outlive this.
class QueryRows {
 public:
  // `gains` say what a row is worth to its query, from 0 on; `queries` are equal for rows of one query;
  // `weights` say what each row counts, none: 1. Raises ValueError for the first row of no use:
  // evaluate.rows, evaluate.score for one that is not finite, evaluate.label for a gain that is negative or
  // not finite, evaluate.weight.
  QueryRows(std::span<const double> scores, std::span<const double> gains, std::span<const uint32_t> queries,
            std::span<const double> weights = {});
  size_t size() const { return scores_.size(); }
  double score(size_t row) const { return scores_[row]; }
  double gain(size_t row) const { return gains_[row]; }
  uint32_t query(size_t row) const { return queries_[row]; }
  double weight(size_t row) const { return weights_.empty() ? 1 : weights_[row]; }
  // The same rows with other weights, which outlive it too.
  QueryRows weighing(std::span<const double> weights) const {
    QueryRows out = *this;
    out.weights_ = weights;
    return out;
  }

 private:
  std::span<const double> scores_, gains_;
  std::span<const uint32_t> queries_;
  std::span<const double> weights_;
};

// ndcg, and of the first so many of each query ndcg@1, @3, @5, @10, @20, @50, @100.
const std::vector<EstimateMetric>& ndcg_metrics();
// Of each slice: the mean over its queries of DCG / DCG of the best order, where DCG is the sum over ranks r
// from 1 on of gain / log2(1 + r). Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques,
// 2002. A slice has of each query the rows that are in it (TensorFlow Model Analysis: a slice that has one of
// them has all). Rows of equal scores each have the mean gain of them, as scikit-learn does it. A query
// counts the mean weight of its rows; one without a gain above 0 is left out, as TensorFlow Model Analysis
// does it. Estimates count queries. REQUIRES: the slices are of these rows.
std::vector<Estimates> ndcg_estimates(const QueryRows& rows, const Slicing& slicing);

}  // namespace espalier
