#include "validate/anomalies.h"

#include <algorithm>

#include "base/format.h"
#include "espalier/error.h"
#include "validate/anomaly_rules.h"
#include "validate/infer.h"
#include "validate/message_text.h"
#include "validate/schema_parts.h"
#include "validate/schema_slice.h"

namespace espalier {
namespace {

using Info = tfmd::AnomalyInfo;

// Domains of texts of new features have at most so many values.
constexpr InferOptions kNewFeatures = {.most_values = 400, .shapes = false};

void append_reasons(AnomalyReasons& out, const AnomalyReasons& more) {
  out.insert(out.end(), more.begin(), more.end());
}

class Validator {
 public:
  Validator(const tfmd::Schema& schema, const ValidateInputs& inputs)
      : inputs_(inputs), fixed_(schema), slices_(fixed_), weighted_(has_weights(*inputs.statistics)) {
    require_environment(schema, inputs.environment);
    data_.emplace(*inputs.statistics, weighted_);
    const auto view = [&](const tfmd::DatasetFeatureStatistics* statistics,
                          std::optional<DatasetView>& into) {
      return statistics ? &into.emplace(*statistics, weighted_) : nullptr;
    };
    controls_ = {view(inputs.previous, previous_), view(inputs.serving, serving_),
                 view(inputs.previous_version, previous_version_)};
  }

  Validation run() {
    Validation out;
    out.data_missing = inputs_.statistics->num_examples() == 0;
    if (out.data_missing) return out;
    const std::vector<FeaturePath> missing = missing_paths();
    for (const FeatureView* root : data_->roots()) check_within(*root);
    for (const FeaturePath& path : missing) report(path, nullptr, {});
    for (auto& [path, anomaly] : reports_) out.features.push_back(std::move(anomaly));
    check_dataset(out);
    out.measured = std::move(measured_);
    std::ranges::sort(out.measured, {}, [](const tfmd::DriftSkewInfo& each) {
      return FeaturePath(each.path().step().begin(), each.path().step().end());
    });
    return out;
  }

  // From now on fixes stay in the schema: of these features, and of the data set.
  void keep_fixes(const std::set<FeaturePath>& features, bool dataset, const std::string& reason) {
    kept_ = &features;
    keep_dataset_ = dataset;
    reason_ = reason;
  }
  const tfmd::Schema& schema() const { return fixed_; }

 private:
  bool is_in(const tfmd::Feature& feature) const {
    return is_in_environment(fixed_, feature, inputs_.environment);
  }
  bool is_required(const tfmd::Feature& feature) const {
    const tfmd::FeaturePresence& presence = feature.presence();
    return !is_deprecated(feature) && (presence.min_count() > 0 || presence.min_fraction() > 0) &&
           is_in(feature);
  }

  // Features that the schema requires and the statistics do not have.
  std::vector<FeaturePath> missing_paths() const {
    std::vector<FeaturePath> out;
    const auto add = [&](const auto& self, const FeaturePath& parent, const auto& features) -> void {
      for (const tfmd::Feature& feature : features) {
        const FeaturePath path = child_of(parent, feature.name());
        if (is_required(feature) && !data_->find(path)) out.push_back(path);
        if (!is_deprecated(feature)) self(self, path, feature.struct_domain().feature());
      }
    };
    add(add, {}, fixed_.feature());
    return out;
  }

  Info::Severity severity_of(const AnomalyReasons& reasons) const {
    Info::Severity worst = Info::UNKNOWN;
    for (const AnomalyReason& reason : reasons) {
      const auto found = inputs_.severities.find(reason.type);
      worst = std::max(worst, found == inputs_.severities.end() ? Info::ERROR : found->second);
    }
    return worst;
  }

  AnomalyReasons check_present(const FeatureView& view, tfmd::Feature& feature, tfmd::Schema& slice,
                               tfmd::DriftSkewInfo& measured) const;
  AnomalyReasons check_view(const FeatureView& view, tfmd::Schema& slice,
                            tfmd::DriftSkewInfo& measured) const;
  AnomalyReasons add_columns(const FeatureView& view, tfmd::Schema& slice) const;
  AnomalyReasons check_environment(tfmd::Feature& feature, const FeaturePath& path) const;
  void name_new(const FeatureView& view, std::vector<std::string>& out) const;
  void keep(const FeatureAnomaly& anomaly, const tfmd::Schema& before, tfmd::Schema after);
  bool report(const FeaturePath& path, const FeatureView* view, const std::vector<std::string>& added);
  void check_within(const FeatureView& view);
  void check_dataset(Validation& out);

