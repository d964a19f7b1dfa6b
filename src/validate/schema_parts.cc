#include "validate/schema_parts.h"

#include <algorithm>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {
namespace {

auto* find_by_name(auto& all, const std::string& name) {
  const auto found = std::ranges::find_if(all, [&](const auto& each) { return each.name() == name; });
  return found == all.end() ? nullptr : &*found;
}

FeaturePath parent_of(const FeaturePath& path) { return {path.begin(), path.end() - 1}; }

bool is_deprecated_stage(tfmd::LifecycleStage stage) {
  return stage == tfmd::PLANNED || stage == tfmd::ALPHA || stage == tfmd::DEPRECATED ||
         stage == tfmd::DEBUG_ONLY || stage == tfmd::DISABLED;
}

bool contains(const auto& all, const std::string& word) { return std::ranges::find(all, word) != all.end(); }

void forget_domain(auto& features, const std::string& name) {
  for (tfmd::Feature& feature : features) {
    if (feature.domain() == name) feature.clear_domain_info();
    if (feature.has_struct_domain()) forget_domain(*feature.mutable_struct_domain()->mutable_feature(), name);
  }
}

}  // namespace

tfmd::Feature* find_feature(tfmd::Schema& schema, const FeaturePath& path) {
  tfmd::Feature* found = find_by_name(*schema.mutable_feature(), path[0]);
  for (size_t i = 1; i < path.size() && found; ++i) {
    if (!found->has_struct_domain()) return nullptr;
    found = find_by_name(*found->mutable_struct_domain()->mutable_feature(), path[i]);
  }
  return found;
}

tfmd::SparseFeature* find_sparse_feature(tfmd::Schema& schema, const FeaturePath& path) {
  if (path.size() == 1) return find_by_name(*schema.mutable_sparse_feature(), path[0]);
  tfmd::Feature* parent = find_feature(schema, parent_of(path));
  if (!parent || !parent->has_struct_domain()) return nullptr;
  return find_by_name(*parent->mutable_struct_domain()->mutable_sparse_feature(), path.back());
}

tfmd::WeightedFeature* find_weighted_feature(tfmd::Schema& schema, const FeaturePath& path) {
  return path.size() == 1 ? find_by_name(*schema.mutable_weighted_feature(), path[0]) : nullptr;
}

tfmd::StringDomain* find_string_domain(tfmd::Schema& schema, const std::string& name) {
  return find_by_name(*schema.mutable_string_domain(), name);
}

tfmd::Feature& add_feature(tfmd::Schema& schema, const FeaturePath& path) {
  tfmd::Feature* parent = nullptr;
  if (path.size() > 1) {
    parent = find_feature(schema, parent_of(path));
    if (!parent) (parent = &add_feature(schema, parent_of(path)))->set_type(tfmd::STRUCT);
  }
  tfmd::Feature* added = parent ? parent->mutable_struct_domain()->add_feature() : schema.add_feature();
  added->set_name(path.back());
  return *added;
}

tfmd::StringDomain& add_string_domain(tfmd::Schema& schema, const std::string& name) {
  std::string free = name;
  for (int i = 2; find_string_domain(schema, free); ++i) free = cat(name, i);
  tfmd::StringDomain* added = schema.add_string_domain();
  added->set_name(free);
  return *added;
}

void remove_string_domain(tfmd::Schema& schema, const std::string& name) {
  forget_domain(*schema.mutable_feature(), name);
  auto& domains = *schema.mutable_string_domain();
  domains.erase(std::remove_if(domains.begin(), domains.end(),
                               [&](const tfmd::StringDomain& domain) { return domain.name() == name; }),
                domains.end());
}

void require_environment(const tfmd::Schema& schema, const std::optional<std::string>& environment) {
  if (environment && !contains(schema.default_environment(), *environment))
    throw ValueError("validate.environment",
                     cat("environment \"", *environment, "\" is none of the schema's ",
                         schema.default_environment_size(), " environments"));
}

bool is_in_environment(const tfmd::Schema& schema, const tfmd::Feature& feature,
                       const std::optional<std::string>& environment) {
  if (!environment || contains(feature.in_environment(), *environment)) return true;
  return !contains(feature.not_in_environment(), *environment) &&
         contains(schema.default_environment(), *environment);
}

const tfmd::StringDomain* string_domain_of(const tfmd::Schema& schema, const tfmd::Feature& feature) {
  if (!feature.has_domain()) return feature.has_string_domain() ? &feature.string_domain() : nullptr;
  return find_by_name(schema.string_domain(), feature.domain());
}

MissingWords with_domains(const MissingWords& words, const tfmd::Schema& schema) {
  MissingWords::Values values = words.values();
  for (const tfmd::Feature& feature : schema.feature()) {
    const auto add = [&](const std::string& value) {
      if (std::ranges::find(words.words(), value) != words.words().end())
        values[feature.name()].push_back(value);
    };
    if (const tfmd::StringDomain* domain = string_domain_of(schema, feature))
      std::ranges::for_each(domain->value(), add);
    if (feature.bool_domain().has_true_value()) add(feature.bool_domain().true_value());
    if (feature.bool_domain().has_false_value()) add(feature.bool_domain().false_value());
  }
  return {words.words(), values};
}

bool is_deprecated(const tfmd::Feature& feature) {
  return feature.deprecated() || is_deprecated_stage(feature.lifecycle_stage());
}
bool is_deprecated(const tfmd::SparseFeature& feature) {
  return feature.deprecated() || is_deprecated_stage(feature.lifecycle_stage());
}
bool is_deprecated(const tfmd::WeightedFeature& feature) {
  return is_deprecated_stage(feature.lifecycle_stage());
}

}  // namespace espalier
