#include "validate/schema_slice.h"

#include "base/format.h"
#include "validate/schema_parts.h"

namespace espalier {
namespace {

// The first of each name.
std::map<std::string, int> places_of(const auto& all) {
  std::map<std::string, int> out;
  for (int i = 0; i < all.size(); ++i) out.emplace(all[i].name(), i);
  return out;
}

void copy_named(const auto& all, const std::map<std::string, int>& places, const std::string& name,
                auto& out) {
  if (const auto found = places.find(name); found != places.end()) *out.Add() = all[found->second];
}

void put_back(const auto& changed, std::map<std::string, int>& places, auto& all) {
  for (const auto& each : changed) {
    const auto [place, added] = places.emplace(each.name(), all.size());
    if (added)
      *all.Add() = each;
    else
      all[place->second] = each;
  }
}

}  // namespace

SchemaSlices::SchemaSlices(tfmd::Schema& schema)
    : schema_(&schema),
      features_(places_of(schema.feature())),
      sparse_features_(places_of(schema.sparse_feature())),
      weighted_features_(places_of(schema.weighted_feature())),
      domains_(places_of(schema.string_domain())) {}

void SchemaSlices::take_domain(const std::string& name, tfmd::Schema& out) const {
  if (!find_string_domain(out, name))
    copy_named(schema_->string_domain(), domains_, name, *out.mutable_string_domain());
}

void SchemaSlices::take_domains(const tfmd::Feature& feature, tfmd::Schema& out) const {
  if (feature.has_domain()) take_domain(feature.domain(), out);
  for (const tfmd::Feature& child : feature.struct_domain().feature()) take_domains(child, out);
}

tfmd::Schema SchemaSlices::slice(const std::string& name, const std::vector<std::string>& added) const {
  tfmd::Schema out;
  copy_named(schema_->feature(), features_, name, *out.mutable_feature());
  copy_named(schema_->sparse_feature(), sparse_features_, name, *out.mutable_sparse_feature());
  copy_named(schema_->weighted_feature(), weighted_features_, name, *out.mutable_weighted_feature());
  for (const tfmd::Feature& feature : out.feature()) take_domains(feature, out);
  for (const std::string& domain : added) {
    std::string taken = domain;
    for (int i = 2; domains_.contains(taken); ++i) {
      take_domain(taken, out);
      taken = cat(domain, i);
    }
  }
  *out.mutable_default_environment() = schema_->default_environment();
  return out;
}

void SchemaSlices::replace(const tfmd::Schema& before, const tfmd::Schema& after) {
  tfmd::Schema remaining = after;
  for (const tfmd::StringDomain& domain : before.string_domain()) {
    if (find_string_domain(remaining, domain.name())) continue;
    remove_string_domain(*schema_, domain.name());
    domains_ = places_of(schema_->string_domain());
  }
  put_back(after.feature(), features_, *schema_->mutable_feature());
  put_back(after.sparse_feature(), sparse_features_, *schema_->mutable_sparse_feature());
  put_back(after.weighted_feature(), weighted_features_, *schema_->mutable_weighted_feature());
  put_back(after.string_domain(), domains_, *schema_->mutable_string_domain());
}

}  // namespace espalier
