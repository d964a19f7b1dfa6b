// Whether workers hold equal variables and rows.
#include <algorithm>
#include <map>

#include "base/format.h"
#include "base/hash.h"
#include "comm/control_text.h"
#include "dist/replicas.h"
#include "eager/trace.h"
#include "espalier/error.h"

namespace espalier {
namespace {

uint64_t audited_hash(const Tensor& value) {
  return hash_bytes(value.bytes(), value.type().bytes(), value.type().bytes());
}

std::vector<uint64_t> audited_hashes(std::span<const Variable> variables) {
  std::vector<uint64_t> out;
  for (const Variable& variable : variables) out.push_back(audited_hash(variable.state()->value));
  return out;
}

}  // namespace

std::optional<Replicas::Odd> Replicas::first_odd(std::string_view name,
                                                 const std::vector<uint64_t>& own) const {
  const size_t count = own.size();
  std::vector<uint64_t> all(count * static_cast<size_t>(workers()));
  all_gather(name, std::as_bytes(std::span(own)), reinterpret_cast<std::byte*>(all.data()));
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
    return Odd{i, cat(" of ", ranks_text(odd), " differs from that of ", ranks_text(most->second))};
  }
  return std::nullopt;
}

void Replicas::audit(std::span<const Variable> variables, int64_t step) const {
  const std::optional<Odd> odd = first_odd("audit", audited_hashes(variables));
  if (!odd) return;
  throw RunError(
      "strategy.audit",
      cat("variable \"", variables[odd->place].path(), "\"", odd->sentence, " behind step ", step),
      "what assigns variables must do so on all workers; where nothing does, look at the memory of "
      "that machine");
}

void Replicas::require_equal(std::string_view verb, std::span<const Variable> variables,
                             std::span<const Tensor> rows) const {
  if (!audits()) return;
  std::vector<uint64_t> own = audited_hashes(variables);
  uint64_t data = 0;
  for (const Tensor& tensor : rows) data = hash_combine(data, audited_hash(tensor));
  own.push_back(data);
  const std::optional<Odd> odd = first_odd(verb, own);
  if (!odd) return;
  const std::string what = odd->place < variables.size()
                               ? cat("variable \"", variables[odd->place].path(), "\"")
                               : std::string("the data");
  const RunError error("strategy.audit", cat(what, odd->sentence, " in ", verb),
                       cat("all workers ", verb, " with the same model on the same rows"));
  failed(error);
  throw error;
}

}  // namespace espalier
