#include "base/format.h"
#include "validate/anomaly_rules.h"

namespace espalier {
namespace {

using Info = tfmd::AnomalyInfo;

void check_missing_indices(const tfmd::RankHistogram& indices, AnomalyReasons& out) {
  for (const auto& bucket : indices.buckets()) {
    const auto count = whole_part(bucket.sample_count());
    if (count == 0) continue;
    out.push_back({Info::SPARSE_FEATURE_MISSING_INDEX, "Missing index feature",
                   cat("Found ", count, " examples missing index feature: ", bucket.label()),
                   cat(bucket.label(), " missing in ", count), "none missing"});
  }
}

void check_lengths(const tfmd::CustomStatistic& lengths, AnomalyReasons& out) {
  for (const auto& bucket : lengths.rank_histogram().buckets()) {
    const auto difference = whole_part(bucket.sample_count());
    if (bucket.sample_count() == 0) continue;
    out.push_back({Info::SPARSE_FEATURE_LENGTH_MISMATCH, "Length mismatch between value and index feature",
                   cat("Mismatch between index feature: ", bucket.label(), " and value column, with ",
                       lengths.name(), " = ", difference),
                   cat(bucket.label(), " off by ", difference), "equal lengths"});
  }
}

AnomalyReason missing_part(Info::Type type, const char* what, double count, const char* end) {
  return {type, cat("Missing ", what, " feature"),
          cat("Found ", six_digits(count), " examples missing ", what, " feature", end),
          cat("missing in ", six_digits(count)), "none missing"};
}

}  // namespace

AnomalyReasons check_sparse(const FeatureView& view, tfmd::SparseFeature& feature) {
  AnomalyReasons out;
  for (const tfmd::CustomStatistic& each : view.data().custom_stats()) {
    if (each.name() == "missing_value" && each.num() != 0)
      out.push_back(missing_part(Info::SPARSE_FEATURE_MISSING_VALUE, "value", each.num(), ""));
    else if (each.name() == "missing_index")
      check_missing_indices(each.rank_histogram(), out);
    else if (each.name() == "max_length_diff" || each.name() == "min_length_diff")
      check_lengths(each, out);
  }
  if (!out.empty()) feature.set_lifecycle_stage(tfmd::DEPRECATED);
  return out;
}

AnomalyReasons check_weighted(const FeatureView& view, tfmd::WeightedFeature& feature) {
  AnomalyReasons out;
  int64_t shortest = 0, longest = 0;
  for (const tfmd::CustomStatistic& each : view.data().custom_stats()) {
    if (each.num() == 0) continue;
    if (each.name() == "missing_value")
      out.push_back(missing_part(Info::WEIGHTED_FEATURE_MISSING_VALUE, "value", each.num(), "."));
    else if (each.name() == "missing_weight")
      out.push_back(missing_part(Info::WEIGHTED_FEATURE_MISSING_WEIGHT, "weight", each.num(), "."));
    else if (each.name() == "min_weight_length_diff")
      shortest = whole_part(each.num());
    else if (each.name() == "max_weight_length_diff")
      longest = whole_part(each.num());
  }
  if (shortest != 0 || longest != 0)
    out.push_back({Info::WEIGHTED_FEATURE_LENGTH_MISMATCH, "Length mismatch between value and weight feature",
                   cat("Mismatch between weight and value feature with min_weight_length_diff = ", shortest,
                       " and max_weight_length_diff = ", longest, "."),
                   cat(shortest, " to ", longest), "equal lengths"});
  if (!out.empty()) feature.set_lifecycle_stage(tfmd::DEPRECATED);
  return out;
}

}  // namespace espalier
