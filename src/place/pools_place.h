// Replicas on this CPU, each on threads of its own.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "place/place.h"
#include "place/replica_threads.h"

namespace espalier {

// Each new value of a variable is made by one replica, where all of them could, while the others still read
// the old one: it lies in the memory of the value before that, where that is free. compile() raises
// ValueError[strategy.variable] where new values would differ between replicas, and [strategy.collectives]
// where the replicas' collectives do.
class PoolsPlace final : public Place {
 public:
  // A replica runs in each context, of neighbouring ranks of one world. They outlive the place.
  explicit PoolsPlace(std::vector<const RunContext*> contexts);

  // See ReplicaThreads::run().
  void on_each(const std::function<void(size_t)>& body) const { threads_.run(body); }

 private:
  class PoolsProgram;
  std::shared_ptr<Program> make(std::span<const PlacedGraph> graphs) const override;
  // Memory of so many bytes: some that was given back, or new.
  Buffer take(size_t bytes) const;
  void give(size_t bytes, Buffer buffer) const;

  const std::vector<const RunContext*> contexts_;
  mutable ReplicaThreads threads_;
  mutable std::mutex mutex_;
  mutable std::multimap<size_t, Buffer> spare_;
};

}  // namespace espalier
