// The ledger of an epoch: how many rows were trained on, and an order-free sum over which, so that anybody
// can check that each was, once, wherever it was.
#pragma once

#include <cstdint>
#include <span>

#include "base/hash.h"
#include "espalier/tensor.h"
#include "strategy/host_collectives.h"

namespace espalier {

// What stands for a row that has no number: a hash of its bytes in each of `arrays`, so that a source that
// gives a row twice, or another in its place, changes the sum. docs/distributed.md has the formula.
// REQUIRES: 0 <= row < the first axis of each.
uint64_t content_of_row(std::span<const Tensor> arrays, int64_t row);

struct EpochRows {
  int64_t rows = 0;
  uint64_t ids = 0;  // the sum of hash_mix(id + 0x9e3779b97f4a7c15), modulo 2^64

  // `id`: the number of a row in memory, or content_of_row().
  void add(uint64_t id) {
    ++rows;
    ids += hash_mix(id + 0x9e3779b97f4a7c15ull);
  }
  // With those of all workers.
  EpochRows of_all(const HostCollectives& hosts) const;
};

}  // namespace espalier
