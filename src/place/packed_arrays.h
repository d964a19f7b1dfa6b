// Arrays of subtrees of parts, as they travel between ranks: one behind the other, each from a multiple of 64
// bytes on.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "espalier/tensor.h"
#include "place/shard_tree.h"

namespace espalier {

// What subtrees have found, in their order: arrays of one list of types each.
using FoundArrays = std::vector<std::pair<ShardRange, std::vector<Tensor>>>;

// Brings what all ranks give, in their order, as many bytes each: its second argument has room for them.
using AllGatherBytes = std::function<void(std::span<const std::byte> mine, std::byte* all)>;

// What the subtrees of all ranks have found, of which `own` are this rank's. `of_ranks`: those of each rank.
FoundArrays found_by_all(const FoundArrays& own, std::span<const std::vector<ShardRange>> of_ranks,
                         std::span<const TensorType> types, const AllGatherBytes& all_gather);

}  // namespace espalier
