// Holds statistics against those of TensorFlow Data Validation in golden files.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "validate/metadata_files.h"

namespace espalier {

inline std::string unhex(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i += 2)
    out += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return out;
}

inline tfmd::DatasetFeatureStatisticsList statistics_in(const nlohmann::json& golden) {
  tfmd::DatasetFeatureStatisticsList out;
  parse_metadata(unhex(golden.at("statistics").get<std::string>()), out);
  return out;
}

inline void expect_near(double ours, double theirs, double bound, const std::string& what) {
  if (std::isnan(theirs)) {
    EXPECT_TRUE(std::isnan(ours)) << what;
    return;
  }
  EXPECT_NEAR(ours, theirs, bound * std::abs(theirs) + 1e-12) << what;
}

inline void expect_like(const tfmd::CommonStatistics& ours, const tfmd::CommonStatistics& theirs,
                        const std::string& what) {
  tfmd::CommonStatistics a = ours, b = theirs;
  // Where a quantile falls between two numbers, the histogram may have either.
  a.clear_num_values_histogram();
  b.clear_num_values_histogram();
  EXPECT_EQ(a.ShortDebugString(), b.ShortDebugString()) << what;
}

// The share of sorted `values` that are below, and that are not above.
inline std::pair<double, double> ranks_of(double value, const std::vector<double>& values) {
  const auto [low, high] = std::equal_range(values.begin(), values.end(), value);
  const auto n = static_cast<double>(values.size());
  return {static_cast<double>(low - values.begin()) / n, static_cast<double>(high - values.begin()) / n};
}

// Their ranks are within 0.01 of each other.
inline void expect_rank(double ours, double theirs, const std::vector<double>& values,
                        const std::string& what) {
  if (values.empty()) {
    EXPECT_EQ(ours, theirs) << what;
    return;
  }
  const auto [low, high] = ranks_of(ours, values);
  const auto [from, to] = ranks_of(theirs, values);
  const double slack = 0.01 + 1 / static_cast<double>(values.size());
  EXPECT_TRUE(low <= to + slack && from <= high + slack) << what << ": " << ours << " for " << theirs;
}

inline void expect_like(const tfmd::NumericStatistics& ours, const tfmd::NumericStatistics& theirs,
                        const std::vector<double>& values, const std::string& what) {
  expect_like(ours.common_stats(), theirs.common_stats(), what);
  EXPECT_EQ(ours.num_zeros(), theirs.num_zeros()) << what;
  EXPECT_EQ(ours.min(), theirs.min()) << what;
  EXPECT_EQ(ours.max(), theirs.max()) << what;
  expect_near(ours.mean(), theirs.mean(), 1e-9, what + " mean");
  expect_near(ours.std_dev(), theirs.std_dev(), 1e-9, what + " deviation");
  expect_near(ours.weighted_numeric_stats().mean(), theirs.weighted_numeric_stats().mean(), 1e-9, what);
  expect_near(ours.weighted_numeric_stats().std_dev(), theirs.weighted_numeric_stats().std_dev(), 1e-9, what);
  expect_rank(ours.median(), theirs.median(), values, what + " median");
  ASSERT_EQ(ours.histograms_size(), theirs.histograms_size()) << what;
  for (int h = 0; h < ours.histograms_size(); ++h) {
    const tfmd::Histogram& mine = ours.histograms(h);
    const tfmd::Histogram& other = theirs.histograms(h);
    EXPECT_EQ(mine.type(), other.type());
    EXPECT_EQ(mine.num_nan(), other.num_nan()) << what;
    ASSERT_EQ(mine.buckets_size(), other.buckets_size()) << what;
    double total = 0, their_total = 0;
    for (int i = 0; i < mine.buckets_size(); ++i) {
      total += mine.buckets(i).sample_count();
      their_total += other.buckets(i).sample_count();
      if (h == 0)
        expect_near(mine.buckets(i).high_value(), other.buckets(i).high_value(), 1e-12, what);
      else
        expect_rank(mine.buckets(i).high_value(), other.buckets(i).high_value(), values,
                    cat(what, " quantile ", i));
    }
    EXPECT_NEAR(total, their_total, 1e-9 * total) << what;
  }
}

inline void expect_like(const tfmd::StringStatistics& ours, const tfmd::StringStatistics& theirs,
                        const std::string& what) {
  expect_like(ours.common_stats(), theirs.common_stats(), what);
  EXPECT_EQ(ours.unique(), theirs.unique()) << what;
  EXPECT_FLOAT_EQ(ours.avg_length(), theirs.avg_length()) << what;
  EXPECT_EQ(ours.invalid_utf8_count(), theirs.invalid_utf8_count()) << what;
  ASSERT_EQ(ours.top_values_size(), theirs.top_values_size()) << what;
  for (int i = 0; i < ours.top_values_size(); ++i)
    EXPECT_EQ(ours.top_values(i).ShortDebugString(), theirs.top_values(i).ShortDebugString()) << what;
  tfmd::StringStatistics mine = ours;
  const int ranks = theirs.rank_histogram().buckets_size();
  auto& buckets = *mine.mutable_rank_histogram()->mutable_buckets();
  if (ranks <= 40 && buckets.size() > ranks) buckets.DeleteSubrange(ranks, buckets.size() - ranks);
  EXPECT_EQ(mine.rank_histogram().ShortDebugString(), theirs.rank_histogram().ShortDebugString()) << what;
  EXPECT_EQ(ours.weighted_string_stats().ShortDebugString(),
            theirs.weighted_string_stats().ShortDebugString())
      << what;
}

// `values`: all of a number's, sorted.
inline void expect_like(const tfmd::FeatureNameStatistics& ours, const tfmd::FeatureNameStatistics& theirs,
                        const std::vector<double>& values, const std::string& what) {
  EXPECT_EQ(ours.path().step(0), theirs.path().step(0));
  EXPECT_EQ(ours.type(), theirs.type()) << what;
  ASSERT_EQ(ours.stats_case(), theirs.stats_case()) << what;
  if (ours.has_num_stats())
    expect_like(ours.num_stats(), theirs.num_stats(), values, what);
  else
    expect_like(ours.string_stats(), theirs.string_stats(), what);
}

}  // namespace espalier
