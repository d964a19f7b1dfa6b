#include "validate/distance.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace espalier {
namespace {

double sum_of(const CountsOfTexts& counts) {
  double sum = 0;
  for (const auto& [value, count] : counts) sum += count;
  return sum;
}

ValueDistance largest_difference(const CountsOfTexts& a, double scale_a, const CountsOfTexts& b,
                                 double scale_b) {
  CountsOfTexts difference;
  for (const auto& [value, count] : a) difference[value] = scale_a == 0 ? count : count / scale_a;
  for (const auto& [value, count] : b) difference[value] -= scale_b == 0 ? count : count / scale_b;
  ValueDistance out;
  for (const auto& [value, gap] : difference) {
    if (std::abs(gap) >= out.distance) out = {value, std::abs(gap)};
  }
  return out;
}

// Of two distributions over the same places.
double divergence(const std::vector<double>& p, const std::vector<double>& q) {
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double middle = (p[i] + q[i]) / 2;
    if (p[i] > 0) sum += p[i] * std::log2(p[i] / middle);
    if (q[i] > 0) sum += q[i] * std::log2(q[i] / middle);
  }
  return std::min(sum / 2, 1.0);
}

// Makes shares of counts; false where they sum to nothing.
bool normalize(std::vector<double>& counts) {
  double sum = 0;
  for (const double count : counts) sum += count;
  if (!(sum > 0)) return false;
  for (double& count : counts) count /= sum;
  return true;
}

struct Masses {
  std::vector<tfmd::Histogram::Bucket> ranges = {};
  std::map<double, double> points = {};
  double infinite = 0, missing = 0;
};

// None where edges do not rise or are no numbers.
std::optional<Masses> masses_of(const tfmd::Histogram& histogram) {
  Masses out{.missing = static_cast<double>(histogram.num_nan())};
  for (const tfmd::Histogram::Bucket& bucket : histogram.buckets()) {
    if (!(bucket.low_value() <= bucket.high_value())) return std::nullopt;
    if (!std::isfinite(bucket.low_value()) || !std::isfinite(bucket.high_value()))
      out.infinite += bucket.sample_count();
    else if (bucket.low_value() == bucket.high_value())
      out.points[bucket.low_value()] += bucket.sample_count();
    else
      out.ranges.push_back(bucket);
  }
  return out;
}

std::vector<double> edges_of(const Masses& a, const Masses& b) {
  std::vector<double> out;
  for (const Masses* each : {&a, &b}) {
    for (const auto& bucket : each->ranges) out.insert(out.end(), {bucket.low_value(), bucket.high_value()});
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// The counts between one edge and the next.
std::vector<double> spread(const Masses& masses, const std::vector<double>& edges) {
  std::vector<double> out(edges.empty() ? 0 : edges.size() - 1);
  for (const tfmd::Histogram::Bucket& bucket : masses.ranges) {
    const double width = bucket.high_value() - bucket.low_value();
    auto place = static_cast<size_t>(std::ranges::lower_bound(edges, bucket.low_value()) - edges.begin());
    for (; edges[place] < bucket.high_value(); ++place)
      out[place] += (edges[place + 1] - edges[place]) / width * bucket.sample_count();
  }
  return out;
}

void append_points(const Masses& a, const Masses& b, std::vector<double>& p, std::vector<double>& q) {
  std::map<double, std::pair<double, double>> both;
  for (const auto& [point, count] : a.points) both[point].first = count;
  for (const auto& [point, count] : b.points) both[point].second = count;
  for (const auto& [point, counts] : both) {
    p.push_back(counts.first);
    q.push_back(counts.second);
  }
}

}  // namespace

ValueDistance l_infinity(const CountsOfTexts& a, const CountsOfTexts& b) {
  return largest_difference(a, sum_of(a), b, sum_of(b));
}

ValueDistance normalized_absolute_difference(const CountsOfTexts& a, const CountsOfTexts& b) {
  const double sum = sum_of(a) + sum_of(b);
  return largest_difference(a, sum, b, sum);
}

std::optional<double> jensen_shannon(const CountsOfTexts& a, const CountsOfTexts& b) {
  const auto positive = [](const auto& each) { return each.second > 0; };
  if (a.empty() || b.empty() || !std::ranges::all_of(a, positive) || !std::ranges::all_of(b, positive))
    return std::nullopt;
  std::map<std::string, std::pair<double, double>> both;
  for (const auto& [value, count] : a) both[value].first = count;
  for (const auto& [value, count] : b) both[value].second = count;
  std::vector<double> p, q;
  for (const auto& [value, counts] : both) {
    p.push_back(counts.first);
    q.push_back(counts.second);
  }
  normalize(p);
  normalize(q);
  return divergence(p, q);
}

std::optional<double> jensen_shannon(const tfmd::Histogram& a, const tfmd::Histogram& b) {
  const std::optional<Masses> first = masses_of(a), second = masses_of(b);
  if (!first || !second) return std::nullopt;
  const std::vector<double> edges = edges_of(*first, *second);
  std::vector<double> p = spread(*first, edges), q = spread(*second, edges);
  append_points(*first, *second, p, q);
  // Infinities and nan of one equal nothing of the other. TensorFlow Data Validation forgets nan where it has
  // to cut ranges.
  const bool cut = edges_of(*first, *first) != edges_of(*second, *second);
  for (const auto& [mass, other] : std::vector<std::pair<double, double>>{{first->infinite, 0},
                                                                          {0, second->infinite},
                                                                          {cut ? 0 : first->missing, 0},
                                                                          {0, cut ? 0 : second->missing}}) {
    p.push_back(mass);
    q.push_back(other);
  }
  if (!normalize(p) || !normalize(q)) return std::nullopt;
  return divergence(p, q);
}

std::optional<double> jensen_shannon(const FeatureView& a, const FeatureView& b,
                                     tfmd::Histogram::HistogramType type) {
  const CountsOfTexts texts_a = a.counts(), texts_b = b.counts();
  if (!texts_a.empty() && !texts_b.empty()) return jensen_shannon(texts_a, texts_b);
  const tfmd::Histogram* const first = a.histogram(type);
  const tfmd::Histogram* const second = b.histogram(type);
  return first && second ? jensen_shannon(*first, *second) : std::nullopt;
}

}  // namespace espalier
