// What a schema lets the cells of a column hold, for pages that draw it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "validate/metadata_files.h"

namespace espalier {

struct ColumnLimits {
  std::optional<double> min = {}, max = {};
  std::optional<std::set<std::string>> values = {};  // all that are allowed

  bool allows(const std::string& value) const { return !values || values->contains(value); }
};
// By column, of those that are limited. Values of a domain that features share are each feature's.
std::map<std::string, ColumnLimits> schema_limits(const tfmd::Schema& schema);

}  // namespace espalier
