// What is said of rows against what is true of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace espalier {

// Rows, and what they weigh.
struct Tally {
  int64_t rows = 0;
  double weight = 0;
  double squares = 0;  // of the weights

  void add(double row_weight) {
    ++rows;
    weight += row_weight;
    squares += row_weight * row_weight;
  }
  Tally& operator+=(const Tally& other) {
    rows += other.rows;
    weight += other.weight;
    squares += other.squares;
    return *this;
  }
  // How many rows of one weight tell as much: Kish, Survey Sampling, 1965. 0 without weight.
  double effective_rows() const { return weight > 0 ? weight * weight / squares : 0; }
};

enum Outcome : size_t { kTruePositive, kFalsePositive, kTrueNegative, kFalseNegative, kOutcomes };
inline Outcome outcome_of(bool said_positive, bool is_positive) {
  if (said_positive) return is_positive ? kTruePositive : kFalsePositive;
  return is_positive ? kFalseNegative : kTrueNegative;
}

struct Confusion {
  std::array<Tally, kOutcomes> of = {};

  const Tally& operator[](Outcome outcome) const { return of[outcome]; }
  Tally& operator[](Outcome outcome) { return of[outcome]; }
  Confusion& operator+=(const Confusion& other) {
    for (size_t i = 0; i < kOutcomes; ++i) of[i] += other.of[i];
    return *this;
  }
  Tally positives() const;
  Tally all() const;
};

}  // namespace espalier
