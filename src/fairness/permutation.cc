#include "fairness/permutation.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace espalier {
namespace {

double log_choices(int64_t from, int64_t taken) {
  return std::lgamma(static_cast<double>(from) + 1) - std::lgamma(static_cast<double>(taken) + 1) -
         std::lgamma(static_cast<double>(from - taken) + 1);
}

double uniform(Philox& random) {
  const uint64_t bits = uint64_t{random.next()} << 32 | random.next();
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// One rate's rows: how many each group has, and how many of them count.
class Exchange {
 public:
  Exchange(const Rate& rate, const Groups& groups, const Convention& convention) : convention_(convention) {
    for (const Confusion& confusion : groups.of) {
      const Proportion share = proportion(rate, confusion).value();
      // A group of some weight is not without rows.
      sizes_.push_back(std::max<int64_t>(1, std::llround(share.rows)));
      parts_.push_back(std::llround(share.share * static_cast<double>(sizes_.back())));
      total_ += sizes_.back(), marked_ += parts_.back();
    }
    first_.emplace(total_, marked_, sizes_[0]);
  }
  double gap() const {
    std::vector<double> shares;
    for (size_t i = 0; i < sizes_.size(); ++i)
      shares.push_back(static_cast<double>(parts_[i]) / static_cast<double>(sizes_[i]));
    const auto [low, high] = std::ranges::minmax(shares);
    if (convention_.against == Against::kEachOther) return high - low;
    const double reference = shares[convention_.reference];
    return std::max(high - reference, reference - low);
  }
  void permute(Philox& random) {
    int64_t total = total_, marked = marked_;
    for (size_t i = 0; i + 1 < sizes_.size(); ++i) {
      parts_[i] = i == 0 ? (*first_)(random) : Hypergeometric(total, marked, sizes_[i])(random);
      total -= sizes_[i], marked -= parts_[i];
    }
    parts_.back() = marked;
  }

 private:
  const Convention& convention_;
  std::vector<int64_t> sizes_, parts_;
  int64_t total_ = 0, marked_ = 0;
  std::optional<Hypergeometric> first_;
};

double largest_rate_gap(const std::vector<Exchange>& rates) {
  double out = 0;
  for (const Exchange& rate : rates) out = std::max(out, rate.gap());
  return out;
}

}  // namespace

Hypergeometric::Hypergeometric(int64_t total, int64_t marked, int64_t drawn)
    : total_(total),
      marked_(marked),
      drawn_(drawn),
      least_(std::max<int64_t>(0, drawn + marked - total)),
      most_(std::min(marked, drawn)),
      mode_(std::clamp(static_cast<int64_t>(static_cast<double>(drawn + 1) * static_cast<double>(marked + 1) /
                                            static_cast<double>(total + 2)),
                       least_, most_)),
      chance_(std::exp(log_choices(marked, mode_) + log_choices(total - marked, drawn - mode_) -
                       log_choices(total, drawn))) {}

int64_t Hypergeometric::operator()(Philox& random) const {
  // The numbers around the mode take their chances from a uniform one, the nearest first.
  double left = uniform(random) - chance_, below = chance_, above = chance_;
  for (int64_t low = mode_, high = mode_; left >= 0 && (low > least_ || high < most_);) {
    if (low > least_) {
      below *= static_cast<double>(low) * static_cast<double>(total_ - marked_ - drawn_ + low) /
               (static_cast<double>(marked_ - low + 1) * static_cast<double>(drawn_ - low + 1));
      --low;
      if ((left -= below) < 0) return low;
    }
    if (high < most_) {
      above *= static_cast<double>(marked_ - high) * static_cast<double>(drawn_ - high) /
               (static_cast<double>(high + 1) * static_cast<double>(total_ - marked_ - drawn_ + high + 1));
      ++high;
      if ((left -= above) < 0) return high;
    }
  }
  return mode_;
}

std::optional<ByChance> by_chance(const Criterion& criterion, const Groups& groups,
                                  const Convention& convention, const Permuting& permuting) {
  constexpr int64_t kEnough = 10;
  if (convention.against != Against::kEachOther && convention.against != Against::kReference)
    return std::nullopt;
  std::vector<Exchange> rates;
  for (const std::string_view name : criterion.rates) {
    const Rate& each = rate(name);
    if (!each.is_proportion() || !gap_of(each, groups, Measure::kDifference, convention).value)
      return std::nullopt;
    rates.emplace_back(each, groups, convention);
  }
  const double observed = largest_rate_gap(rates);
  Philox random(permuting.seed, 3);
  double sum = 0;
  int64_t permutations = 0, as_large = 0;
  while (permutations < permuting.least || (as_large < kEnough && permutations < permuting.most)) {
    for (Exchange& each : rates) each.permute(random);
    const double gap = largest_rate_gap(rates);
    sum += gap;
    as_large += gap >= observed - 1e-12;
    ++permutations;
  }
  return ByChance{sum / static_cast<double>(permutations),
                  static_cast<double>(as_large + 1) / static_cast<double>(permutations + 1)};
}

}  // namespace espalier
