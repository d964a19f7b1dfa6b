#include "evaluate/not_compared.h"

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

}  // namespace espalier
