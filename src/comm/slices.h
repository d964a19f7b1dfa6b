// The work of one rank on the memory of all, in pieces that stay in the cache.
#pragma once

#include <cstddef>
#include <vector>

#include <espalier/communicator.h>

namespace espalier {

class ThreadPool;

struct Reduction {
  Collective::Reduce reduce;
  size_t element;
};
struct ElementRange {
  size_t begin, end;  // elements
};

// What `rank` reduces of the collective: whole lines of the cache, as far as they go.
ElementRange slice_of(int rank, int world, const Collective& what);
// data[0][i] op data[1][i] op ... into data[k][i] of all ranks k.
void reduce_everywhere(const Reduction& reduction, const std::vector<std::byte*>& data, int rank,
                       ElementRange slice, ThreadPool& pool);
// Into `out`, which takes the slice.
void reduce_here(const Reduction& reduction, const std::vector<std::byte*>& data, ElementRange slice,
                 std::byte* out, ThreadPool& pool);
// Nothing where it lies there already.
void copy(std::byte* to, const std::byte* from, size_t bytes, ThreadPool& pool);

}  // namespace espalier
