#include "evaluate/resampling.h"

#include <cmath>

#include "base/format.h"
#include "base/philox.h"
#include "evaluate/poisson.h"
#include "evaluate/student.h"

namespace espalier {

std::string text_of(const Resampling& resampling) {
  switch (resampling.method) {
    case IntervalMethod::kBootstrap:
      return cat("Poisson bootstrap, ", resampling.replicates, " replicates, seed ", resampling.seed);
    case IntervalMethod::kJackknife:
      return cat("jackknife, ", kJackknifeBuckets, " buckets, seed ", resampling.seed);
    case IntervalMethod::kClosedForm:
      break;
  }
  return "closed forms";
}

std::array<uint32_t, kReplicateLanes> draw(uint64_t seed, uint64_t unit, size_t block, DrawStream stream) {
  return Philox::block({static_cast<uint32_t>(unit), static_cast<uint32_t>(unit >> 32),
                        static_cast<uint32_t>(block), static_cast<uint32_t>(stream)},
                       static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
}

std::vector<uint8_t> jackknife_buckets(size_t rows, uint64_t seed) {
  Philox random(seed, 1);
  std::vector<uint8_t> out;
  for (size_t row = 0; row < rows; ++row)
    out.push_back(static_cast<uint8_t>(random.below(kJackknifeBuckets)));
  return out;
}

DrawnUnits::DrawnUnits(size_t units, const Resampling& how) : units_(units), how_(how) {
  if (how.method == IntervalMethod::kJackknife) buckets_ = jackknife_buckets(units, how.seed);
}

size_t DrawnUnits::replicates() const {
  return how_.method == IntervalMethod::kJackknife ? kJackknifeBuckets : how_.replicates;
}

std::vector<double> DrawnUnits::counts(size_t replicate) const {
  std::vector<double> out(units_);
  const Poisson once(1);
  for (size_t unit = 0; unit < units_; ++unit) {
    if (how_.method == IntervalMethod::kJackknife) {
      out[unit] = buckets_[unit] != replicate;
      continue;
    }
    const auto bits = draw(how_.seed, unit, replicate / kReplicateLanes, DrawStream::kOfUnits);
    out[unit] = static_cast<double>(once(bits[replicate % kReplicateLanes]));
  }
  return out;
}

std::optional<Interval> resampled_interval(double value, std::span<const double> replicates,
                                           IntervalMethod method, double level) {
  if (replicates.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(replicates.size());
  // A pseudo-value lies count - 1 times as far from the mean of all as its replicate does.
  const double factor = method == IntervalMethod::kJackknife ? (count - 1) / std::sqrt(count) : 1;
  double mean = 0, squares = 0;
  for (const double one : replicates) mean += (one - value) / count;
  for (const double one : replicates) squares += (one - value - mean) * (one - value - mean);
  const double half = student_width(level, static_cast<int64_t>(replicates.size()) - 1) * factor *
                      std::sqrt(squares / (count - 1));
  return Interval{value + mean - half, value + mean + half};
}

}  // namespace espalier
