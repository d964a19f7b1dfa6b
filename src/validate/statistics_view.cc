#include "validate/statistics_view.h"

#include <algorithm>

#include "base/format.h"
#include "base/shortened.h"
#include "espalier/error.h"

namespace espalier {
namespace {

using Statistics = tfmd::FeatureNameStatistics;

bool is_empty(const Statistics& feature) {
  return feature.stats_case() == Statistics::STATS_NOT_SET && feature.custom_stats_size() == 0;
}

const tfmd::CommonStatistics& common_of(const Statistics& feature) {
  switch (feature.stats_case()) {
    case Statistics::kNumStats:
      return feature.num_stats().common_stats();
    case Statistics::kStringStats:
      return feature.string_stats().common_stats();
    case Statistics::kBytesStats:
      return feature.bytes_stats().common_stats();
    case Statistics::kStructStats:
      return feature.struct_stats().common_stats();
    case Statistics::STATS_NOT_SET:
      break;
  }
  return tfmd::CommonStatistics::default_instance();
}

}  // namespace

const tfmd::DatasetFeatureStatistics& all_examples(const tfmd::DatasetFeatureStatisticsList& list) {
  if (list.datasets_size() == 1) return list.datasets(0);
  for (const tfmd::DatasetFeatureStatistics& dataset : list.datasets()) {
    if (dataset.name() == "All Examples") return dataset;
  }
  throw FormatError("statistics.slices", cat("of ", list.datasets_size(),
                                             " data sets in the statistics, none is \"All Examples\""));
}

bool has_weights(const tfmd::DatasetFeatureStatistics& statistics) {
  if (statistics.weighted_num_examples() == 0) return false;
  return std::ranges::all_of(statistics.features(), [](const Statistics& feature) {
    const tfmd::CommonStatistics& common = common_of(feature);
    return feature.stats_case() == Statistics::STATS_NOT_SET ||
           (common.has_weighted_common_stats() &&
            common.presence_and_valency_stats_size() == common.weighted_presence_and_valency_stats_size());
  });
}

const tfmd::CommonStatistics& FeatureView::common() const { return common_of(*data_); }

tfmd::FeatureType FeatureView::schema_type() const {
  switch (type()) {
    case Statistics::INT:
      return tfmd::INT;
    case Statistics::FLOAT:
      return tfmd::FLOAT;
    case Statistics::STRING:
    case Statistics::BYTES:
      return tfmd::BYTES;
    case Statistics::STRUCT:
      return tfmd::STRUCT;
    default:
      return tfmd::TYPE_UNKNOWN;
  }
}

bool FeatureView::is_text() const { return type() == Statistics::STRING || type() == Statistics::BYTES; }

double FeatureView::present() const {
  return weighted_ ? common().weighted_common_stats().num_non_missing()
                   : static_cast<double>(common().num_non_missing());
}

double FeatureView::missing() const {
  return weighted_ ? common().weighted_common_stats().num_missing()
                   : static_cast<double>(common().num_missing());
}

std::optional<double> FeatureView::fraction_present() const {
  if (examples_ <= 0) return std::nullopt;
  return missing() == 0 ? 1.0 : present() / examples_;
}

double FeatureView::values() const {
  if (weighted_) return common().weighted_common_stats().tot_num_values();
  if (common().tot_num_values() != 0) return static_cast<double>(common().tot_num_values());
  // Older statistics have no total.
  return static_cast<double>(common().num_non_missing()) * common().avg_num_values();
}

std::vector<FeatureView::Valency> FeatureView::valencies() const {
  std::vector<Valency> out;
  const auto add = [&](const auto& counts) {
    out.push_back(
        {static_cast<int64_t>(counts.min_num_values()), static_cast<int64_t>(counts.max_num_values())});
  };
  for (const auto& level : common().presence_and_valency_stats()) add(level);
  if (out.empty()) add(common());
  return out;
}

std::vector<double> FeatureView::missing_by_level() const {
  std::vector<double> out;
  if (weighted_) {
    for (const auto& level : common().weighted_presence_and_valency_stats())
      out.push_back(level.num_missing());
  } else {
    for (const auto& level : common().presence_and_valency_stats())
      out.push_back(static_cast<double>(level.num_missing()));
  }
  if (out.empty()) out.push_back(missing());
  return out;
}

std::map<std::string, double> FeatureView::counts() const {
  const tfmd::StringStatistics& texts = data_->string_stats();
  const tfmd::RankHistogram& ranks =
      weighted_ ? texts.weighted_string_stats().rank_histogram() : texts.rank_histogram();
  std::map<std::string, double> out;
  for (const auto& bucket : ranks.buckets()) out.emplace(bucket.label(), bucket.sample_count());
  return out;
}

std::optional<int64_t> FeatureView::unique() const {
  if (!data_->has_string_stats()) return std::nullopt;
  return static_cast<int64_t>(data_->string_stats().unique());
}

double FeatureView::mean() const {
  return weighted_ ? numbers().weighted_numeric_stats().mean() : numbers().mean();
}
double FeatureView::deviation() const {
  return weighted_ ? numbers().weighted_numeric_stats().std_dev() : numbers().std_dev();
}
double FeatureView::zeros() const {
  const auto values = static_cast<double>(common().tot_num_values());
  return values == 0 ? 0 : static_cast<double>(numbers().num_zeros()) / values;
}

const tfmd::Histogram* FeatureView::histogram(tfmd::Histogram::HistogramType type) const {
  const auto& all = weighted_ ? numbers().weighted_numeric_stats().histograms() : numbers().histograms();
  const auto found =
      std::ranges::find_if(all, [&](const tfmd::Histogram& each) { return each.type() == type; });
  return found == all.end() ? nullptr : &*found;
}

const tfmd::CustomStatistic* FeatureView::custom(std::string_view name) const {
  const auto& all = data_->custom_stats();
  const auto found =
      std::ranges::find_if(all, [&](const tfmd::CustomStatistic& each) { return each.name() == name; });
  return found == all.end() ? nullptr : &*found;
}

DatasetView::DatasetView(const tfmd::DatasetFeatureStatistics& data, bool weighted)
    : data_(&data), weighted_(weighted) {
  const auto with_paths = std::ranges::count_if(data.features(), &Statistics::has_path);
  if (with_paths != 0 && with_paths != data.features_size())
    throw FormatError("statistics.names", cat(with_paths, " of ", data.features_size(),
                                              " features in the statistics have paths, the others names"));
  const std::vector<FeaturePath> of_names = with_paths == 0 ? paths_of_names() : std::vector<FeaturePath>();
  for (int i = 0; i < data.features_size(); ++i) {
    const Statistics& feature = data.features(i);
    if (is_empty(feature)) continue;
    const auto& steps = feature.path().step();
    const FeaturePath path =
        with_paths == 0 ? of_names[static_cast<size_t>(i)] : FeaturePath(steps.begin(), steps.end());
    if (path.empty() || !places_.emplace(path, features_.size()).second)
      throw FormatError("statistics.twice", cat("the statistics have feature \"", shortened(path_text(path)),
                                                "\" twice, or without a step"));
    features_.emplace_back(feature, examples(), weighted, path);
  }
}

// In the order of names, a feature's name stands behind those of the features that it is within.
std::vector<FeaturePath> DatasetView::paths_of_names() const {
  std::vector<int> order;
  for (int i = 0; i < data_->features_size(); ++i) order.push_back(i);
  const auto name = [&](int i) -> const std::string& { return data_->features(i).name(); };
  std::ranges::stable_sort(order, [&](int a, int b) { return name(a) < name(b); });
  std::vector<FeaturePath> out(order.size());
  std::vector<int> around;
  for (const int i : order) {
    while (!around.empty() && !name(i).starts_with(name(around.back()) + ".")) around.pop_back();
    FeaturePath& path = out[static_cast<size_t>(i)];
    if (around.empty())
      path = {name(i)};
    else
      path =
          child_of(out[static_cast<size_t>(around.back())], name(i).substr(name(around.back()).size() + 1));
    if (data_->features(i).type() == Statistics::STRUCT) around.push_back(i);
  }
  return out;
}

double DatasetView::examples() const {
  return weighted_ ? data_->weighted_num_examples() : static_cast<double>(data_->num_examples());
}

const FeatureView* DatasetView::find(const FeaturePath& path) const {
  const auto found = places_.find(path);
  return found == places_.end() ? nullptr : &features_[found->second];
}

std::vector<const FeatureView*> DatasetView::roots() const {
  std::vector<const FeatureView*> out;
  for (const FeatureView& feature : features_) {
    const FeaturePath parent(feature.path().begin(), feature.path().end() - 1);
    if (parent.empty() || !find(parent)) out.push_back(&feature);
  }
  return out;
}

std::vector<const FeatureView*> DatasetView::children(const FeaturePath& path) const {
  std::vector<const FeatureView*> out;
  for (auto next = places_.upper_bound(path); next != places_.end(); ++next) {
    const FeaturePath& other = next->first;
    if (other.size() <= path.size() || !std::equal(path.begin(), path.end(), other.begin())) break;
    if (other.size() == path.size() + 1) out.push_back(&features_[next->second]);
  }
  return out;
}

}  // namespace espalier
