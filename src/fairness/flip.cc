#include "fairness/flip.h"

#include <algorithm>

#include "base/format.h"
#include "espalier/error.h"

namespace espalier {

Proportion FlipCounts::rate() const {
  return {static_cast<double>(flips()) / static_cast<double>(rows), static_cast<double>(rows)};
}

Flips count_flips(std::span<const uint32_t> said, const CategoryColumn& attribute,
                  const std::vector<std::vector<uint32_t>>& said_with) {
  const bool of_all =
      attribute.codes.size() == said.size() &&
      std::ranges::all_of(said_with, [&](const auto& one) { return one.size() == said.size(); });
  if (!of_all || said_with.size() > attribute.values.size()) {
    throw ValueError("fairness.flip", cat("decisions with each value are of the same rows: ", said.size(),
                                          " rows, ", attribute.codes.size(), " of '", attribute.name, "', ",
                                          said_with.size(), " of ", attribute.values.size(), " values"));
  }
  Flips out{.overall = {.group = "overall"}, .groups = {}};
  for (const std::string& value : attribute.values) out.groups.push_back({.group = value_in_name(value)});
  out.groups.push_back({.group = "(missing)"});
  for (size_t row = 0; row < said.size(); ++row) {
    const size_t own = std::min<size_t>(attribute.codes[row], attribute.values.size());
    bool flips = false;
    for (size_t value = 0; value < said_with.size(); ++value)
      flips = flips || (value != own && said_with[value][row] != said[row]);
    for (FlipCounts* counts : {&out.overall, &out.groups[own]}) {
      ++counts->rows;
      if (flips) ++(said[row] ? counts->to_negative : counts->to_positive);
    }
  }
  std::erase_if(out.groups, [](const FlipCounts& group) { return group.rows == 0; });
  return out;
}

}  // namespace espalier
