#include "gate/schema_limits.h"

#include "validate/schema_parts.h"

namespace espalier {
namespace {

template <class Domain>
void add_range(ColumnLimits& out, const Domain& domain) {
  if (domain.has_min()) out.min = static_cast<double>(domain.min());
  if (domain.has_max()) out.max = static_cast<double>(domain.max());
}

}  // namespace

std::map<std::string, ColumnLimits> schema_limits(const tfmd::Schema& schema) {
  tfmd::Schema searched = schema;
  std::map<std::string, ColumnLimits> out;
  for (const tfmd::Feature& feature : schema.feature()) {
    ColumnLimits its;
    if (feature.has_int_domain()) add_range(its, feature.int_domain());
    if (feature.has_float_domain()) add_range(its, feature.float_domain());
    const tfmd::StringDomain* texts = feature.has_string_domain() ? &feature.string_domain()
                                      : feature.has_domain() ? find_string_domain(searched, feature.domain())
                                                             : nullptr;
    if (texts) its.values.emplace(texts->value().begin(), texts->value().end());
    if (its.min || its.max || its.values) out.emplace(feature.name(), std::move(its));
  }
  return out;
}

}  // namespace espalier
