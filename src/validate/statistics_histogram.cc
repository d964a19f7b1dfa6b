#include "validate/statistics_histogram.h"

#include <algorithm>
#include <cmath>

namespace espalier {
namespace {

void add_bucket(tfmd::Histogram& histogram, double low, double high, double mass) {
  auto& bucket = *histogram.add_buckets();
  bucket.set_low_value(low);
  bucket.set_high_value(high);
  bucket.set_sample_count(mass);
}

// As numpy.linspace has them.
std::vector<double> evenly(double low, double high, int buckets) {
  const double step = (high - low) / buckets;
  std::vector<double> out;
  for (int i = 0; i < buckets; ++i)
    out.push_back(std::isfinite(step) ? i * step + low : low + i * (high / buckets - low / buckets));
  out.push_back(high);
  return out;
}

}  // namespace

ValueDistribution::ValueDistribution(std::vector<ValueMass> values) : values_(std::move(values)) {
  std::erase_if(values_, [](const ValueMass& value) { return !(value.mass > 0); });
  before_.push_back(0);
  for (const ValueMass& value : values_) before_.push_back(before_.back() + value.mass);
}

size_t ValueDistribution::find(double target) const {
  const auto at = std::lower_bound(before_.begin() + 1, before_.end(), target);
  return std::min(static_cast<size_t>(at - before_.begin()) - 1, values_.size() - 1);
}

double ValueDistribution::quantile(int part, int parts) const {
  const double target = before_.back() * part / parts;
  const size_t at = find(target);
  const ValueMass& value = values_[at];
  if (value.low == value.high) return value.low;
  return value.low + (value.high - value.low) * ((target - before_[at]) / value.mass);
}

double ValueDistribution::median() const {
  const size_t at = find(before_.back() / 2);
  const double median = quantile(1, 2);
  if (before_[at + 1] != before_.back() / 2 || at + 1 == values_.size()) return median;
  return median + (values_[at + 1].low - median) / 2;
}

double ValueDistribution::rank_error() const {
  double most = 0;
  for (const ValueMass& value : values_) most = value.low < value.high ? std::max(most, value.mass) : most;
  return most / before_.back();
}

tfmd::Histogram ValueDistribution::standard(int buckets) const {
  tfmd::Histogram out;
  auto first = values_.begin(), last = values_.end();
  if (first != last && std::isinf(first->low) && first->low < 0) ++first;
  if (first != last && std::isinf((last - 1)->low)) --last;
  if (first != values_.begin()) add_bucket(out, min(), min(), values_.front().mass);
  if (first != last) {
    const double low = first->low, high = (last - 1)->high;
    const std::vector<double> ends = low == high ? std::vector{low, high} : evenly(low, high, buckets);
    std::vector<double> masses(ends.size() - 1);
    const auto bucket_of = [&](double value) {
      const auto at = std::lower_bound(ends.begin() + 1, ends.end(), value);
      return std::min(static_cast<size_t>(at - ends.begin()) - 1, masses.size() - 1);
    };
    for (auto value = first; value != last; ++value) {
      const size_t from = bucket_of(value->low), to = bucket_of(value->high);
      for (size_t i = from; i <= to; ++i) {
        const double begin = std::max(value->low, ends[i]), end = std::min(value->high, ends[i + 1]);
        masses[i] += from == to ? value->mass : value->mass * ((end - begin) / (value->high - value->low));
      }
    }
    for (size_t i = 0; i < masses.size(); ++i) add_bucket(out, ends[i], ends[i + 1], masses[i]);
  }
  if (last != values_.end()) add_bucket(out, max(), max(), values_.back().mass);
  return out;
}

tfmd::Histogram ValueDistribution::quantiles(int buckets) const {
  tfmd::Histogram out;
  out.set_type(tfmd::Histogram::QUANTILES);
  for (int i = 0; i < buckets; ++i)
    add_bucket(out, quantile(i, buckets), quantile(i + 1, buckets), before_.back() / buckets);
  return out;
}

}  // namespace espalier
