// Rows that are drawn again, and the intervals that follow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evaluate/intervals.h"

namespace espalier {

enum class IntervalMethod {
  kClosedForm,  // Wilson, Newcombe, DeLong, linearisation
  kBootstrap,   // each row counts as often as Poisson's law of mean 1 says
  kJackknife,   // rows are dealt to buckets, and each bucket is left out once
};

struct Resampling {
  IntervalMethod method = IntervalMethod::kClosedForm;
  size_t replicates = 200;  // of the bootstrap
  uint64_t seed = 0;
};
// "Poisson bootstrap, 200 replicates, seed 0".
std::string text_of(const Resampling& resampling);

// Draws for four replicates: the random bits of one unit, be it a row or what else is drawn as a whole.
inline constexpr size_t kReplicateLanes = 4;
enum class DrawStream : uint32_t { kOfCells, kOfRows, kOfUnits };
std::array<uint32_t, kReplicateLanes> draw(uint64_t seed, uint64_t unit, size_t block, DrawStream stream);

inline constexpr size_t kJackknifeBuckets = 20;  // TFMA's
// A bucket for each row, by chance.
std::vector<uint8_t> jackknife_buckets(size_t rows, uint64_t seed);

// How often each of so many units counts in each replicate. The same for any number of threads. REQUIRES: one
// of the two methods.
class DrawnUnits {
 public:
  DrawnUnits(size_t units, const Resampling& how);
  size_t replicates() const;
  std::vector<double> counts(size_t replicate) const;

 private:
  size_t units_;
  Resampling how_;
  std::vector<uint8_t> buckets_;  // of the jackknife
};

// TFMA's, Student's t around the replicates' mean with as many degrees of freedom as there are replicates
// less one: the standard error is their deviation, of the jackknife that of Quenouille's pseudo-values over
// the root of their number. None of fewer than two. REQUIRES: one of the two methods.
std::optional<Interval> resampled_interval(double value, std::span<const double> replicates,
                                           IntervalMethod method, double level = kLevel);

}  // namespace espalier
