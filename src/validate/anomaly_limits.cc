#include "base/format.h"
#include "base/shortest.h"
#include "validate/anomaly_rules.h"
#include "validate/schema_tags.h"

namespace espalier {
namespace {

// Tags have the limits: min_mean, max_mean.
void check(const char* what, const std::string& key, double value, const NumberLimits& limits,
           tfmd::Feature& feature, AnomalyReasons& out) {
  const bool low = limits.least && value < *limits.least, high = limits.most && value > *limits.most;
  if (!low && !high) return;
  const double limit = low ? *limits.least : *limits.most;
  out.push_back({tfmd::AnomalyInfo::CUSTOM_VALIDATION, cat(what, low ? " too small" : " too large"),
                 cat(what, " is ", six_digits(value), ", ", low ? "below " : "above ", six_digits(limit),
                     "(upto six significant digits)"),
                 six_digits(value), cat(low ? ">= " : "<= ", six_digits(limit))});
  set_tag(feature, cat(low ? "min_" : "max_", key), shortest(value));
}

}  // namespace

AnomalyReasons check_limits(const FeatureView& view, tfmd::Feature& feature) {
  const FeatureTags tags = tags_of(feature);
  if (!view.data().has_num_stats() || view.values() == 0) return {};
  AnomalyReasons out;
  check("Mean", "mean", view.mean(), tags.mean, feature, out);
  check("Standard deviation", "deviation", view.deviation(), tags.deviation, feature, out);
  check("Share of zeros", "zeros", view.zeros(), tags.zeros, feature, out);
  return out;
}

}  // namespace espalier
