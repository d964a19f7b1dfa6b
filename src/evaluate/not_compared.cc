#include "evaluate/not_compared.h"

#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/shortened.h"

namespace espalier {

std::string text(const std::vector<NotCompared>& all) {
  constexpr size_t kNamed = 10;
  if (all.empty()) return "";
  std::string out = "Not compared:\n";
  for (size_t i = 0; i < all.size() && i < kNamed; ++i)
    out += cat("  ", all[i].column.empty() ? "" : cat(shortened(all[i].column), ": "), all[i].why, "\n");
  return all.size() > kNamed ? cat(out, "  and ", all.size() - kNamed, " more\n") : out;
}

nlohmann::ordered_json json_of(const std::vector<NotCompared>& all) {
  using Json = nlohmann::ordered_json;
  Json out = Json::array();
  for (const NotCompared& each : all) {
    out.push_back({{"column", each.column.empty() ? Json() : Json(each.column)},
                   {"why", each.why},
                   {"have", each.have ? Json(*each.have) : Json()},
                   {"needed", each.needed ? Json(*each.needed) : Json()}});
  }
  return out;
}

}  // namespace espalier
