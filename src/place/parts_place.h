// Logical shards: parts of a batch that run one after another, and meet as replicas do.
#pragma once

#include <vector>

#include "place/place_of.h"
#include "place/shard_tree.h"

namespace espalier {

// The program of a graph is cut at its collectives (passes/cut_graph.h). What depends on the arguments runs
// part after part, all else once. What parts give to a collective is combined by one tree
// (place/shard_tree.h), so that bits follow from the number of parts and not from how many ranks share them:
// a rank owns neighbours, sends what it found of whole subtrees, and adds up the rest as all others do. Of
// several devices of a plugin that are one rank each runs a part at a time, and parts of one size run
// together.
class PartsPlace final : public Place {
 public:
  // `parts` of a batch, dealt to the ranks of the context, which outlives this. A call has arguments of each
  // part that this rank owns; of a rank without one those of any, for their types. Results of parts that are
  // not run stay undefined.
  PartsPlace(int parts, const RunContext& context);
  // Which of the parts a rank runs; the devices of one Device are one rank.
  ShardRange owned(int rank) const { return {parts_ * rank / key.world, parts_ * (rank + 1) / key.world}; }

  // How many parts run together.
  size_t at_once() const { return device ? device->replicas() : 1; }

 private:
  class PartsProgram;
  // Raises ValueError[strategy.collectives] for parts that would meet otherwise, [strategy.variable] for a
  // new value of one part's, or that depends on how many rows it has, UnsupportedError[shards.collective] for
  // collectives but all_reduce over all, and for one in a region.
  std::shared_ptr<Program> make(std::span<const PlacedGraph> graphs) const override;
  const int parts_;
  const PlaceOf one_;  // where parts run
};

}  // namespace espalier
