// How often each of many numbers occurs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "validate/key_places.h"
#include "validate/sketch_pages.h"
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
// numbers are dropped, as few as leave at most half of so many distinct beginnings, and no more than 8,192:
// those in use stay at hand. Thus what it says depends on the numbers alone, not on their order nor on how
// they were merged. Sums stay exact.
class ValueCounts {
 public:
  ValueCounts(size_t most, bool weighted);

  // So many times the same, `weight` of them together.
  void add(double value, FixedWeight weight = 0, uint64_t times = 1) {
    if (sums_) sums_->add(value, times, weight);
    add(ordered_key(value), times, weight);
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
  // What can no longer be told from the counts.
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
  // Calls f of all keys, their counts and weights.
  template <class F>
  void for_each(const F& f) const {
    if (pages_) return pages_->for_each([&](uint64_t key, uint64_t count) { f(key, count, FixedWeight{0}); });
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].count) f(slots_[i].key, slots_[i].count, weighted_ ? weights_[i] : 0);
    }
  }
  struct Count {
    uint64_t key = 0, count = 0;
    FixedWeight weight = 0;
  };
  std::vector<Count> all_counts() const;
  std::vector<Count> in_order() const;
  static void sort_by_key(std::vector<Count>& counts);
  // As few bits are dropped as must be.
  struct Settled {
    std::vector<Count> counts;  // in order
    int dropped = 0;
  };
  Settled settled() const;

  static double value_of(uint64_t ordered) {
    return std::bit_cast<double>(ordered >> 63 ? ordered ^ uint64_t{1} << 63 : ~ordered);
  }
  size_t first_slot(uint64_t key) const { return (key ^ key >> 29) * 0x9e3779b97f4a7c15 >> shift_; }
  size_t slot(uint64_t key) const {
    size_t at = first_slot(key);
    while (slots_[at].count != 0 && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  // Counts what begins as `whole` does.
  void add(uint64_t whole, uint64_t count, FixedWeight weight);
  // Counts the values up to the first that is new; how many these are.
  size_t add_known(std::span<const double> values);
  size_t add_known_to(CountPages& pages, std::span<const double> values) const;
  // Bits are dropped when there are more keys than this, so many that as many more may come.
  size_t room() const { return sums_ ? 2 * most_coarse() : most_; }
  size_t most_coarse() const { return std::clamp<size_t>(most_ / 2, 2, 8192); }
  static int bits_to_drop(const std::vector<Count>& counts, size_t most);
  void coarsen(const std::vector<Count>& counts, int more);
  // Anew, of these, `more` bits of whose keys are dropped.
  bool put_in_pages(const std::vector<Count>& counts, int more);
  void put_in_slots(const std::vector<Count>& counts, int more);
  Sums sums_of_counts() const;

  size_t most_;
  bool weighted_;
  int dropped_ = 0;  // bits
  int shift_ = 0;    // of the slots' hash
  size_t used_ = 0;
  std::vector<Slot> slots_;
  std::vector<FixedWeight> weights_;  // of the slots
  // In place of the slots, when bits are dropped and keys have no weights but neighbours.
  std::optional<CountPages> pages_;
  std::optional<Sums> sums_;  // when bits are dropped
};

}  // namespace espalier
