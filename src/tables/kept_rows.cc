#include "tables/kept_rows.h"

#include <nlohmann/json.hpp>

#include "base/format.h"

namespace espalier {

std::string text_of(const KeptRows& kept) {
  return cat("where ", kept.condition, ": ", kept.kept, " of ", kept.of, " rows",
             kept.missing ? cat(", without ", kept.missing, " of which the condition is missing") : "", "\n");
}

nlohmann::ordered_json json_of(const KeptRows& kept) {
  return {{"condition", kept.condition}, {"rows", kept.of}, {"kept", kept.kept}, {"missing", kept.missing}};
}

}  // namespace espalier
