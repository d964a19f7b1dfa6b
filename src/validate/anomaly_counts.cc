#include <algorithm>
#include <cstdio>

#include "base/format.h"
#include "validate/anomaly_rules.h"
#include "validate/infer.h"

namespace espalier {
namespace {

using Info = tfmd::AnomalyInfo;

AnomalyReason nestedness(const char* description, size_t found, int wanted) {
  return {Info::VALUE_NESTEDNESS_MISMATCH, "Mismatched value nest level", description, cat(found, " levels"),
          cat(wanted, " levels")};
}

// `where` is "" or names the level.
void check_level(const FeatureView::Valency& level, const std::string& where, tfmd::ValueCount& count,
                 AnomalyReasons& out) {
  if (count.has_min() && level.least < count.min()) {
    out.push_back({Info::FEATURE_TYPE_LOW_NUMBER_VALUES, "Missing values",
                   cat("Some examples have fewer values than expected", where, "."), cat(level.least),
                   cat(count.min(), " or more")});
    if (level.least == 0)
      count.clear_min();
    else
      count.set_min(level.least);
  }
  if (count.has_max() && level.most > count.max()) {
    out.push_back({Info::FEATURE_TYPE_HIGH_NUMBER_VALUES, "Superfluous values",
                   cat("Some examples have more values than expected", where, "."), cat(level.most),
                   cat("at most ", count.max())});
    count.set_max(level.most);
  }
}

std::string six_decimals(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%f", value);
  return text;
}

AnomalyReason dropped(Info::Type type, std::string description, std::string observed, std::string limit) {
  return {type, "Column dropped", std::move(description), std::move(observed), std::move(limit)};
}

}  // namespace

AnomalyReasons check_valency(const FeatureView& view, tfmd::Feature& feature) {
  const std::vector<FeatureView::Valency> levels = view.valencies();
  AnomalyReasons out;
  if (feature.has_value_count()) {
    if (levels.size() > 1) {
      feature.clear_value_count();
      infer_valency(view, feature);
      return {
          nestedness("This feature has a value_count, but the nestedness level of the feature > 1. For "
                     "features with nestedness levels greater than 1, value_counts, not value_count, "
                     "should be specified.",
                     levels.size(), 1)};
    }
    check_level(levels[0], "", *feature.mutable_value_count(), out);
  } else if (feature.has_value_counts()) {
    const int wanted = feature.value_counts().value_count_size();
    if (static_cast<size_t>(wanted) != levels.size()) {
      feature.clear_value_counts();
      infer_valency(view, feature);
      return {
          nestedness("The values have a different nest level than expected. Value counts will not be "
                     "checked.",
                     levels.size(), wanted)};
    }
    for (int i = 0; i < wanted; ++i)
      check_level(levels[static_cast<size_t>(i)], cat(" at nestedness level ", i),
                  *feature.mutable_value_counts()->mutable_value_count(i), out);
  }
  return out;
}

AnomalyReasons check_shape(const FeatureView& view, tfmd::Feature& feature) {
  if (!feature.has_shape()) return {};
  int64_t wanted = 1, found = 1;
  for (const tfmd::FixedShape::Dim& dim : feature.shape().dim())
    __builtin_mul_overflow(wanted, dim.size(), &wanted);
  bool fixed = true;
  for (const FeatureView::Valency& level : view.valencies()) {
    fixed = fixed && level.least == level.most && level.least > 0;
    if (fixed) __builtin_mul_overflow(found, level.least, &found);
  }
  const bool absent = std::ranges::any_of(view.missing_by_level(), [](double count) { return count != 0; });
  const auto misfit = [&](std::string description, std::string observed) -> AnomalyReasons {
    feature.clear_shape();
    return {{Info::INVALID_FEATURE_SHAPE, "Feature shape dropped", std::move(description),
             std::move(observed), cat(wanted, wanted == 1 ? " value" : " values")}};
  };
  if (!fixed || absent)
    return misfit(
        "The feature has a shape, but it's not always present (if the feature is nested, then it should "
        "always "
        "be present at each nested level) or its value lengths vary.",
        absent ? "missing in rows" : "varying");
  if (found != wanted)
    return misfit(cat("The feature has fixed value length ", found,
                      " but it's not compatible with the specified shape."),
                  cat(found, found == 1 ? " value" : " values"));
  return {};
}

AnomalyReasons check_presence(const FeatureView& view, tfmd::Feature& feature) {
  if (!feature.has_presence()) return {};
  tfmd::FeaturePresence& presence = *feature.mutable_presence();
  AnomalyReasons out;
  if (presence.has_min_count() && view.present() < static_cast<double>(presence.min_count())) {
    const int64_t wanted = presence.min_count();
    presence.set_min_count(whole_part(view.present()));
    out.push_back(dropped(Info::FEATURE_TYPE_LOW_NUMBER_PRESENT,
                          cat("The feature was present in fewer examples than expected: minimum count = ",
                              wanted, ", actual = ", presence.min_count()),
                          cat(six_digits(view.present()), " rows"), cat(wanted, " or more")));
  }
  const std::optional<double> fraction = view.fraction_present();
  if (!presence.has_min_fraction() || !fraction) return out;
  if (*fraction < presence.min_fraction()) {
    // Rounded as the float that TensorFlow Data Validation keeps it in.
    const auto wanted = static_cast<float>(presence.min_fraction());
    presence.set_min_fraction(*fraction);
    out.push_back(dropped(Info::FEATURE_TYPE_LOW_FRACTION_PRESENT,
                          cat("The feature was present in fewer examples than expected: minimum fraction = ",
                              six_decimals(wanted), ", actual = ", six_decimals(*fraction)),
                          six_digits(*fraction), cat(six_digits(wanted), " or more")));
  }
  if (presence.min_fraction() == 1 && view.missing() != 0) {
    // So few that the fraction rounds to 1.
    presence.set_min_fraction(0.9999);
    out.push_back(dropped(Info::FEATURE_TYPE_LOW_FRACTION_PRESENT,
                          cat("The feature was expected everywhere, but was missing in ",
                              six_digits(view.missing()), " examples."),
                          cat("missing in ", six_digits(view.missing())), "in every row"));
  }
  return out;
}

AnomalyReasons check_unique(const FeatureView& view, tfmd::Feature& feature) {
  if (!feature.has_unique_constraints()) return {};
  tfmd::UniqueConstraints& limits = *feature.mutable_unique_constraints();
  const std::optional<int64_t> unique = view.unique();
  if (!unique) {
    feature.clear_unique_constraints();
    return {
        {Info::FEATURE_TYPE_NO_UNIQUE, "No unique values",
         "UniqueConstraints specified for the feature, but unique values were not counted (i.e., feature is "
         "not string or categorical).",
         "not counted", "texts or categories"}};
  }
  AnomalyReasons out;
  if (*unique < limits.min()) {
    out.push_back({Info::FEATURE_TYPE_LOW_UNIQUE, "Low number of unique values",
                   cat("Expected at least ", limits.min(), " unique values but found only ", *unique, "."),
                   cat(*unique), cat(limits.min(), " or more")});
    limits.set_min(*unique);
  }
  if (*unique > limits.max()) {
    out.push_back({Info::FEATURE_TYPE_HIGH_UNIQUE, "High number of unique values",
                   cat("Expected no more than ", limits.max(), " unique values but found ", *unique, "."),
                   cat(*unique), cat("at most ", limits.max())});
    limits.set_max(*unique);
  }
  return out;
}

}  // namespace espalier
