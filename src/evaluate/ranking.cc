#include "evaluate/ranking.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "base/thread_pool.h"

namespace espalier {
namespace {

// Radix sort, which keeps what is equal as it stands.
constexpr size_t kBits = 11, kDigit = size_t{1} << kBits, kDigits = (64 + kBits - 1) / kBits;
struct Keyed {
  uint64_t key = 0;
  uint32_t row = 0;
};
// Keys are ordered as the scores are; 0 and -0 are equal.
uint64_t key_of(double score) {
  const auto bits = std::bit_cast<uint64_t>(score + 0.0);
  return bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
}
size_t digit(uint64_t key, size_t i) { return key >> (kBits * i) & (kDigit - 1); }

std::vector<Keyed> sorted(std::vector<Keyed> rows) {
  std::vector<Keyed> other(rows.size());
  std::vector<std::array<uint32_t, kDigit>> counts(kDigits);
  for (const Keyed& row : rows) {
    for (size_t i = 0; i < kDigits; ++i) ++counts[i][digit(row.key, i)];
  }
  for (size_t i = 0; i < kDigits; ++i) {
    if (std::ranges::count(counts[i], static_cast<uint32_t>(rows.size()))) continue;  // all have the same
    std::array<uint32_t, kDigit> next;
    std::exclusive_scan(counts[i].begin(), counts[i].end(), next.begin(), 0u);
    for (const Keyed& row : rows) other[next[digit(row.key, i)]++] = row;
    rows.swap(other);
  }
  return rows;
}

// A weighted variance of placements: of rows of one class, how much of the other class lies below each.
class Placements {
 public:
  void add(double placement, const Tally& rows) {
    rows_ += rows;
    sum_ += rows.weight * placement;
    squares_ += rows.weight * placement * placement;
  }
  const Tally& rows() const { return rows_; }
  double sum() const { return sum_; }
  // Of the mean placement, in units of the other class' weight squared.
  double variance_of_mean() const {
    const double mean = sum_ / rows_.weight;
    return std::max(0.0, squares_ / rows_.weight - mean * mean) / (rows_.effective_rows() - 1);
  }

 private:
  Tally rows_;
  double sum_ = 0, squares_ = 0;
};

// Rows of one slice, by ascending score.
class AucSum {
 public:
  void add(double score, bool positive, double weight) {
    if (score != score_) close();
    score_ = score;
    (positive ? positives_ : negatives_).add(weight);
  }

  std::optional<Auc> auc() {
    close();
    const double positives = of_positives_.rows().weight, negatives = of_negatives_.rows().weight;
    if (positives == 0 || negatives == 0) return std::nullopt;
    Auc out{.area = of_positives_.sum() / positives / negatives};
    if (!above_ || !below_ || of_positives_.rows().effective_rows() <= 1 ||
        of_negatives_.rows().effective_rows() <= 1) {
      return out;
    }
    const double variance = of_positives_.variance_of_mean() / (negatives * negatives) +
                            of_negatives_.variance_of_mean() / (positives * positives);
    if (variance > 0) out.variance = variance;
    return out;
  }

 private:
  // The rows of one score are all there.
  void close() {
    const double below_positives = of_positives_.rows().weight, below_negatives = of_negatives_.rows().weight;
    above_ = above_ || (positives_.rows > 0 && of_negatives_.rows().rows + negatives_.rows > 0);
    below_ = below_ || (negatives_.rows > 0 && of_positives_.rows().rows + positives_.rows > 0);
    of_positives_.add(below_negatives + negatives_.weight / 2, positives_);
    of_negatives_.add(below_positives + positives_.weight / 2, negatives_);
    positives_ = negatives_ = {};
  }

  double score_ = 0;
  Tally positives_, negatives_;  // of score_
  Placements of_positives_, of_negatives_;
  bool above_ = false, below_ = false;  // whether a positive lies at or above a negative, or at or below one
};

}  // namespace

std::vector<uint32_t> order_by_score(std::span<const double> scores) {
  // Each half by itself, then both together.
  std::array<std::vector<Keyed>, 2> halves;
  thread_pool().parallel_for(2, [&](int64_t i) {
    const size_t half = scores.size() / 2;
    std::vector<Keyed> rows;
    rows.reserve(scores.size() - half);
    for (size_t row = i == 0 ? 0 : half; row < (i == 0 ? half : scores.size()); ++row)
      rows.push_back({key_of(scores[row]), static_cast<uint32_t>(row)});
    halves[static_cast<size_t>(i)] = sorted(std::move(rows));
  });
  std::vector<Keyed> rows(scores.size());
  std::ranges::merge(halves[0], halves[1], rows.begin(), {}, &Keyed::key, &Keyed::key);
  std::vector<uint32_t> order(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) order[i] = rows[i].row;
  return order;
}

RankedRows::RankedRows(const ScoredRows& rows)
    : order(order_by_score(rows.scores())),
      scores(rows.size()),
      weights(rows.weights().empty() ? 0 : rows.size()),
      labels(rows.size()) {
  for_each_range(order.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      scores[i] = rows.score(order[i]);
      labels[i] = rows.positive(order[i]);
      if (!weights.empty()) weights[i] = rows.weight(order[i]);
    }
  });
}

Slicing RankedRows::ranked(Slicing slicing) const {
  std::vector<uint32_t> of_row;
  of_row.reserve(order.size());
  for (const uint32_t row : order) of_row.push_back(slicing.of_row[row]);
  slicing.of_row = std::move(of_row);
  return slicing;
}

std::vector<std::optional<Auc>> aucs(const ScoredRows& rows, std::span<const uint32_t> order,
                                     const Slicing& slicing) {
  std::vector<AucSum> sums(slicing.slices.size());
  for (const uint32_t row : order) {
    const uint32_t slice = slicing.of_row[row];
    if (slice != Slicing::kNone) sums[slice].add(rows.score(row), rows.positive(row), rows.weight(row));
  }
  std::vector<std::optional<Auc>> out;
  for (AucSum& sum : sums) out.push_back(sum.auc());
  return out;
}

Ranking::Ranking(const ScoredRows& rows, std::span<const uint32_t> order) {
  for (const uint32_t row : order) {
    if (scores_.empty() || scores_.back() != rows.score(row)) scores_.push_back(rows.score(row));
  }
  confusions_.resize(scores_.size() + 1);
  // Each sum adds up its own rows: what is left after a subtraction would be no true 0.
  size_t place = 0;
  for (const uint32_t row : order) {
    place += rows.score(row) != scores_[place];
    confusions_[place + 1][outcome_of(false, rows.positive(row))].add(rows.weight(row));
    confusions_[place][outcome_of(true, rows.positive(row))].add(rows.weight(row));
  }
  for (size_t i = 1; i <= scores_.size(); ++i) {
    confusions_[i][kTrueNegative] += confusions_[i - 1][kTrueNegative];
    confusions_[i][kFalseNegative] += confusions_[i - 1][kFalseNegative];
  }
  for (size_t i = scores_.size(); i-- > 0;) {
    confusions_[i][kTruePositive] += confusions_[i + 1][kTruePositive];
    confusions_[i][kFalsePositive] += confusions_[i + 1][kFalsePositive];
  }
}

const Confusion& Ranking::at(double threshold, Positive positive) const {
  const auto first = std::ranges::partition_point(
      scores_, [&](double score) { return !says_positive(score, threshold, positive); });
  return confusions_[static_cast<size_t>(first - scores_.begin())];
}

}  // namespace espalier
