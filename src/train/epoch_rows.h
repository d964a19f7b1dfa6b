// The ledger of an epoch: how many rows were trained on, and an order-free sum over which, so that anybody
// can check that each was, once, wherever it was.
#pragma once

#include <cstdint>
#include <string>

#include "base/hash.h"
#include "dist/replicas.h"
#include "format/checkpoint.h"

namespace espalier {

struct EpochRows {
  int64_t rows = 0;
  uint64_t ids = 0;  // the sum of hash_mix(id + 0x9e3779b97f4a7c15), modulo 2^64

  void add(int64_t id) {
    ++rows;
    ids += hash_mix(static_cast<uint64_t>(id) + 0x9e3779b97f4a7c15ull);
  }
  // With those of all workers.
  EpochRows of_all(const Replicas* replicas) const {
    if (!replicas || replicas->workers() == 1) return *this;
    const uint64_t own[] = {static_cast<uint64_t>(rows), ids};
    std::vector<uint64_t> all(2 * static_cast<size_t>(replicas->workers()));
    replicas->all_gather("ledger", std::as_bytes(std::span(own)), reinterpret_cast<std::byte*>(all.data()));
    EpochRows out;
    for (size_t i = 0; i < all.size(); i += 2) {
      out.rows += static_cast<int64_t>(all[i]);
      out.ids += all[i + 1];
    }
    return out;
  }
};

}  // namespace espalier