  const ValidateInputs& inputs_;
  tfmd::Schema fixed_;
  SchemaSlices slices_;
  bool weighted_;
  std::optional<DatasetView> data_, previous_, serving_, previous_version_;
  Controls controls_;
  std::map<FeaturePath, FeatureAnomaly> reports_;
  std::vector<tfmd::DriftSkewInfo> measured_;
  const std::set<FeaturePath>* kept_ = nullptr;
  bool keep_dataset_ = false;
  std::string reason_;
};

AnomalyReasons Validator::check_environment(tfmd::Feature& feature, const FeaturePath& path) const {
  if (is_in(feature)) return {};
  const std::string& environment = *inputs_.environment;
  auto& excluded = *feature.mutable_not_in_environment();
  excluded.erase(std::remove(excluded.begin(), excluded.end(), environment), excluded.end());
  if (!is_in(feature)) feature.add_in_environment(environment);
  return {{Info::SCHEMA_NEW_COLUMN, "Column missing in environment",
           cat("New column ", path_text(path), " found in data but not in the environment ", environment,
               " in the schema."),
           "in the data", cat("not in ", environment)}};
}

AnomalyReasons Validator::check_present(const FeatureView& view, tfmd::Feature& feature, tfmd::Schema& slice,
                                        tfmd::DriftSkewInfo& measured) const {
  AnomalyReasons out = check_specification(feature, slice);
  if (is_deprecated(feature)) return out;
  if (view.present() == 0) {
    if (!is_required(feature)) return out;
    out.push_back({Info::FEATURE_TYPE_NOT_PRESENT, "Column dropped",
                   "The feature was not present in any examples.", "0 rows", "1 or more"});
    feature.set_lifecycle_stage(tfmd::DEPRECATED);
    return out;
  }
  append_reasons(out, check_environment(feature, view.path()));
  append_reasons(out, check_valency(view, feature));
  append_reasons(out, check_shape(view, feature));
  append_reasons(out, check_presence(view, feature));
  if (view.schema_type() != feature.type()) {
    const std::string wanted = tfmd::FeatureType_Name(feature.type()),
                      found = tfmd::FeatureNameStatistics::Type_Name(view.type());
    feature.set_lifecycle_stage(tfmd::DEPRECATED);
    out.push_back({Info::UNEXPECTED_DATA_TYPE, "Unexpected data type",
                   cat("Expected data of type: ", wanted, " but got ", found), found, wanted});
  }
  append_reasons(out, check_domain(view, feature, slice));
  append_reasons(out, check_unique(view, feature));
  append_reasons(out, check_limits(view, feature));
  append_reasons(out, check_comparators(view, controls_, feature, measured));
  if (view.data().has_validation_derived_source() && !feature.has_validation_derived_source()) {
    mark_derived(view, feature);
    out.push_back({Info::DERIVED_FEATURE_INVALID_SOURCE, "Derived source not set in schema.",
                   "Derived source not set in schema.", "derived", "no source"});
  }
  if (feature.has_validation_derived_source() && feature.lifecycle_stage() != tfmd::VALIDATION_DERIVED &&
      feature.lifecycle_stage() != tfmd::DISABLED) {
    const std::string stage = tfmd::LifecycleStage_Name(feature.lifecycle_stage());
    feature.set_lifecycle_stage(tfmd::VALIDATION_DERIVED);
    out.push_back({Info::DERIVED_FEATURE_BAD_LIFECYCLE, "Derived feature has wrong lifecycle.",
                   "Derived feature has wrong lifecycle.", stage, "VALIDATION_DERIVED"});
  }
  return out;
}

// One reason, however many features are within it.
AnomalyReasons Validator::add_columns(const FeatureView& view, tfmd::Schema& slice) const {
  if (view.data().stats_case() == tfmd::FeatureNameStatistics::STATS_NOT_SET) return {};
  infer_features(*data_, view, kNewFeatures, slice);
  return {{Info::SCHEMA_NEW_COLUMN, "New column", "New column (column in data but not in schema)",
           "in the data", "not in the schema"}};
}

AnomalyReasons Validator::check_view(const FeatureView& view, tfmd::Schema& slice,
                                     tfmd::DriftSkewInfo& measured) const {
  tfmd::Feature* feature = find_feature(slice, view.path());
  tfmd::SparseFeature* sparse = find_sparse_feature(slice, view.path());
  const auto collide = [&](Info::Type type, const char* kind, auto& other) -> AnomalyReasons {
    other.set_lifecycle_stage(tfmd::DEPRECATED);
    if (feature) feature->set_lifecycle_stage(tfmd::DEPRECATED);
    if (sparse) sparse->set_lifecycle_stage(tfmd::DEPRECATED);
    return {{type, cat(kind, " name collision"), cat(kind, " name collision."), "two of this name", "one"}};
  };
  if (tfmd::WeightedFeature* weighted = find_weighted_feature(slice, view.path())) {
    if ((feature || sparse) && !is_deprecated(*weighted))
      return collide(Info::WEIGHTED_FEATURE_NAME_COLLISION, "Weighted feature", *weighted);
    return check_weighted(view, *weighted);
  }
  if (sparse && !is_deprecated(*sparse)) {
    if (feature && !is_deprecated(*feature))
      return collide(Info::SPARSE_FEATURE_NAME_COLLISION, "Sparse feature", *sparse);
    return check_sparse(view, *sparse);
  }
  return feature ? check_present(view, *feature, slice, measured) : add_columns(view, slice);
}

void Validator::name_new(const FeatureView& view, std::vector<std::string>& out) const {
  out.push_back(path_text(view.path()));
  for (const FeatureView* child : data_->children(view.path())) name_new(*child, out);
}

// Into the schema, with the reason.
void Validator::keep(const FeatureAnomaly& anomaly, const tfmd::Schema& before, tfmd::Schema after) {
  tfmd::Feature* feature = find_feature(after, anomaly.path);
  if (feature && !reason_.empty()) {
    for (const AnomalyReason& each : anomaly.reasons)
      feature->mutable_annotation()->add_comment(cat(Info::Type_Name(each.type), ": ", reason_));
  }
  slices_.replace(before, after);
}

// The anomaly of a feature, or, without a view, of one that is missing. `added`: domains that it may bring.
// Whether the features within it are to be looked at.
bool Validator::report(const FeaturePath& path, const FeatureView* view,
                       const std::vector<std::string>& added) {
  const tfmd::Schema before = slices_.slice(path[0], added);
  tfmd::Schema after = before;
  FeatureAnomaly anomaly{path, {}, Info::ERROR, {}};
  if (view) {
    tfmd::DriftSkewInfo measured;
    anomaly.reasons = check_view(*view, after, measured);
    *measured.mutable_path() = path_message(path);
    if (measured.drift_measurements_size() > 0 || measured.skew_measurements_size() > 0)
      measured_.push_back(measured);
  } else {
    find_feature(after, path)->set_lifecycle_stage(tfmd::DEPRECATED);
    anomaly.reasons = {{Info::SCHEMA_MISSING_COLUMN, "Column dropped", "Column is completely missing",
                        "not in the data", "required"}};
  }
  if (anomaly.reasons.empty()) return true;
  anomaly.severity = severity_of(anomaly.reasons);
  anomaly.fix = text_changes(text_of_message(before), text_of_message(after));
  const tfmd::Feature* feature = find_feature(after, path);
  const bool of_use = !feature || !is_deprecated(*feature);
  if (kept_ && kept_->contains(path)) keep(anomaly, before, after);
  reports_[path] = std::move(anomaly);
  return of_use;
}

void Validator::check_within(const FeatureView& view) {
  tfmd::Schema slice = slices_.slice(view.path()[0], {});
  const tfmd::Feature* feature = find_feature(slice, view.path());
  const tfmd::SparseFeature* sparse = find_sparse_feature(slice, view.path());
  if (feature ? is_deprecated(*feature) : sparse && is_deprecated(*sparse)) return;
  const bool known = feature || sparse || find_weighted_feature(slice, view.path());
  std::vector<std::string> added;
  if (!known) name_new(view, added);
  // Features within a new one are part of it.
  if (!report(view.path(), &view, added) || !known) return;
  for (const FeatureView* child : data_->children(view.path())) check_within(*child);
}

void Validator::check_dataset(Validation& out) {
  if (!fixed_.has_dataset_constraints()) return;
  tfmd::Schema before;
  *before.mutable_dataset_constraints() = fixed_.dataset_constraints();
  tfmd::Schema after = before;
  FeatureAnomaly anomaly{
      {}, check_rows(*data_, controls_, *after.mutable_dataset_constraints()), Info::ERROR, {}};
  if (anomaly.reasons.empty()) return;
  anomaly.severity = severity_of(anomaly.reasons);
  anomaly.fix = text_changes(text_of_message(before), text_of_message(after));
  if (keep_dataset_) {
    *fixed_.mutable_dataset_constraints() = after.dataset_constraints();
    for (const AnomalyReason& each : anomaly.reasons) {
      if (!reason_.empty())
        fixed_.mutable_annotation()->add_comment(cat(Info::Type_Name(each.type), ": ", reason_));
    }
  }
  out.dataset = std::move(anomaly);
}

tfmd::AnomalyInfo info_of(const FeatureAnomaly& anomaly) {
  tfmd::AnomalyInfo out;
  std::string all;
  for (const AnomalyReason& each : anomaly.reasons) {
    Info::Reason& reason = *out.add_reason();
    reason.set_type(each.type);
    reason.set_short_description(each.brief);
    reason.set_description(each.description);
    if (!each.description.empty()) all += (all.empty() ? "" : " ") + each.description;
  }
  // Reasons without a long description count only where there is no other.
  const auto described = std::ranges::count_if(
      anomaly.reasons, [](const AnomalyReason& each) { return !each.description.empty(); });
  std::string brief = anomaly.reasons.back().brief;
  if (described > 1) {
    brief = "Multiple errors";
  } else if (described == 1) {
    brief = std::ranges::find_if(anomaly.reasons, [](const AnomalyReason& each) {
              return !each.description.empty();
            })->brief;
  }
  out.set_description(all);
  out.set_short_description(brief);
  out.set_severity(anomaly.severity);
  if (!anomaly.path.empty()) *out.mutable_path() = path_message(anomaly.path);
  return out;
}

}  // namespace

bool Validation::has_errors() const {
  const auto is_error = [](const FeatureAnomaly& anomaly) { return anomaly.severity == Info::ERROR; };
  return data_missing || (dataset && is_error(*dataset)) || std::ranges::any_of(features, is_error);
}

tfmd::AnomalyInfo::Type anomaly_type(const std::string& name) {
  using Info = tfmd::AnomalyInfo;
  Info::Type type;
  if (Info::Type_Parse(name, &type)) return type;
  std::vector<std::string> known;
  for (int i = 0; i < Info::Type_descriptor()->value_count(); ++i)
    known.push_back(Info::Type_descriptor()->value(i)->name());
  throw_unknown("data.warn", "anomaly", name, known);
}

Validation validate(const tfmd::Schema& schema, const ValidateInputs& inputs) {
  return Validator(schema, inputs).run();
}

tfmd::Anomalies anomalies_of(const Validation& validation, const tfmd::Schema& schema) {
  tfmd::Anomalies out;
  *out.mutable_baseline() = schema;
  if (validation.data_missing) {
    out.set_data_missing(true);
    return out;
  }
  out.set_anomaly_name_format(tfmd::Anomalies::SERIALIZED_PATH);
  for (const FeatureAnomaly& anomaly : validation.features)
    (*out.mutable_anomaly_info())[path_text(anomaly.path)] = info_of(anomaly);
  if (validation.dataset) *out.mutable_dataset_anomaly_info() = info_of(*validation.dataset);
  for (const tfmd::DriftSkewInfo& each : validation.measured) *out.add_drift_skew_info() = each;
  return out;
}

tfmd::Schema fixed_schema(const tfmd::Schema& schema, const ValidateInputs& inputs,
                          const std::set<FeaturePath>& features, bool dataset, const std::string& reason) {
  Validator validator(schema, inputs);
  validator.keep_fixes(features, dataset, reason);
  validator.run();
  return validator.schema();
}

}  // namespace espalier
