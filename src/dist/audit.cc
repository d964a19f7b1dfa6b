// Whether workers hold equal variables.
#include <algorithm>
#include <map>

#include "base/format.h"
#include "base/hash.h"
#include "comm/control_text.h"
#include "dist/replicas.h"
#include "eager/trace.h"
#include "espalier/error.h"

namespace espalier {

void Replicas::audit(std::span<const Variable> variables, int64_t step) const {
  std::vector<uint64_t> own;
  for (const Variable& variable : variables) {
    const Tensor& value = variable.state()->value;
    own.push_back(hash_bytes(value.bytes(), value.type().bytes(), value.type().bytes()));
  }
  const size_t count = own.size();
  std::vector<uint64_t> all(count * static_cast<size_t>(workers()));
  all_gather("audit", std::as_bytes(std::span(own)), reinterpret_cast<std::byte*>(all.data()));
  for (size_t i = 0; i < count; ++i) {
    std::map<uint64_t, std::vector<int>> holders;
    for (int rank = 0; rank < workers(); ++rank)
      holders[all[static_cast<size_t>(rank) * count + i]].push_back(rank);
    if (holders.size() == 1) continue;
    // Those that most agree with are right, or the first worker's where none is most.
    const auto most = std::ranges::max_element(
        holders, {}, [](const auto& held) { return std::pair(held.second.size(), -held.second.front()); });
    std::vector<int> odd;
    for (const auto& [hash, ranks] : holders) {
      if (hash != most->first) odd.insert(odd.end(), ranks.begin(), ranks.end());
    }
    std::ranges::sort(odd);
    throw RunError(
        "strategy.audit",
        cat("variable \"", variables[i].path(), "\" of ", ranks_text(odd), " differs from that of ",
            ranks_text(most->second), " behind step ", step),
        "what assigns variables must do so on all workers; where nothing does, look at the memory of "
        "that machine");
  }
}

}  // namespace espalier
