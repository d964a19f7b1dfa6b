// Whose rows: how the rows of a batch, and the shards of its data, are shared out.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "data/dataset_shards.h"
#include "strategy/host_collectives.h"
#include "strategy/mesh.h"

namespace espalier {

// By default one replica has all. No longer than the context of its hosts.
class DataShares {
 public:
  DataShares() = default;
  DataShares(const Mesh& mesh, const HostCollectives& hosts)
      : world_(mesh.world), first_(mesh.first), count_(mesh.count), hosts_(hosts) {}

  int64_t logical_shards = 0;  // of the model; 0: it is compiled for none
  // Whether rows of shards that each host has for itself may be a replica's: not where devices of several
  // hosts run one program, on equally many rows.
  bool deals_shards = true;

  // Which of so many rows are a replica's: from the first to behind the last.
  std::pair<int64_t, int64_t> rows_of(int64_t count, int replica) const;
  // The same of all replicas of this process.
  std::pair<int64_t, int64_t> own_rows(int64_t count) const;
  // Of a batch that comes in shards, of so many rows each: how many rows stand before those of this process.
  int64_t rows_before(std::span<const int64_t> of_shards) const;
  // Which shards of so many are a replica's.
  std::vector<int64_t> shards_of(int64_t shards, int replica) const;
  // Whether a source in shards is read shard by shard, by each worker those that are its own.
  bool by_shards() const { return logical_shards > 0 || hosts_.world() > 1; }
  // The processes that share.
  const HostCollectives& hosts() const { return hosts_; }
  // Who reads one so: one reader that reads all where there is one worker.
  Readers readers() const;

 private:
  int world_ = 1, first_ = 0, count_ = 1;
  HostCollectives hosts_ = {};
};

}  // namespace espalier
