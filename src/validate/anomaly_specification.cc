#include <algorithm>
#include <set>

#include "base/format.h"
#include "validate/anomaly_rules.h"
#include "validate/schema_parts.h"

namespace espalier {
namespace {

using Info = tfmd::AnomalyInfo;
using Feature = tfmd::Feature;

AnomalyReason wrong(std::string brief, std::string observed, std::string limit,
                    std::string description = "") {
  return {Info::INVALID_SCHEMA_SPECIFICATION, std::move(brief), std::move(description), std::move(observed),
          std::move(limit)};
}

// The name of the domain's field, "int_domain".
std::string domain_name(const Feature& feature) {
  const auto* field = Feature::descriptor()->FindFieldByNumber(feature.domain_info_case());
  return field ? field->name() : "UNSET";
}

bool fits_type(Feature::DomainInfoCase domain, tfmd::FeatureType type) {
  switch (domain) {
    case Feature::kBoolDomain:
      return type != tfmd::STRUCT;
    case Feature::kIntDomain:
    case Feature::kTimeDomain:
    case Feature::kNaturalLanguageDomain:
      return type == tfmd::INT || type == tfmd::BYTES;
    case Feature::kFloatDomain:
      return type == tfmd::FLOAT || type == tfmd::BYTES;
    case Feature::kDomain:
    case Feature::kStringDomain:
    case Feature::kImageDomain:
    case Feature::kMidDomain:
    case Feature::kUrlDomain:
      return type == tfmd::BYTES;
    case Feature::kStructDomain:
      return type == tfmd::STRUCT;
    default:
      return true;
  }
}

// What distribution constraints need, where this domain has not got it.
const char* why_no_distribution(Feature::DomainInfoCase domain) {
  switch (domain) {
    case Feature::kBoolDomain:
      return "distribution constraints not supported for bool domains.";
    case Feature::kIntDomain:
      return "distribution constraints not supported for int domains.";
    case Feature::kFloatDomain:
      return "distribution constraints not supported for float domains.";
    case Feature::kStructDomain:
      return "distribution constraints not supported for struct domains.";
    case Feature::kNaturalLanguageDomain:
    case Feature::kImageDomain:
    case Feature::kMidDomain:
    case Feature::kUrlDomain:
    case Feature::kTimeDomain:
      return "distribution constraints not supported for semantic domains.";
    case Feature::DOMAIN_INFO_NOT_SET:
      return "distribution constraints require domain or string domain.";
    default:
      return nullptr;
  }
}

void check_fractions(Feature& feature, AnomalyReasons& out) {
  const double fraction = feature.presence().min_fraction();
  if (fraction < 0) {
    feature.mutable_presence()->clear_min_fraction();
    out.push_back(wrong("min_fraction should not be negative: clear is equal to zero", six_digits(fraction),
                        "0 or more"));
  } else if (fraction > 1) {
    feature.mutable_presence()->set_min_fraction(1);
    out.push_back(wrong("min_fraction should not greater than 1", six_digits(fraction), "at most 1"));
  }
}

void check_counts(Feature& feature, AnomalyReasons& out) {
  if (feature.value_count().min() < 0) {
    out.push_back(
        wrong("ValueCount.min should not be negative", cat(feature.value_count().min()), "0 or more"));
    feature.mutable_value_count()->clear_min();
  }
  if (feature.value_count().has_max() && feature.value_count().max() < feature.value_count().min()) {
    tfmd::ValueCount& count = *feature.mutable_value_count();
    out.push_back(
        wrong("ValueCount.max should not be less than min", cat(count.max()), cat(count.min(), " or more")));
    count.set_max(count.min());
  }
  for (int level = 0; level < feature.value_counts().value_count_size(); ++level) {
    tfmd::ValueCount& count = *feature.mutable_value_counts()->mutable_value_count(level);
    if (count.min() < 0) {
      out.push_back(wrong("ValueCounts.min should not be negative", cat(count.min()), "0 or more",
                          cat("ValueCounts.min at level ", level, " should not be negative.")));
      count.clear_min();
    }
    if (count.has_max() && count.max() < count.min()) {
      out.push_back(wrong("ValueCounts.max should not be less than min", cat(count.max()),
                          cat(count.min(), " or more"),
                          cat("ValueCounts.max at level ", level, " should not be less than min.")));
      count.set_max(count.min());
    }
  }
}

void check_shape_sizes(Feature& feature, AnomalyReasons& out) {
  for (const tfmd::FixedShape::Dim& dim : feature.shape().dim()) {
    if (dim.size() > 0) continue;
    out.push_back(wrong("Shape.dim.size must be a positive integer", cat(dim.size()), "1 or more"));
    return feature.clear_shape();
  }
}

// Values that stand twice go without a word, as in TensorFlow Data Validation.
void drop_repeated(tfmd::StringDomain& domain) {
  std::set<std::string> seen;
  auto& values = *domain.mutable_value();
  values.erase(std::remove_if(values.begin(), values.end(),
                              [&](const std::string& value) { return !seen.insert(value).second; }),
               values.end());
}

void check_domain_itself(Feature& feature, tfmd::Schema& schema, AnomalyReasons& out) {
  if (!fits_type(feature.domain_info_case(), feature.type())) {
    const std::string& type = tfmd::FeatureType_Name(feature.type());
    out.push_back({Info::DOMAIN_INVALID_FOR_TYPE, "The domain does not match the type",
                   cat("The domain \"", domain_name(feature), "\" does not match the type: ", type), type,
                   domain_name(feature)});
    feature.clear_domain_info();
  }
  const Feature::DomainInfoCase domain = feature.domain_info_case();
  if (const char* why = why_no_distribution(domain); why && feature.has_distribution_constraints()) {
    feature.clear_distribution_constraints();
    out.push_back(wrong(why, domain == Feature::DOMAIN_INFO_NOT_SET ? "no domain" : domain_name(feature),
                        "domain or string_domain"));
  }
  if (domain == Feature::kDomain && !find_string_domain(schema, feature.domain())) {
    // TensorFlow Data Validation names the domain that it has just cleared: none.
    out.push_back({Info::INVALID_DOMAIN_SPECIFICATION, "missing domain: ", "", feature.domain(),
                   "a string_domain of the schema"});
    feature.clear_domain();
  } else if (domain == Feature::kTimeOfDayDomain) {
    out.push_back({Info::INVALID_DOMAIN_SPECIFICATION, "internal issue: unknown domain_info type", "",
                   domain_name(feature), "a domain that validation knows"});
    feature.clear_domain_info();
  } else if (domain == Feature::kStringDomain) {
    drop_repeated(*feature.mutable_string_domain());
  } else if (domain == Feature::kBoolDomain) {
    tfmd::BoolDomain& bools = *feature.mutable_bool_domain();
    if (bools.has_true_value() && bools.has_false_value() && bools.true_value() == bools.false_value())
      bools.clear_false_value();
  }
}

}  // namespace

AnomalyReasons check_specification(Feature& feature, tfmd::Schema& schema) {
  AnomalyReasons out;
  if (!feature.has_name()) {
    feature.set_lifecycle_stage(tfmd::DEPRECATED);
    return {{Info::FEATURE_MISSING_NAME,
             "unspecified name (maybe meant to be the empty string): find name rather than deprecating.", "",
             "no name", "a name"}};
  }
  if (!feature.has_type()) {
    const bool texts = feature.has_domain() || feature.has_string_domain();
    out.push_back({Info::FEATURE_MISSING_TYPE,
                   texts ? "unspecified type: inferring the type to be BYTES, given the domain specified."
                         : "unspecified type: determine the type and set it, rather than deprecating.",
                   "", "no type", "a type"});
    if (!texts) {
      feature.set_lifecycle_stage(tfmd::DEPRECATED);
      return out;
    }
    feature.set_type(tfmd::BYTES);
  }
  check_fractions(feature, out);
  check_counts(feature, out);
  check_shape_sizes(feature, out);
  check_domain_itself(feature, schema, out);
  return out;
}

}  // namespace espalier
