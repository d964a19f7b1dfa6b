#include "train/share_note.h"

#include <algorithm>

#include "base/format.h"
#include "espalier/source.h"

namespace espalier {

std::string share_note(const Replicas& replicas, int64_t rows, int64_t logical_shards, bool of_shards) {
  const int count = replicas.mesh().world;
  const std::string on_each = cat(" on each of ", count, " ", replicas.mesh().kind);
  const std::string step = cat(Counted(static_cast<uint64_t>(rows), "row"), " a step: ");
  if (of_shards && logical_shards == 0) return cat(step, "those of its shards of the data", on_each);
  int64_t least = rows, most = 0;
  for (int rank = 0; rank < count; ++rank) {
    const auto [first, last] = replicas.rows_of(rows, rank);
    const int64_t own = logical_shards ? std::ssize(owned_shards(logical_shards, rank, count)) : last - first;
    least = rank ? std::min(least, own) : own;
    most = std::max(most, own);
  }
  const std::string own = least == most ? cat(most) : cat(least, " or ", most);
  if (logical_shards == 0) return cat(step, own, on_each);
  return cat(step, logical_shards, " logical shards, ", own, " of them", on_each);
}

}  // namespace espalier
