// Rows that a model has scored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace espalier {

// Which scores say positive.
enum class Positive {
  kAbove,  // score > threshold: TFMA
  kFrom,   // score >= threshold: `espalier predict --threshold`
};
inline bool says_positive(double score, double threshold, Positive positive) {
  return positive == Positive::kFrom ? score >= threshold : score > threshold;
}

// Raises ValueError: evaluate.rows unless there are none or one for each row, evaluate.weight for the first
// that is negative or not finite.
void check_weights(size_t rows, std::span<const double> weights);

// Columns of one length, which are the caller's and outlive this.
class ScoredRows {
 public:
  // `scores` are larger for likelier positives; `labels` are 1 for positives and 0 for negatives; `weights`
  // say what each row counts, none: 1. Raises ValueError for the first row of no use: evaluate.rows,
  // evaluate.score for NaN, evaluate.label, evaluate.weight for one that is negative or not finite.
  ScoredRows(std::span<const double> scores, std::span<const uint8_t> labels,
             std::span<const double> weights = {});
  size_t size() const { return scores_.size(); }
  std::span<const double> scores() const { return scores_; }
  std::span<const double> weights() const { return weights_; }
  double score(size_t row) const { return scores_[row]; }
  bool positive(size_t row) const { return labels_[row] != 0; }
  double weight(size_t row) const { return weights_.empty() ? 1 : weights_[row]; }

 private:
  std::span<const double> scores_;
  std::span<const uint8_t> labels_;
  std::span<const double> weights_;
};

}  // namespace espalier
