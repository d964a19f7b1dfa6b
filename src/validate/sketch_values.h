// How often each of many numbers occurs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "validate/sketch_sum.h"

namespace espalier {

// A weight in multiples of 2^-70, so that sums of weights depend on no order.
__extension__ using FixedWeight = __int128;
inline constexpr double kMostWeight = 1e9;
inline FixedWeight fixed_weight(double weight) {
  return static_cast<FixedWeight>(std::nearbyint(std::ldexp(weight, 70)));
}
double weight_value(FixedWeight weight);

// Numbers from `low` to `high`, which are one and the same when the counts are exact.
struct ValueRange {
  double low = 0, high = 0;
  uint64_t count = 0;
  FixedWeight weight = 0;
};

// Counts of finite numbers. Exact while there are at most `most` distinct ones; then the lowest bits of all
// numbers are dropped, as few as leave at most so many distinct beginnings. Thus what it holds depends on the
// numbers alone, not on their order nor on how they were merged. Sums stay exact.
class ValueCounts {
 public:
  ValueCounts(size_t most, bool weighted);

  void add(double value, FixedWeight weight = 0) {
    const uint64_t whole = ordered(value), key = whole >> dropped_;
    size_t at = slot(key);
    if (slots_[at].count == 0) at = insert(key, whole);
    ++slots_[at].count;
    if (weighted_) weights_[at] += weight;
    if (sums_) sums_->add(value, 1, weight);
  }
  // All of these. REQUIRES: not weighted.
  void add(std::span<const double> values);
  // REQUIRES: both were made with the same arguments.
  void merge(const ValueCounts& other);

  // As bytes, which are equal for equal counts. read() REQUIRES: nothing was added, and the same arguments;
  // raises FormatError[sketch.*].
  void write(SketchWriter& out) const;
  void read(SketchReader& in);

  bool exact() const { return !sums_; }
  // In order.
  std::vector<ValueRange> ranges() const;
  Moments moments() const;
  Moments weighted_moments() const;

 private:
  struct Slot {
    uint64_t key = 0, count = 0;
  };
  // What can no longer be told from the slots.
  struct Sums {
    ExactSum sum, squares, count, weighted_sum, weighted_squares, weight;
    double low = 0, high = 0;
    bool any = false;
    void add(double value, uint64_t times, FixedWeight weight);
    void add(std::span<const double> values);
    void merge(const Sums& other);
    void write(SketchWriter& out) const;
    void read(SketchReader& in);
  };
  std::vector<std::pair<Slot, FixedWeight>> in_order() const;

  static uint64_t ordered(double value) {
    const auto bits = std::bit_cast<uint64_t>(value + 0.0);
    return bits ^ (static_cast<uint64_t>(static_cast<int64_t>(bits) >> 63) | uint64_t{1} << 63);
  }
  static double value_of(uint64_t ordered) {
    return std::bit_cast<double>(ordered >> 63 ? ordered ^ uint64_t{1} << 63 : ~ordered);
  }
  size_t first_slot(uint64_t key) const { return (key ^ key >> 29) * 0x9e3779b97f4a7c15 >> shift_; }
  size_t slot(uint64_t key) const {
    size_t at = first_slot(key);
    while (slots_[at].count != 0 && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  size_t insert(uint64_t key, uint64_t whole);
  void put(const std::vector<Slot>& slots, const std::vector<FixedWeight>& weights, int dropped, size_t size);
  void coarsen(int dropped);
  void coarsen_for(uint64_t whole);
  Sums sums_of_slots() const;

  size_t most_;
  bool weighted_;
  int dropped_ = 0;  // bits
  int shift_ = 0;
  size_t used_ = 0;
  std::vector<Slot> slots_;
  std::vector<FixedWeight> weights_;  // of the slots
  std::optional<Sums> sums_;          // when bits are dropped
};

}  // namespace espalier
