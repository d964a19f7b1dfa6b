#include "strategy/same_elements.h"

#include <vector>

#include "base/format.h"
#include "base/hash.h"
#include "base/shortened.h"
#include "strategy/audit.h"

namespace espalier {

namespace {

uint64_t hash_of_element(std::span<const Tensor> element) {
  uint64_t hash = 0;
  for (const Tensor& tensor : element) {
    hash = hash_combine(hash, hash_text(to_string(tensor.type())));
    hash = hash_combine(hash, audited_hash(tensor));
  }
  return hash;
}

}  // namespace

void require_same_rows(const HostCollectives& hosts, const std::string& verb, std::span<const Tensor> rows) {
  if (hosts.world() == 1) return;
  const std::vector<uint64_t> all = hosts.of_each("rows", hash_of_element(rows));
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      throw ValueError(
          "strategy.data",
          cat("the rows that worker ", rank, " gives to ", verb, "() are others than those of worker 0"),
          "give the same batch on all workers: each takes its part of it; fit() and evaluate() "
          "take rows that are a worker's own, as Dataset::per_worker(data)");
}

void SameElements::require_named(const std::string& text) const {
  const std::vector<std::string> texts = hosts_.texts("dataset", text);
  for (size_t rank = 1; rank < texts.size(); ++rank)
    if (texts[rank] != texts[0])
      throw ValueError(
          "strategy.data",
          cat("worker ", rank, " names ", shortened(texts[rank]), ", and worker 0 ", shortened(texts[0])),
          kOtherData);
}

void SameElements::require(std::span<const Tensor> element) {
  if (hosts_.world() == 1) return;
  struct Has {
    uint64_t hash = 0, any = 0;
  };
  const std::vector<Has> all = hosts_.of_each("element", Has{hash_of_element(element), !element.empty()});
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const Has &here = all[rank], &first = all[0];
    if (here.any == first.any && here.hash == first.hash) continue;
    throw ValueError("strategy.data",
                     here.any == first.any
                         ? cat("element ", elements_, " of the dataset of worker ", rank,
                               " is another one than that of worker 0")
                         : cat("the dataset of worker ", here.any ? 0 : rank, " ends before element ",
                               elements_, ", and that of worker ", here.any ? rank : 0, " does not"),
                     kOtherData);
  }
  ++elements_;
}

}  // namespace espalier
