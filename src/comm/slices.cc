#include "comm/slices.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/thread_pool.h"
#include "comm/board_layout.h"

namespace espalier {
namespace {

// Of one rank: read from all of them it fits into a second-level cache.
constexpr size_t kPiece = size_t{32} << 10;
constexpr size_t kCopyPiece = size_t{256} << 10;
constexpr size_t kLine = 64;

// Calls body(begin, end) for parts of the slice.
template <class Body>
void for_pieces(ElementRange slice, size_t step, ThreadPool& pool, const Body& body) {
  const size_t pieces = (slice.end - slice.begin + step - 1) / step;
  for_each_chunk(pool, static_cast<int64_t>(pieces), pieces > 1, [&](int64_t piece) {
    const size_t begin = slice.begin + static_cast<size_t>(piece) * step;
    body(begin, std::min(begin + step, slice.end));
  });
}

using Pointers = std::array<const std::byte*, kMaxRanks>;

void point_at(Pointers& from, const std::vector<std::byte*>& data, size_t offset) {
  for (size_t i = 0; i < data.size(); ++i) from[i] = data[i] + offset;
}

size_t piece_of(size_t element) { return std::max<size_t>(1, kPiece / element); }

}  // namespace

ElementRange slice_of(int rank, int world, const Collective& what) {
  const size_t unit = kLine % what.element == 0 ? kLine / what.element : kLine;
  const size_t units = (what.count + unit - 1) / unit;
  const auto ranks = static_cast<size_t>(world), at = static_cast<size_t>(rank);
  const auto edge = [&](size_t i) {
    const size_t before = units / ranks * i + std::min(units % ranks, i);
    return std::min(before * unit, what.count);
  };
  return {edge(at), edge(at + 1)};
}

void reduce_everywhere(const Reduction& reduction, const std::vector<std::byte*>& data, int rank,
                       ElementRange slice, ThreadPool& pool) {
  const auto own = static_cast<size_t>(rank);
  for_pieces(slice, piece_of(reduction.element), pool, [&](size_t begin, size_t end) {
    Pointers from;
    const size_t offset = begin * reduction.element, bytes = (end - begin) * reduction.element;
    point_at(from, data, offset);
    reduction.reduce(data[own] + offset, from.data(), static_cast<int>(data.size()), end - begin);
    for (size_t peer = 0; peer < data.size(); ++peer)
      if (peer != own) std::memcpy(data[peer] + offset, data[own] + offset, bytes);
  });
}

void reduce_here(const Reduction& reduction, const std::vector<std::byte*>& data, ElementRange slice,
                 std::byte* out, ThreadPool& pool) {
  for_pieces(slice, piece_of(reduction.element), pool, [&](size_t begin, size_t end) {
    Pointers from;
    point_at(from, data, begin * reduction.element);
    reduction.reduce(out + (begin - slice.begin) * reduction.element, from.data(),
                     static_cast<int>(data.size()), end - begin);
  });
}

void copy(std::byte* to, const std::byte* from, size_t bytes, ThreadPool& pool) {
  if (to == from) return;
  for_pieces({0, bytes}, kCopyPiece, pool,
             [&](size_t begin, size_t end) { std::memcpy(to + begin, from + begin, end - begin); });
}

}  // namespace espalier
