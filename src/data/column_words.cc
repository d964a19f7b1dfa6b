#include <algorithm>

#include "data/column_steps.h"

namespace espalier {

namespace {
constexpr std::string_view kKindNames[] = {"numeric", "category", "boolean", "date", "dropped"};
}

std::string_view name(ColumnKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

ColumnKind column_kind_named(std::string_view wanted) {
  const auto found = std::find(std::begin(kKindNames), std::end(kKindNames), wanted);
  if (found == std::end(kKindNames))
    throw_unknown("columns.kind", "kind of column", wanted, {std::begin(kKindNames), std::end(kKindNames)});
  return static_cast<ColumnKind>(found - std::begin(kKindNames));
}

}  // namespace espalier
