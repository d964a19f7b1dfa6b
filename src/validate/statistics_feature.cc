#include <cmath>
#include <limits>

#include "format/utf8.h"
#include "validate/statistics_column.h"
#include "validate/statistics_histogram.h"

namespace espalier {
namespace {

// TensorFlow Data Validation's defaults.
constexpr int kBuckets = 10;
constexpr size_t kTopValues = 20, kRanks = 1000;

void add_custom(tfmd::FeatureNameStatistics& out, const char* name, double value) {
  auto& custom = *out.add_custom_stats();
  custom.set_name(name);
  custom.set_num(value);
}

std::string label_of(const TextCount& text) { return is_utf8(text.text) ? text.text : kNoUtf8; }

template <class Strings>
void fill_top(const std::vector<TextCount>& top, bool by_weight, Strings& out) {
  for (size_t i = 0; i < top.size(); ++i) {
    const double count = by_weight ? top[i].weight : static_cast<double>(top[i].count);
    const std::string label = label_of(top[i]);
    if (i < kTopValues) {
      auto& value = *out.add_top_values();
      value.set_value(label);
      value.set_frequency(count);
    }
    auto& bucket = *out.mutable_rank_histogram()->add_buckets();
    bucket.set_low_rank(i);
    bucket.set_high_rank(i);
    bucket.set_label(label);
    bucket.set_sample_count(count);
  }
}

}  // namespace

// How many values the rows have.
void ColumnStatistics::fill_lengths(tfmd::CommonStatistics& out) const {
  std::vector<ValueMass> several;
  uint64_t singles = filled_.count;
  if (lengths_) {
    for (const ValueRange& range : lengths_->ranges()) {
      several.push_back({range.low, range.high, static_cast<double>(range.count)});
      singles -= range.count;
    }
  }
  std::vector<ValueMass> all{{0, 0, static_cast<double>(empty_.count)}, {1, 1, static_cast<double>(singles)}};
  all.insert(all.end(), several.begin(), several.end());
  const ValueDistribution lengths(std::move(all));
  out.set_min_num_values(static_cast<uint64_t>(lengths.min()));
  out.set_max_num_values(static_cast<uint64_t>(lengths.max()));
  *out.mutable_num_values_histogram() = lengths.quantiles(kBuckets);
}

void ColumnStatistics::fill_common(const RowTotals& totals, tfmd::CommonStatistics& out) const {
  const uint64_t present = filled_.count + empty_.count, values = value_count();
  out.set_num_non_missing(present);
  out.set_num_missing(totals.rows - present);
  if (present > 0) {
    out.set_tot_num_values(values);
    out.set_avg_num_values(static_cast<float>(static_cast<double>(values) / static_cast<double>(present)));
    fill_lengths(out);
  }
  if (!totals.weighted) return;
  auto& weighted = *out.mutable_weighted_common_stats();
  const FixedWeight weight = filled_.weight + empty_.weight;
  const double value_weight = weight_value(filled_.weight + more_.weight);
  weighted.set_num_non_missing(weight_value(weight));
  weighted.set_num_missing(weight_value(totals.weight - weight));
  weighted.set_tot_num_values(value_weight);
  if (weight > 0) weighted.set_avg_num_values(value_weight / weight_value(weight));
}

// Infinities have no deviation, and those of both signs no mean.
Moments ColumnStatistics::with_infinities(Moments moments) const {
  if (lowest_.count == 0 && highest_.count == 0) return moments;
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return {lowest_.count && highest_.count ? none : highest_.count ? infinity : -infinity, none};
}

void ColumnStatistics::fill_numbers(tfmd::FeatureNameStatistics& feature) const {
  tfmd::NumericStatistics& out = *feature.mutable_num_stats();
  const auto add_histograms = [&](const ValueDistribution& all, auto& to) {
    for (const bool standard : {true, false}) {
      auto& histogram = *to.add_histograms();
      if (!all.empty()) histogram = standard ? all.standard(kBuckets) : all.quantiles(kBuckets);
      histogram.set_type(standard ? tfmd::Histogram::STANDARD : tfmd::Histogram::QUANTILES);
      histogram.set_num_nan(nan_.count);
    }
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<ValueMass> counts{{-kInfinity, -kInfinity, static_cast<double>(lowest_.count)}};
  std::vector<ValueMass> weights{{-kInfinity, -kInfinity, weight_value(lowest_.weight)}};
  for (const ValueRange& range : numbers_->ranges()) {
    counts.push_back({range.low, range.high, static_cast<double>(range.count)});
    if (weighted_) weights.push_back({range.low, range.high, weight_value(range.weight)});
  }
  counts.push_back({kInfinity, kInfinity, static_cast<double>(highest_.count)});
  weights.push_back({kInfinity, kInfinity, weight_value(highest_.weight)});
  const ValueDistribution all(std::move(counts)), weighted(std::move(weights));
  if (filled_.count > 0) add_histograms(all, out);
  if (all.empty()) return;
  const Moments moments = with_infinities(numbers_->moments());
  out.set_mean(moments.mean);
  out.set_std_dev(std::sqrt(moments.variance));
  out.set_num_zeros(zeros_.count);
  out.set_min(all.min());
  out.set_median(all.median());
  out.set_max(all.max());
  if (!numbers_->exact()) add_custom(feature, kQuantileRankError, all.rank_error());
  if (!weighted_) return;
  auto& to = *out.mutable_weighted_numeric_stats();
  if (weighted.empty()) return;
  const Moments weighed = with_infinities(numbers_->weighted_moments());
  to.set_mean(weighed.mean);
  to.set_std_dev(std::sqrt(weighed.variance));
  to.set_median(weighted.median());
  add_histograms(weighted, to);
}

void ColumnStatistics::fill_texts(tfmd::FeatureNameStatistics& feature) const {
  tfmd::StringStatistics& out = *feature.mutable_string_stats();
  if (filled_.count == 0) return;
  out.set_avg_length(static_cast<float>(static_cast<double>(bytes_) / static_cast<double>(value_count())));
  out.set_invalid_utf8_count(invalid_);
  if (!texts_) return;
  out.set_unique(texts_->distinct());
  const std::vector<TextCount> top = texts_->top(kRanks, false);
  fill_top(top, false, out);
  if (weighted_) fill_top(texts_->top(kRanks, true), true, *out.mutable_weighted_string_stats());
  if (texts_->exact()) return;
  add_custom(feature, kUniqueError, texts_->distinct_error());
  uint64_t missed = 0;
  for (size_t i = 0; i < std::min(top.size(), kTopValues); ++i) missed = std::max(missed, top[i].missed);
  add_custom(feature, kTopValuesMissed, static_cast<double>(missed));
  add_custom(feature, kUnlistedMost, static_cast<double>(texts_->forgotten()));
}

tfmd::FeatureNameStatistics ColumnStatistics::feature(const std::string& name,
                                                      const RowTotals& totals) const {
  tfmd::FeatureNameStatistics out;
  out.mutable_path()->add_step(name);
  tfmd::CommonStatistics common;
  fill_common(totals, common);
  if (type_ == CellType::kInt || type_ == CellType::kFloat) {
    out.set_type(type_ == CellType::kInt ? tfmd::FeatureNameStatistics::INT
                                         : tfmd::FeatureNameStatistics::FLOAT);
    fill_numbers(out);
    *out.mutable_num_stats()->mutable_common_stats() = std::move(common);
  } else {
    out.set_type(tfmd::FeatureNameStatistics::STRING);
    fill_texts(out);
    *out.mutable_string_stats()->mutable_common_stats() = std::move(common);
  }
  if (times_ && invalid_ == 0) times_->fill(value_count(), out);
  return out;
}

}  // namespace espalier
