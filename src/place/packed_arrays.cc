#include "place/packed_arrays.h"

#include <algorithm>
#include <cstring>

#include "ir/literal.h"
#include "ir/sink.h"

namespace espalier {
namespace {

size_t room_of(const TensorType& type) { return (type.bytes() + 63) / 64 * 64; }

// Gives the place behind the last one.
std::byte* pack(std::span<const Tensor> tensors, std::byte* to) {
  for (const Tensor& tensor : tensors) {
    if (const size_t bytes = tensor.type().bytes()) std::memcpy(to, tensor.bytes(), bytes);
    to += room_of(tensor.type());
  }
  return to;
}

// In the memory of `buffer`, from `from` on, which points behind the last one then.
std::vector<Tensor> unpack(std::span<const TensorType> types, const Buffer& buffer, std::byte*& from) {
  std::vector<Tensor> out;
  for (const TensorType& type : types) {
    out.push_back(make_concrete(Literal(type, Buffer(buffer, from))));
    from += room_of(type);
  }
  return out;
}

}  // namespace

FoundArrays found_by_all(const FoundArrays& own, std::span<const std::vector<ShardRange>> of_ranks,
                         std::span<const TensorType> types, const AllGatherBytes& all_gather) {
  size_t each = 0, most = 0;
  for (const TensorType& type : types) each += room_of(type);
  for (const std::vector<ShardRange>& ranges : of_ranks) most = std::max(most, ranges.size());
  const size_t room = most * each;
  const Buffer mine = allocate_buffer(room), all = allocate_buffer(of_ranks.size() * room);
  std::byte* to = mine.get();
  for (const auto& [range, tensors] : own) to = pack(tensors, to);
  all_gather({mine.get(), room}, all.get());
  FoundArrays out;
  for (size_t rank = 0; rank < of_ranks.size(); ++rank) {
    std::byte* from = all.get() + rank * room;
    for (const ShardRange& range : of_ranks[rank]) out.emplace_back(range, unpack(types, all, from));
  }
  return out;
}

}  // namespace espalier
