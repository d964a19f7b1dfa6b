#include "step/epoch_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace espalier {

static_assert(std::endian::native == std::endian::little);

uint64_t content_of_row(std::span<const Tensor> arrays, int64_t row) {
  uint64_t h = 0;
  for (const Tensor& array : arrays) {
    size_t left = array.type().bytes() / static_cast<size_t>(array.size(0));
    const auto* from = static_cast<const std::byte*>(array.bytes()) + static_cast<size_t>(row) * left;
    while (left > 0) {
      const size_t size = std::min<size_t>(left, 8);
      uint64_t word = 0;
      std::memcpy(&word, from, size);
      // Half of hash_mix(), as fast as memory: bits of a word reach all words behind it.
      h = (h ^ word) * 0xd6e8feb86659fd93ull;
      h ^= h >> 32;
      from += size;
      left -= size;
    }
  }
  return h;
}

EpochRows EpochRows::of_all(const HostCollectives& hosts) const {
  if (hosts.world() == 1) return *this;
  EpochRows out;
  for (const EpochRows& theirs : hosts.of_each("ledger", *this)) {
    out.rows += theirs.rows;
    out.ids += theirs.ids;
  }
  return out;
}

}  // namespace espalier
