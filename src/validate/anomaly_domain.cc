#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/format.h"
#include "validate/anomaly_rules.h"
#include "validate/infer.h"
#include "validate/schema_parts.h"

namespace espalier {
namespace {

using Info = tfmd::AnomalyInfo;
using Feature = tfmd::Feature;
using Counts = std::map<std::string, double>;

// Quotes, backslashes and control characters as C writes them.
std::string c_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr std::string_view kNamed = "\n\r\t\"'\\", kNames = "nrt\"'\\";
    if (const size_t named = kNamed.find(c); named != std::string_view::npos) {
      out += {'\\', kNames[named]};
    } else if (byte < 0x20 || byte == 0x7f) {
      char octal[8];
      std::snprintf(octal, sizeof octal, "\\%03o", byte);
      out += octal;
    } else {
      out += c;
    }
  }
  return out;
}

// "~2%", of whole counts; "<1%" of less.
std::string share(double count, double total) {
  if (total == 0) return "?";
  const double percent = 100 * std::trunc(count) / total;
  return percent < 1 ? "<1%" : cat("~", whole_part(percent), "%");
}

std::string listed(const Counts& counts, double total) {
  std::string out;
  for (const auto& [text, count] : counts)
    out += cat(out.empty() ? "" : ", ", c_escaped(text), " (", share(count, total), ")");
  return out;
}

AnomalyReasons check_texts(const FeatureView& view, double allowed, tfmd::StringDomain& domain) {
  Counts unexpected = view.counts();
  for (const std::string& value : domain.value()) unexpected.erase(value);
  double outside = 0;
  for (const auto& [text, count] : unexpected) outside += count;
  const double total = view.values();
  if (!(outside / total > allowed || (allowed == 0 && !unexpected.empty()))) return {};
  for (const auto& [text, count] : unexpected) domain.add_value(text);
  const std::string values = listed(unexpected, total);
  return {{Info::ENUM_TYPE_UNEXPECTED_STRING_VALUES, "Unexpected string values",
           cat("Examples contain values missing from the schema: ", values, ". "), values,
           allowed == 0 ? std::string("values of the domain")
                        : cat(six_digits(1 - allowed), " or more within the domain")}};
}

AnomalyReasons broken_texts(const FeatureView& view) {
  return {{Info::ENUM_TYPE_INVALID_UTF8, "Invalid UTF8 strings",
           "Found strings that were not valid UTF8 strings.",
           cat(view.data().string_stats().invalid_utf8_count(), " values"), "UTF-8"}};
}

AnomalyReasons check_text_domain(const FeatureView& view, Feature& feature, tfmd::Schema& schema) {
  const bool shared = feature.has_domain();
  if (view.has_broken_text()) {
    if (shared)
      remove_string_domain(schema, std::string(feature.domain()));
    else
      feature.clear_domain_info();
    return broken_texts(view);
  }
  const tfmd::DistributionConstraints& distribution = feature.distribution_constraints();
  const double allowed = distribution.has_min_domain_mass() ? 1 - distribution.min_domain_mass() : 0;
  return check_texts(
      view, allowed,
      shared ? *find_string_domain(schema, feature.domain()) : *feature.mutable_string_domain());
}

// Bytes that stand for no text have no domain of texts or numbers.
bool fits_bytes(Feature::DomainInfoCase domain) {
  return domain == Feature::DOMAIN_INFO_NOT_SET || domain == Feature::kNaturalLanguageDomain ||
         domain == Feature::kImageDomain || domain == Feature::kUrlDomain;
}

}  // namespace

AnomalyReasons check_domain(const FeatureView& view, Feature& feature, tfmd::Schema& schema) {
  AnomalyReasons out;
  if (view.type() == tfmd::FeatureNameStatistics::BYTES && !fits_bytes(feature.domain_info_case())) {
    const auto* field = Feature::descriptor()->FindFieldByNumber(feature.domain_info_case());
    feature.clear_domain_info();
    out.push_back({Info::DOMAIN_INVALID_FOR_TYPE, "Invalid domain type",
                   cat("Data is marked as BYTES with incompatible domain_info: ", feature.DebugString()),
                   "BYTES", field->name()});
  }
  AnomalyReasons more;
  switch (feature.domain_info_case()) {
    case Feature::kDomain:
    case Feature::kStringDomain:
      more = check_text_domain(view, feature, schema);
      break;
    case Feature::kBoolDomain:
      more = check_bools(view, feature);
      break;
    case Feature::kIntDomain:
      more = check_whole_numbers(view, feature);
      break;
    case Feature::kFloatDomain:
      more = check_real_numbers(view, feature);
      break;
    case Feature::kImageDomain:
      more = check_images(view, feature);
      break;
    case Feature::kNaturalLanguageDomain:
      more = check_language(view, feature);
      break;
    case Feature::DOMAIN_INFO_NOT_SET:
      if (take_named_domain(view, feature))
        more.push_back({Info::SEMANTIC_DOMAIN_UPDATE, "Updated semantic domain",
                        cat("Updated semantic domain for feature: ", feature.name()),
                        view.custom("domain_info")->str(), "no domain"});
      break;
    default:
      break;
  }
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace espalier
