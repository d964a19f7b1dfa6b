// Statistics as the rules of schemas ask for them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/feature_path.h"

namespace espalier {

// Of several data sets in one file the one of all rows, "All Examples". Raises FormatError[statistics.slices]
// where there is none.
const tfmd::DatasetFeatureStatistics& all_examples(const tfmd::DatasetFeatureStatisticsList& list);

// Whether all features have weighted statistics, which then count in place of the others.
bool has_weights(const tfmd::DatasetFeatureStatistics& statistics);

class FeatureView {
 public:
  FeatureView(const tfmd::FeatureNameStatistics& data, double examples, bool weighted, FeaturePath path)
      : data_(&data), examples_(examples), weighted_(weighted), path_(std::move(path)) {}

  const FeaturePath& path() const { return path_; }
  const tfmd::FeatureNameStatistics& data() const { return *data_; }
  tfmd::FeatureNameStatistics::Type type() const { return data_->type(); }
  // What a schema calls it: texts are BYTES.
  tfmd::FeatureType schema_type() const;
  bool is_text() const;  // STRING or BYTES

  double present() const;                          // rows with it, or their weight
  double missing() const;                          // and without
  std::optional<double> fraction_present() const;  // none without rows
  double values() const;                           // in all rows

  // Values in a row at each level of nesting, at least one.
  struct Valency {
    int64_t least = 0, most = 0;
  };
  std::vector<Valency> valencies() const;
  std::vector<double> missing_by_level() const;

  // Texts with their counts, those that statistics hold.
  std::map<std::string, double> counts() const;
  bool has_broken_text() const { return data_->string_stats().invalid_utf8_count() > 0; }
  std::optional<int64_t> unique() const;

  const tfmd::NumericStatistics& numbers() const { return data_->num_stats(); }
  double mean() const;
  double deviation() const;
  double zeros() const;  // their share of the values, which are not weighted
  // The first of that type, or null.
  const tfmd::Histogram* histogram(tfmd::Histogram::HistogramType type) const;
  const tfmd::CustomStatistic* custom(std::string_view name) const;

 private:
  const tfmd::CommonStatistics& common() const;

  const tfmd::FeatureNameStatistics* data_;
  double examples_;
  bool weighted_;
  FeaturePath path_;
};

class DatasetView {
 public:
  // Keeps a reference. Features within another are those of its path, or of its name and a point. Raises
  // FormatError[statistics.names] where some features have names and others paths,
  // FormatError[statistics.twice] for two of one path.
  DatasetView(const tfmd::DatasetFeatureStatistics& data, bool weighted);

  double examples() const;
  const std::vector<FeatureView>& features() const { return features_; }  // in the order of the statistics
  const FeatureView* find(const FeaturePath& path) const;
  // Features within no other, in the order of the statistics; those within one, in that of their names.
  std::vector<const FeatureView*> roots() const;
  std::vector<const FeatureView*> children(const FeaturePath& path) const;

 private:
  std::vector<FeaturePath> paths_of_names() const;

  const tfmd::DatasetFeatureStatistics* data_;
  bool weighted_;
  std::vector<FeatureView> features_;
  std::map<FeaturePath, size_t> places_;
};

}  // namespace espalier
