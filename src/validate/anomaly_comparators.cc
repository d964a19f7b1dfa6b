#include "base/format.h"
#include "validate/anomaly_rules.h"
#include "validate/distance.h"

namespace espalier {
namespace {

using Info = tfmd::AnomalyInfo;
using Measurement = tfmd::DriftSkewInfo::Measurement;

struct Comparison {
  const char* treatment;
  const char* control;
};
constexpr Comparison kDrift = {"current", "previous"}, kSkew = {"training", "serving"};

struct ComparatorKind {
  Info::Type anomaly;
  Measurement::Type measurement;
  const char* name;
};
constexpr ComparatorKind kInfinity = {Info::COMPARATOR_L_INFTY_HIGH, Measurement::L_INFTY, "Linfty distance"};
constexpr ComparatorKind kDifference = {Info::COMPARATOR_NORMALIZED_ABSOLUTE_DIFFERENCE_HIGH,
                                        Measurement::NORMALIZED_ABSOLUTE_DIFFERENCE,
                                        "normalized absolute difference"};
constexpr ComparatorKind kDivergence = {Info::COMPARATOR_JENSEN_SHANNON_DIVERGENCE_HIGH,
                                        Measurement::JENSEN_SHANNON_DIVERGENCE,
                                        "approximate Jensen-Shannon divergence"};

// Raises the threshold to a value above it.
void judge(const Comparison& comparison, const ComparatorKind& kind, double value, const std::string& end,
           auto& limit, google::protobuf::RepeatedPtrField<Measurement>& measured, AnomalyReasons& out) {
  const double threshold = limit.threshold();
  Measurement& measurement = *measured.Add();
  measurement.set_type(kind.measurement);
  measurement.set_value(value);
  measurement.set_threshold(threshold);
  if (!(value > threshold)) return;
  limit.set_threshold(value);
  const std::string between = cat(kind.name, " between ", comparison.treatment, " and ", comparison.control);
  out.push_back(
      {kind.anomaly, cat("High ", between),
       cat("The ", between, " is ", six_digits(value),
           " (up to six significant digits), above the threshold ", six_digits(threshold), ".", end),
       six_digits(value), cat("at most ", six_digits(threshold))});
}

// A comparison that nothing can be compared with measures nothing from now on.
AnomalyReasons no_control(const Comparison& comparison, tfmd::FeatureComparator& comparator) {
  if (comparator.infinity_norm().has_threshold()) comparator.mutable_infinity_norm()->clear_threshold();
  if (comparator.jensen_shannon_divergence().has_threshold())
    comparator.mutable_jensen_shannon_divergence()->clear_threshold();
  if (comparator.normalized_abs_difference().has_threshold())
    comparator.mutable_normalized_abs_difference()->clear_threshold();
  return {{Info::COMPARATOR_CONTROL_DATA_MISSING, cat(comparison.control, " data missing"),
           cat(comparison.control, " data is missing."), cat("no ", comparison.control, " data"),
           cat(comparison.control, " data")}};
}

AnomalyReasons compare(const FeatureView& view, const DatasetView* control, const Comparison& comparison,
                       tfmd::FeatureComparator& comparator,
                       google::protobuf::RepeatedPtrField<Measurement>& measured) {
  const bool infinity = comparator.infinity_norm().has_threshold(),
             difference = comparator.normalized_abs_difference().has_threshold(),
             divergence = comparator.jensen_shannon_divergence().has_threshold();
  if (!control || !(infinity || difference || divergence)) return {};
  const FeatureView* other = control->find(view.path());
  if (!other) return no_control(comparison, comparator);
  AnomalyReasons out;
  const auto of_values = [&](const ComparatorKind& kind, const ValueDistance& found, auto& limit) {
    judge(comparison, kind, found.distance,
          cat(" The feature value with maximum difference is: ", found.value), limit, measured, out);
  };
  if (infinity)
    of_values(kInfinity, l_infinity(view.counts(), other->counts()), *comparator.mutable_infinity_norm());
  if (difference)
    of_values(kDifference, normalized_absolute_difference(view.counts(), other->counts()),
              *comparator.mutable_normalized_abs_difference());
  if (!divergence) return out;
  tfmd::JensenShannonDivergence& limit = *comparator.mutable_jensen_shannon_divergence();
  const auto type = limit.source().type() == tfmd::HistogramSelection::QUANTILES ? tfmd::Histogram::QUANTILES
                                                                                 : tfmd::Histogram::STANDARD;
  if (const std::optional<double> found = jensen_shannon(view, *other, type))
    judge(comparison, kDivergence, *found, "", limit, measured, out);
  return out;
}

// `versus` is "previous span" or "previous version".
void compare_rows(const DatasetView& data, const DatasetView* control, const char* versus,
                  tfmd::NumericValueComparator& comparator, AnomalyReasons& out) {
  if (!control) return;
  const auto rows = whole_part(data.examples()), before = whole_part(control->examples());
  const double ratio = before == 0 ? 0 : static_cast<double>(rows) / static_cast<double>(before);
  const auto add = [&](Info::Type type, const char* level, const char* side, double threshold,
                       const char* direction) {
    out.push_back({type, cat(level, " num examples in current dataset versus the ", versus, "."),
                   cat("The ratio of num examples in the current dataset versus the ", versus, " is ",
                       six_digits(ratio), " (up to six significant digits), which is ", side,
                       " the threshold ", six_digits(threshold), "."),
                   cat(rows, " rows, ", six_digits(ratio), " of ", before),
                   cat(direction, six_digits(threshold))});
  };
  const double most = comparator.max_fraction_threshold(), least = comparator.min_fraction_threshold();
  if (comparator.has_max_fraction_threshold() && before == 0) {
    comparator.clear_max_fraction_threshold();
    out.push_back(
        {Info::COMPARATOR_HIGH_NUM_EXAMPLES,
         cat("High num examples in current dataset versus the ", versus, ", which has 0."),
         cat("The ", versus, " has 0 examples, so there is a high number of examples in the current ",
             "dataset versus the ", versus, "."),
         cat(rows, " rows, before 0"), cat("at most ", six_digits(most), " of before")});
  } else if (comparator.has_max_fraction_threshold() && ratio > most) {
    comparator.set_max_fraction_threshold(ratio);
    add(Info::COMPARATOR_HIGH_NUM_EXAMPLES, "High", "above", most, "at most ");
  }
  if (comparator.has_min_fraction_threshold() && before != 0 && ratio < least) {
    comparator.set_min_fraction_threshold(ratio);
    add(Info::COMPARATOR_LOW_NUM_EXAMPLES, "Low", "below", least, "at least ");
  }
}

}  // namespace

AnomalyReasons check_comparators(const FeatureView& view, const Controls& controls, tfmd::Feature& feature,
                                 tfmd::DriftSkewInfo& measured) {
  AnomalyReasons out;
  if (feature.has_drift_comparator())
    out = compare(view, controls.previous, kDrift, *feature.mutable_drift_comparator(),
                  *measured.mutable_drift_measurements());
  if (feature.has_skew_comparator()) {
    const AnomalyReasons more = compare(view, controls.serving, kSkew, *feature.mutable_skew_comparator(),
                                        *measured.mutable_skew_measurements());
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

AnomalyReasons check_rows(const DatasetView& data, const Controls& controls,
                          tfmd::DatasetConstraints& constraints) {
  AnomalyReasons out;
  if (constraints.has_num_examples_drift_comparator())
    compare_rows(data, controls.previous, "previous span",
                 *constraints.mutable_num_examples_drift_comparator(), out);
  if (constraints.has_num_examples_version_comparator())
    compare_rows(data, controls.previous_version, "previous version",
                 *constraints.mutable_num_examples_version_comparator(), out);
  // TensorFlow Data Validation asks for the most only where it asks for the least.
  if (!constraints.has_min_examples_count()) return out;
  const double rows = data.examples();
  const auto add = [&](Info::Type type, const char* brief, const char* relation, std::string limit) {
    out.push_back(
        {type, brief,
         cat("The dataset has ", six_digits(rows), " examples, which is ", relation, " than expected."),
         cat(six_digits(rows), " rows"), std::move(limit)});
  };
  if (rows < static_cast<double>(constraints.min_examples_count())) {
    add(Info::DATASET_LOW_NUM_EXAMPLES, "Low num examples in dataset.", "fewer",
        cat(constraints.min_examples_count(), " or more"));
    constraints.set_min_examples_count(whole_part(rows));
  }
  if (constraints.has_max_examples_count() && rows > static_cast<double>(constraints.max_examples_count())) {
    add(Info::DATASET_HIGH_NUM_EXAMPLES, "High num examples in dataset.", "more",
        cat("at most ", constraints.max_examples_count()));
    constraints.set_max_examples_count(whole_part(rows));
  }
  return out;
}

}  // namespace espalier
