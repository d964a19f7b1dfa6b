#include "validate/distance.h"

#include <array>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace espalier {
namespace {

tfmd::Histogram histogram_of(const std::vector<std::array<double, 3>>& buckets, uint64_t missing = 0) {
  tfmd::Histogram out;
  out.set_num_nan(missing);
  for (const auto& [low, high, count] : buckets) {
    tfmd::Histogram::Bucket& bucket = *out.add_buckets();
    bucket.set_low_value(low);
    bucket.set_high_value(high);
    bucket.set_sample_count(count);
  }
  return out;
}

double divergence_of(const std::vector<double>& p, const std::vector<double>& q) {
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double m = (p[i] + q[i]) / 2;
    if (p[i] > 0) sum += p[i] / 2 * std::log2(p[i] / m);
    if (q[i] > 0) sum += q[i] / 2 * std::log2(q[i] / m);
  }
  return sum;
}

TEST(Distance, OfTextsByHand) {
  const CountsOfTexts a = {{"x", 5}, {"y", 5}}, b = {{"x", 3}, {"z", 7}};
  EXPECT_DOUBLE_EQ(l_infinity(a, b).distance, 0.7);
  EXPECT_EQ(l_infinity(a, b).value, "z");
  EXPECT_DOUBLE_EQ(normalized_absolute_difference(a, b).distance, 0.35);
  EXPECT_NEAR(jensen_shannon(a, b).value(), divergence_of({0.5, 0.5, 0}, {0.3, 0, 0.7}), 1e-15);
  EXPECT_EQ(l_infinity({}, {}).distance, 0);
  EXPECT_EQ(jensen_shannon(a, CountsOfTexts()), std::nullopt);
  EXPECT_EQ(jensen_shannon(a, CountsOfTexts{{"x", 0}}), std::nullopt);
}

TEST(Distance, OfHistogramsByHand) {
  const tfmd::Histogram a = histogram_of({{0, 1, 4}, {1, 3, 6}}), b = histogram_of({{0, 2, 5}, {2, 4, 5}});
  EXPECT_NEAR(jensen_shannon(a, b).value(), divergence_of({0.4, 0.3, 0.3, 0}, {0.25, 0.25, 0.25, 0.25}),
              1e-15);
  // Points equal points; infinities and nan equal nothing.
  const tfmd::Histogram c = histogram_of({{2, 2, 1}, {-INFINITY, 0, 1}}, 2),
                        d = histogram_of({{2, 2, 3}, {0, INFINITY, 1}}, 4);
  EXPECT_NEAR(jensen_shannon(c, d).value(), divergence_of({0.25, 0.25, 0, 0.5, 0}, {0.375, 0, 0.125, 0, 0.5}),
              1e-15);
}

// A shame, and TensorFlow Data Validation's number.
TEST(Distance, ForgetsNanWhereRangesAreCut) {
  const auto distance = [](double edge, uint64_t first, uint64_t second) {
    return jensen_shannon(histogram_of({{0, 1, 5}, {1, 2, 5}}, first),
                          histogram_of({{0, 1, 5}, {1, edge, 5}}, second))
        .value();
  };
  EXPECT_NEAR(distance(2, 5, 2), 0.2566929551213334, 1e-15);
  EXPECT_EQ(distance(3, 5, 2), distance(3, 0, 0));
}

TEST(Distance, NoneOfEmptyOrBrokenHistograms) {
  const tfmd::Histogram good = histogram_of({{0, 1, 4}});
  EXPECT_EQ(jensen_shannon(good, histogram_of({})), std::nullopt);
  EXPECT_EQ(jensen_shannon(good, histogram_of({{0, 1, 0}})), std::nullopt);
  EXPECT_EQ(jensen_shannon(good, histogram_of({{1, 0, 4}})), std::nullopt);
  EXPECT_EQ(jensen_shannon(good, histogram_of({{NAN, 1, 4}})), std::nullopt);
}

// Cutting a range in two at the share of its width changes nothing, and neither does the order of the two.
TEST(Distance, IsTheSameHoweverRangesAreCut) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> any(0.1, 1);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::array<double, 3>> first, second, cut;
    for (double low = 0; low < 5; low += 1) first.push_back({low, low + 1, any(random)});
    for (double low = 0.5; low < 6; low += 1.5) second.push_back({low, low + 1.5, any(random)});
    for (const auto& [low, high, count] : first) {
      const double share = any(random) / 2, middle = low + (high - low) * share;
      cut.push_back({low, middle, count * share});
      cut.push_back({middle, high, count * (1 - share)});
    }
    const double whole = jensen_shannon(histogram_of(first), histogram_of(second)).value();
    EXPECT_NEAR(jensen_shannon(histogram_of(cut), histogram_of(second)).value(), whole, 1e-12);
    EXPECT_NEAR(jensen_shannon(histogram_of(second), histogram_of(first)).value(), whole, 1e-12);
    EXPECT_NEAR(jensen_shannon(histogram_of(first), histogram_of(cut)).value(), 0, 1e-12);
  }
}

}  // namespace
}  // namespace espalier
