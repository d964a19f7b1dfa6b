#include "step/share_note.h"

#include <algorithm>

#include "base/format.h"

namespace espalier {

std::string share_note(const Mesh& mesh, const DataShares& shares, int64_t rows, std::string_view whose) {
  const int64_t logical_shards = shares.logical_shards;
  const std::string on_each = cat(" on each of ", mesh.world, " ", mesh.kind);
  const std::string step = cat(Counted(static_cast<uint64_t>(rows), "row"), " a step: ");
  if (!whose.empty() && logical_shards == 0) return cat(step, whose, on_each);
  int64_t least = rows, most = 0;
  for (int rank = 0; rank < mesh.world; ++rank) {
    const auto [first, last] = shares.rows_of(rows, rank);
    const int64_t own = logical_shards ? std::ssize(shares.shards_of(logical_shards, rank)) : last - first;
    least = rank ? std::min(least, own) : own;
    most = std::max(most, own);
  }
  const std::string own = least == most ? cat(most) : cat(least, " or ", most);
  if (logical_shards == 0) return cat(step, own, on_each);
  return cat(step, logical_shards, " logical shards, ", own, " of them", on_each);
}

}  // namespace espalier
